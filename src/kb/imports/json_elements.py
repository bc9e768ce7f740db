"""Reads the elements of a JSON file's list, one at a time.

Exports of conversations are one list of hundreds of megabytes. Only the current element is kept in
memory, and a mistake loses only what comes after it.
"""

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

_BLOCK = 1 << 20
_LONGEST_VALUE = 256 * 2**20  # characters
_WHITE = " \t\r\n"
# An error so near to the end of what has been read may be one because the rest is not there yet.
_NEAR = 32


class BadJson(ValueError):
    """What was expected is not there; the message says where."""


def elements(path: Path) -> Iterator[Any]:
    """The elements of the list that a file holds; of a file with a single object, that object.

    Raises BadJson where the file stops being JSON, and OSError where it cannot be read.
    """
    with path.open("rb") as file:
        window = _Window(file)
        first = window.next_sign()
        if first == "{":
            yield window.value()
        elif first == "[":
            window.skip()
            yield from _listed(window)
        else:
            raise BadJson("neither a list nor an object")


def decoded(data: bytes, errors: str) -> str:
    """A file of JSON, or its beginning, as text; `errors` in UTF-8 as Python has it."""
    charset = json.detect_encoding(data[:4])
    if charset.startswith("utf-8"):
        return data.decode("utf-8-sig", errors)
    return data.decode(charset, "replace")


def _listed(window: "_Window") -> Iterator[Any]:
    if window.next_sign() == "]":
        return
    while True:
        yield window.value()
        sign = window.next_sign()
        if sign == "]":
            return
        if sign != ",":
            raise BadJson(f"the list breaks off at character {window.position:,}")
        window.skip()
        window.next_sign()


def _decoder(file: IO[bytes]) -> codecs.IncrementalDecoder:
    """For the file's encoding. Bytes that are not UTF-8 become half characters, so that the caller
    can tell."""
    charset = json.detect_encoding(file.read(4))
    file.seek(0)
    if not charset.startswith("utf-8"):
        return codecs.getincrementaldecoder(charset)(errors="replace")
    return codecs.getincrementaldecoder("utf-8-sig")(errors="surrogateescape")


class _Window:
    """The part of a file that has been read and not yet used."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._decode = _decoder(file).decode
        self._parse = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._before = 0

    @property
    def position(self) -> int:
        return self._before + self._at

    def skip(self) -> None:
        self._at += 1

    def next_sign(self) -> str:
        """The next sign that is not white space; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _WHITE:
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._read_on():
                return ""

    def value(self) -> Any:
        """The value that begins here. What is cut off is tried again with more of the file."""
        while True:
            try:
                value, self._at = self._parse(self._text, self._at)
                return value
            except RecursionError:
                raise BadJson(f"nested too deeply at character {self.position:,}") from None
            except json.JSONDecodeError as error:
                where = self._before + error.pos
                if not (self._may_be_cut(error) and self._read_on()):
                    what = error.msg.removesuffix(" at")
                    raise BadJson(f"{what} at character {where:,}") from None

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._text) - _NEAR

    def _read_on(self) -> bool:
        """Twice as much as there is, so that a long value is not parsed too often in vain."""
        left = self._text[self._at :]
        if len(left) > _LONGEST_VALUE:
            raise BadJson(f"a value of more than {_LONGEST_VALUE:,} characters")
        data = self._file.read(max(_BLOCK, len(left)))
        self._before += self._at
        self._text, self._at = left + self._decode(data, final=not data), 0
        return bool(data)
