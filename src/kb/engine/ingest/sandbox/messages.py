"""Writes a reader's messages as bytes and reads them again: two lengths, a head in JSON and, for a
page, its text. Lengths are checked before anything is read, fields by `checking`."""

import json
import os
import struct
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from kb.engine.errors import KbError
from kb.engine.ingest.extract.extraction import Extraction
from kb.engine.ingest.sandbox.request import Level
from kb.engine.pages import Grid, Page, PlacedWord, Remark, Unread

_LENGTHS = struct.Struct("!II")
LONGEST_HEAD = 2 * 2**20
LONGEST = 8 * 2**20
MOST_WORDS = 5_000  # of a page whose words are told with their places
WORD_CHARACTERS = 100_000  # of all of them
PLACE_CHARACTERS = 200_000  # of the names of the places in a page
PIECE = 2**20  # characters; a long text goes in pieces, each at most four bytes a character
_MOST_SAID = 2**27  # bytes; from there on a reader leaves out where words are


class Garbled(Exception):
    """What came is no message of ours."""


@dataclass(frozen=True, slots=True)
class Message:
    kind: str
    fields: dict[str, Any]
    text: bytes
    head_length: int = 0


class Outlet:
    """Where a reader says what it has found."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._said = 0

    def document(self, extraction: Extraction) -> None:
        self._send(
            "document",
            doc_type=extraction.doc_type,
            format=extraction.format,
            title=extraction.title,
            metadata=extraction.metadata,
            page_count=extraction.page_count,
            reader=extraction.reader,
            pictures=extraction.pictures,
        )

    def page(self, page: Page | Unread | Remark) -> None:
        if isinstance(page, Remark):
            self._send("remark", remark=page.text, words_left_out=page.words_left_out)
            return
        if isinstance(page, Unread):
            self._send("unread", number=page.number, reason=page.reason)
            return
        last = max(len(page.text) - 1, 0) // PIECE * PIECE
        for start in range(0, last, PIECE):
            self._send("piece", page.text[start : start + PIECE])
        self._send(
            "page",
            page.text[last:],
            number=page.number,
            location=page.location,
            markup=page.markup,
            method=page.method,
            grid=_grid(page.grid),
            lines_count=page.lines_count,
            headings=page.headings,
            open_headings=page.open_headings,
            words=_words(page.words) if self._said < _MOST_SAID else [],
            carried=None if page.carried is None else asdict(page.carried),
            places=_places(page.places),
        )

    def error(self, error: KbError) -> None:
        self._send("error", code=error.code, message=error.message, details=error.details)

    def failure(self, kind: str, what: str) -> None:
        """It cannot go on: `memory`, `depth`, `locks` or, for all else, `unforeseen`."""
        self._send("failure", failure=kind, what=what)

    def needs(self, level: Level) -> None:
        """It takes a server that has more loaded."""
        self._send("needs", level=level)

    def end(self) -> None:
        self._send("end")

    def _send(self, kind: str, text: str = "", **fields: Any) -> None:
        head = json.dumps({"kind": kind, **fields}, default=str).encode()
        body = text.encode("utf-8", "replace")  # half a character becomes a question mark
        self._said += len(head)
        data = memoryview(_LENGTHS.pack(len(head), len(body)) + head + body)
        while data:
            data = data[os.write(self._descriptor, data) :]


class Inlet:
    """Takes bytes as they arrive, and gives whole messages."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        self._buffer += data

    def messages(self) -> Iterator[Message]:
        """Those that are complete by now. Raises Garbled."""
        while (message := self._next()) is not None:
            yield message

    def _next(self) -> Message | None:
        if len(self._buffer) < _LENGTHS.size:
            return None
        head_length, text_length = _LENGTHS.unpack_from(self._buffer)
        if head_length > LONGEST_HEAD or head_length + text_length > LONGEST:
            raise Garbled("a message is too long")
        end_of_head = _LENGTHS.size + head_length
        end = end_of_head + text_length
        if len(self._buffer) < end:
            return None
        head = bytes(self._buffer[_LENGTHS.size : end_of_head])
        text = bytes(self._buffer[end_of_head:end])
        del self._buffer[:end]
        return _message(head, text)


def _message(head: bytes, text: bytes) -> Message:
    try:
        fields = json.loads(head.decode())
    except (ValueError, RecursionError) as error:
        raise Garbled("a message is not JSON") from error
    kind = fields.pop("kind", None) if isinstance(fields, dict) else None
    if not isinstance(kind, str):
        raise Garbled("a message has no kind")
    return Message(kind, fields, text, len(head))


def _places(places: tuple[tuple[int, str], ...]) -> tuple[tuple[int, str], ...]:
    """None at all of a page with too many: it is cited by its headings."""
    return places if sum(len(name) + 10 for _, name in places) <= PLACE_CHARACTERS else ()


def _words(words: tuple[PlacedWord, ...]) -> list[list[str | float]]:
    """As far as they have room in a head, where a character may take twelve bytes."""
    sent: list[list[str | float]] = []
    room = WORD_CHARACTERS
    for word in words[:MOST_WORDS]:
        room -= len(word.text)
        if room < 0:
            break
        box = word.box
        sent.append([word.text, box.left, box.top, box.right, box.bottom])
    return sent


def _grid(grid: Grid | None) -> dict[str, Any] | None:
    """Rows mostly follow one another, so they are sent as runs: a first row, and how many."""
    if grid is None:
        return None
    runs: list[list[int]] = []
    for row in grid.rows:
        if runs and row == sum(runs[-1]):
            runs[-1][1] += 1
        else:
            runs.append([row, 1])
    return {"runs": runs, "columns": grid.columns}
