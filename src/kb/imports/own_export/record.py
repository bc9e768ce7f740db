"""Checks one line of an export's documents.

It checks only what the reader and the import plan depend on; the engine checks the rest when the
document is sent.
"""

import uuid
from collections.abc import Callable
from datetime import datetime
from types import NoneType
from typing import Any

from kb.imports.item import Json

_LARGEST_ID = 2**63 - 1
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


def trouble_in(record: Json) -> str | None:
    """In words, or None where this is a document."""
    for name, (is_right, words) in _FIELDS.items():
        if name not in record:
            return f"{name} is lacking"
        if not is_right(record[name]):
            return f"{name} must be {words}"
    return None


Check = Callable[[Any], bool]


def _is(*kinds: type) -> Check:
    return lambda value: isinstance(value, kinds)


def _list_of(kind: type) -> Check:
    return lambda value: isinstance(value, list) and all(isinstance(one, kind) for one in value)


def _number_from(least: int) -> tuple[Check, str]:
    def is_right(value: Any) -> bool:
        return type(value) is int and least <= value <= _LARGEST_ID

    return is_right, f"a number from {least} to {_LARGEST_ID}"


def _is_uid(value: object) -> bool:
    if not isinstance(value, str) or len(value) != 36:
        return False
    try:
        uuid.UUID(value)
    except ValueError:
        return False
    return True


def _is_time(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return f"{datetime.strptime(value, _TIME).isoformat(timespec='microseconds')}Z" == value
    except ValueError:
        return False


_TEXT = (_is(str), "a text")
_TEXT_OR_NULL = (_is(str, NoneType), "a text or null")
_TIME_WORDS = "a time as kb writes it"

_FIELDS: dict[str, tuple[Check, str]] = {
    "id": _number_from(1),
    "uid": (_is_uid, "a UUID"),
    "title": _TEXT,
    "filename": _TEXT_OR_NULL,
    "doc_type": _TEXT,
    "source_path": _TEXT_OR_NULL,
    "tags": (_list_of(str), "a list of texts"),
    "metadata": (_is(dict), "an object"),
    "content_hash": _TEXT,
    "size_bytes": _number_from(0),
    "created_at": (_is_time, _TIME_WORDS),
    "updated_at": (lambda value: value is None or _is_time(value), f"{_TIME_WORDS}, or null"),
    "imported": (_is(dict, NoneType), "an object or null"),
    "jobs": (_list_of(dict), "a list of objects"),
    "path": _TEXT_OR_NULL,
    "sha256": _TEXT_OR_NULL,
}
