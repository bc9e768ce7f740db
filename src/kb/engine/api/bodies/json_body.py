"""Parses a JSON body, or says what is wrong with it."""

import json
import sys
from collections import Counter
from typing import Any

from kb.engine.api.bodies.fields import DEEPEST
from kb.engine.errors import InvalidEncoding, InvalidRequest, KbError


class SaidTwice(ValueError):
    """An object has the same name twice; Python would silently take the last."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


def loads(sent: bytes | str) -> Any:
    """Like `json.loads`, but repeated names are refused: nobody can say which was meant."""
    return json.loads(sent, object_pairs_hook=_each_once)


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = Counter(name for name, _ in pairs)
        raise SaidTwice(names.most_common(1)[0][0])
    return found


def read_json(sent: bytes | str, name: str) -> Any:
    """`name` is what the sender calls it: the body, say."""
    try:
        return loads(sent)
    except (ValueError, RecursionError) as error:
        raise unreadable(error, name) from error


def unreadable(error: ValueError | RecursionError, name: str) -> KbError:
    """The error for what Python could not read, although it may be JSON."""
    if isinstance(error, RecursionError):
        return InvalidRequest(
            f"The {name} is nested too deep: metadata may go {DEEPEST} levels deep, and nothing"
            " goes deeper"
        )
    if isinstance(error, SaidTwice):
        message = "It occurs twice: send it once"
        field = error.name[:64]
        return InvalidRequest(f"{field}: {message}", fields=[{"field": field, "message": message}])
    if isinstance(error, json.JSONDecodeError):
        return InvalidEncoding(f"The {name} is not valid JSON: {error.msg} (position {error.pos})")
    if isinstance(error, UnicodeDecodeError):
        return InvalidEncoding(f"The {name} is not valid JSON: it is not in UTF-8")
    digits = sys.get_int_max_str_digits()
    return InvalidRequest(f"A number in the {name} is too long: it may have {digits:,} digits")
