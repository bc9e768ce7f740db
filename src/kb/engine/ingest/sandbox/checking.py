"""Checks the messages of a reader, which may act for a hostile file: a wrong type is refused, what
is too long is cut, and it can raise only errors about its file."""

import math
import re
from dataclasses import dataclass
from typing import Any, get_args, get_type_hints

from kb.engine import errors
from kb.engine.ingest.sandbox.messages import (
    MOST_WORDS,
    PIECE,
    PLACE_CHARACTERS,
    WORD_CHARACTERS,
    Garbled,
    Message,
)
from kb.engine.ingest.sandbox.request import LEVELS, Level
from kb.engine.pages import Box, Carried, Grid, Page, PlacedWord, Remark, Unread
from kb.kinds import DOC_TYPES, NOTE

_NAME = re.compile(r"[a-z0-9][a-z0-9_+-]{0,29}")
_DETAIL = re.compile(r"[a-z][a-z_]{0,49}")
_COLUMN = re.compile(r"[A-Z]{1,4}")
# Half a character can be written in JSON, but not in UTF-8; and NUL ends a text in C.
_UNFIT = re.compile("[\ud800-\udfff]")
_MARKUPS = get_args(get_type_hints(Page)["markup"])
_METHODS = get_args(get_type_hints(Page)["method"])

_TITLE, _VALUE, _LOCATION, _MESSAGE, _REASON = 1_000, 1_000, 300, 1_000, 300  # characters
_READER = 50
_ENTRIES = 100
_HIGHEST = 10_000_000  # of page numbers, and of rows
_MOST_ROWS = 2**20  # of one page, which has fewer characters

_ERRORS: dict[str, type[errors.KbError]] = {
    error.code: error
    for error in (
        errors.ContentTooLarge,
        errors.DamagedFile,
        errors.ExtractionFailed,
        errors.NestedTooDeep,
        errors.NoTextFound,
        errors.PasswordNeeded,
        errors.TextTooLong,
        errors.TookTooLong,
        errors.UnsupportedFormat,
    )
}


@dataclass(frozen=True, slots=True)
class Heading:
    """What an Extraction says beside its pages."""

    doc_type: str
    format: str
    title: str | None
    metadata: dict[str, Any]
    page_count: int | None
    reader: str
    pictures: int = 0


def heading(message: Message) -> Heading:
    fields = message.fields
    count = fields.get("page_count")
    return Heading(
        doc_type=_kind(fields.get("doc_type")),
        format=_name(fields.get("format")),
        title=_words(fields.get("title"), _TITLE),
        metadata=_metadata(fields.get("metadata")),
        page_count=None if count is None else _whole(count, 0),
        reader=_words(fields.get("reader"), _READER) or "",
        pictures=_whole(fields.get("pictures", 0), 0),
    )


def page(message: Message, before: str) -> Page:
    """`before` is the text that came in pieces before this last one."""
    fields = message.fields
    markup: Any = fields.get("markup")
    method: Any = fields.get("method")
    if markup not in _MARKUPS or method not in _METHODS:
        raise Garbled("a page of an unknown sort")
    number = fields.get("number")
    whole = before + text(message)
    return Page(
        whole,
        number=None if number is None else _whole(number, 1),
        location=_words(fields.get("location"), _LOCATION),
        markup=markup,
        method=method,
        grid=_grid(fields.get("grid"), whole.count("\n") + 1),
        lines_count=fields.get("lines_count") is not False,
        headings=(headings := _headings(fields.get("headings"))),
        open_headings=min(_whole(fields.get("open_headings", 0), 0), len(headings)),
        words=_placed(fields.get("words")),
        carried=_carried(fields.get("carried"), len(whole)),
        places=_places(fields.get("places"), len(whole)),
    )


def text(message: Message) -> str:
    try:
        return message.text.decode().replace("\0", "")
    except UnicodeDecodeError as error:
        raise Garbled("a text is not UTF-8") from error


def piece(message: Message) -> str:
    """A part of a long text, which has its full length: only the last, a page's own, may lack."""
    if len(message.text) < PIECE:
        raise Garbled("a piece that is too short")
    return text(message)


def unread(message: Message) -> Unread:
    reason = _words(message.fields.get("reason"), _REASON)
    return Unread(_whole(message.fields.get("number"), 1), reason or "it could not be read")


def remark(message: Message) -> Remark:
    text = _words(message.fields.get("remark"), _REASON) or ""
    return Remark(" ".join(text.split()), _whole(message.fields.get("words_left_out"), 0))


def error(message: Message) -> errors.KbError:
    fields = message.fields
    code = fields.get("code")
    what = _words(fields.get("message"), _MESSAGE)
    if not isinstance(code, str) or code not in _ERRORS or not what:
        raise Garbled("an error that is none of a reader's")
    return _ERRORS[code](what, **_details(fields.get("details")))


def failure(message: Message) -> tuple[str, str]:
    """The kind of failure, and the name of what was raised."""
    what = message.fields.get("what")
    return str(message.fields.get("failure")), what[:50] if isinstance(what, str) else ""


def level(message: Message) -> Level:
    for known in LEVELS:
        if message.fields.get("level") == known:
            return known
    raise Garbled("a need for nothing that there is")


def _name(value: object) -> str:
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise Garbled("a document of an unknown sort")
    return value


def _kind(value: object) -> str:
    """One that files have: a reader that was taken over must not make notes."""
    if value not in DOC_TYPES or value == NOTE:
        raise Garbled("a document of an unknown kind")
    return str(value)


def _words(value: object, longest: int) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise Garbled("words that are none")
    return _UNFIT.sub("\ufffd", value[:longest]).replace("\0", "")


def _whole(value: object, least: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= _HIGHEST:
        raise Garbled("a number that cannot be")
    return value


def _headings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise Garbled("headings that are none")
    return tuple(_words(heading, _TITLE) or "" for heading in value[:_ENTRIES])


def _places(value: object, length: int) -> tuple[tuple[int, str], ...]:
    """Offsets in order, none behind the text, each with what the place is called."""
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > PLACE_CHARACTERS:
        raise Garbled("places that are none")
    places: list[tuple[int, str]] = []
    for entry in value:
        if not isinstance(entry, list) or len(entry) != 2:
            raise Garbled("a place without its name")
        offset = _whole(entry[0], places[-1][0] if places else 0)
        if offset > length:
            raise Garbled("a place behind its text")
        places.append((offset, _words(entry[1], _LOCATION) or ""))
    return tuple(places)


def _placed(value: object) -> tuple[PlacedWord, ...]:
    """Words with the sides of their boxes, which are put inside the page and in order."""
    if value is None:
        return ()
    if not isinstance(value, list) or len(value) > MOST_WORDS:
        raise Garbled("words of a page that are none")
    words: list[PlacedWord] = []
    room = WORD_CHARACTERS
    for entry in value:
        if not isinstance(entry, list) or len(entry) != 5 or not isinstance(entry[0], str):
            raise Garbled("a word without its place")
        text = " ".join((_words(entry[0], room) or "").split())
        left, top, right, bottom = map(_share, entry[1:])
        if text and left <= right and top <= bottom:
            words.append(PlacedWord(text, Box(left, top, right, bottom)))
            room -= len(text)
    return tuple(words)


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise Garbled("a side that is none")
    return float(min(max(value, 0), 1))


def _metadata(value: object) -> dict[str, Any]:
    """Flat, and short: it comes with every list of documents."""
    if not isinstance(value, dict):
        raise Garbled("metadata that are none")
    entries = list(value.items())[:_ENTRIES]
    return {_words(key, 100) or "": _scalar(entry) for key, entry in entries if _is_scalar(entry)}


def _is_scalar(value: object) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) < 2**63
    return isinstance(value, str)


def _scalar(value: Any) -> Any:
    return _words(value, _VALUE) if isinstance(value, str) else value


def _details(value: object) -> dict[str, Any]:
    """An error's details may hold a list, too: of the formats that are supported."""
    if not isinstance(value, dict):
        raise Garbled("details that are none")
    details = _metadata(value) | {
        key: [_scalar(item) for item in entry[:_ENTRIES] if _is_scalar(item)]
        for key, entry in list(value.items())[:_ENTRIES]
        if isinstance(entry, list)
    }
    # They become arguments beside these two.
    taken = ("self", "message")
    return {key: details[key] for key in details if _DETAIL.fullmatch(key) and key not in taken}


def _grid(value: object, lines: int) -> Grid | None:
    """One row for each line at most."""
    if value is None:
        return None
    if not isinstance(value, dict) or not isinstance(value.get("runs"), list):
        raise Garbled("a grid without rows")
    rows: list[int] = []
    for run in value["runs"]:
        if not isinstance(run, list) or len(run) != 2:
            raise Garbled("a run of rows that is none")
        first, count = _whole(run[0], 1), _whole(run[1], 1)
        if len(rows) + count > min(lines, _MOST_ROWS):
            raise Garbled("more rows than lines")
        rows.extend(range(first, first + count))
    return Grid(tuple(rows), _columns(value.get("columns"))) if rows else None


def _carried(value: object, length: int) -> Carried | None:
    """For a page with this many characters. The length of the page before is not known here."""
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Garbled("words carried over that are none")
    at, until, start, end = (_whole(value.get(name), 0) for name in ("at", "until", "start", "end"))
    if not (at <= until and start <= end <= length):
        raise Garbled("words carried over from nowhere")
    return Carried(at, until, start, end, value.get("torn") is True)


def _columns(value: object) -> tuple[str, str] | None:
    if value is None:
        return None
    if isinstance(value, list) and len(value) == 2:
        left, right = (_words(column, 10) or "" for column in value)
        if _COLUMN.fullmatch(left) and _COLUMN.fullmatch(right):
            return left, right
    raise Garbled("columns that are none")
