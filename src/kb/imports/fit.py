"""Makes what another program wrote fit kb: times, titles, tags, metadata and texts.

kb refuses what is too long or cannot be stored. An export should not fail because of that, so its
values are adjusted here, and everything dropped is reported.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from kb.imports.item import Json

LONGEST_TITLE = 500
LONGEST_TAG = 200
MOST_TAGS = 100
_TAGS_OF_A_NOTE = 80  # whoever imports may add some for all documents
LONGEST_NOTE = 1_000_000
LONGEST_PATH = 4_096

_MOST_NAMES = 190  # kb takes 200; the import adds a few of its own
_LONGEST_NAME = 200
_DEEPEST = 6
_LONGEST_VALUE = 20_000
_MOST_VALUES = 500  # in one list
_MOST_METADATA = 200_000  # characters, of the million that kb takes: it comes with every list

_SURROGATE = re.compile("[\ud800-\udfff]")
_WHITE = re.compile(r"\s+")
_MILLISECONDS_FROM = 10**11  # as seconds, that would be in the year 5138


def clean(text: str) -> str:
    """The text without what cannot be stored: NUL, and halves of characters that JSON can spell."""
    return _SURROGATE.sub("�", text).replace("\0", "")


def is_broken(value: object) -> bool:
    """Whether a value that JSON can spell holds what `clean` replaces: halves of characters, and
    bytes that were no text, which are decoded as such halves."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        return True
    return False


BROKEN = "characters in it that were damaged or halved became \N{REPLACEMENT CHARACTER}"


def one_line(value: object, longest: int = LONGEST_TITLE) -> str:
    """A value as one line without control characters; empty where nothing is left."""
    text = _WHITE.sub(" ", clean(str(value)))
    text = "".join(sign for sign in text if unicodedata.category(sign) not in ("Cc", "Zl", "Zp"))
    text = unicodedata.normalize("NFC", text).strip()
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def tag_list(values: Iterable[object]) -> tuple[str, ...]:
    """Tags as kb takes them, and as many: each once whatever its case, as it was written first."""
    return _all_tags(values)[:MOST_TAGS]


def tags_and_more(values: Iterable[object]) -> tuple[tuple[str, ...], list[str]]:
    """The same where there may be very many: those that fit, and the others, to be metadata."""
    tags = _all_tags(values)
    return tags[:_TAGS_OF_A_NOTE], list(tags[_TAGS_OF_A_NOTE:])


def _all_tags(values: Iterable[object]) -> tuple[str, ...]:
    tags: dict[str, str] = {}
    for value in values:
        tag = one_line(value, LONGEST_TAG)
        if tag:
            tags.setdefault(tag.casefold(), tag)
    return tuple(tags.values())


def metadata_of(values: dict[Any, Any]) -> Json:
    """Metadata as kb takes it. What does not fit is named under `left_out`."""
    taken: Json = {}
    left_out: list[str] = []
    room = _MOST_METADATA
    for name, value in values.items():
        key = one_line(name, _LONGEST_NAME)
        plain = _plain(value)
        size = len(key) + _size(plain)
        if key and plain not in (None, "", [], {}):
            if len(taken) < _MOST_NAMES and size <= room:
                taken[key] = plain
                room -= size
            else:
                left_out.append(key)
    if left_out:
        taken["left_out"] = left_out[:_MOST_VALUES]
    return taken


def _plain(value: object, depth: int = 0) -> Any:
    """A value that JSON has: bounded, without what it cannot spell."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict | list | tuple) and depth >= _DEEPEST:
        return "…"
    if isinstance(value, dict):
        pairs = list(value.items())[:_MOST_NAMES]
        return {
            one_line(name, _LONGEST_NAME): _plain(inner, depth + 1)
            for name, inner in pairs
            if name is not None
        }
    if isinstance(value, list | tuple):
        return [_plain(inner, depth + 1) for inner in value[:_MOST_VALUES] if inner is not None]
    text = clean(str(value))
    return text if len(text) <= _LONGEST_VALUE else text[:_LONGEST_VALUE] + "…"


def _size(value: Any) -> int:
    if isinstance(value, dict):
        return sum(len(name) + _size(inner) + 6 for name, inner in value.items())
    if isinstance(value, list):
        return sum(_size(inner) + 4 for inner in value)
    return len(str(value)) + 2


def utc(value: object) -> str | None:
    """A time as kb writes it; None for what is no time.

    Seconds since 1970 (or milliseconds), or ISO 8601. Without a zone it is this machine's time; a
    day alone begins at midnight UTC, so that it stays that day.
    """
    if isinstance(value, bool):
        return None
    try:
        if isinstance(value, int | float):
            seconds = value / 1000 if value >= _MILLISECONDS_FROM else value
            if not 0 <= seconds < _MILLISECONDS_FROM:
                return None
            moment = datetime.fromtimestamp(seconds, UTC)
        elif isinstance(value, str):
            moment = _iso(value.strip())
        else:
            return None
        return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    except (ValueError, OverflowError, OSError):
        return None


def _iso(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if not 1970 <= moment.year < 9999:
        raise ValueError(text)
    is_day = re.fullmatch(r"\d{4}-?\d{2}-?\d{2}", text) is not None
    return moment.replace(tzinfo=UTC) if is_day else moment


def changed_after(created_at: str | None, updated_at: str | None) -> str | None:
    """When it was changed, if that was after it was made: both times mean something then."""
    is_later = updated_at is not None and (created_at is None or updated_at > created_at)
    return updated_at if is_later else None


def counted(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def pieces(text: str, longest: int = LONGEST_NOTE) -> Iterator[str]:
    """A text in pieces that a note can hold, cut at the last line end that fits."""
    start = 0
    while len(text) - start > longest:
        cut = text.rfind("\n", start + longest // 2, start + longest) + 1
        end = cut or start + longest
        yield text[start:end]
        start = end
    yield text[start:]
