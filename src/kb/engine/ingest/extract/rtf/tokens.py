"""Splits RTF into groups, control words and text, in one pass."""

import re
from collections.abc import Iterator
from typing import NamedTuple

# Every character begins exactly one of these, so nothing is looked at twice.
_TOKEN = re.compile(
    r"\\([a-zA-Z]{1,32})(-?[0-9]{1,10})?[ ]?"
    r"|\\'([0-9a-fA-F]{2})"
    r"|\\(.)"
    r"|([{}])"
    r"|([^\\{}\r\n]+)"
    r"|[\r\n]+"
    r"|\\",
    re.DOTALL,
)


class Token(NamedTuple):
    """`kind` is `{`, `}`, `word`, `symbol`, `byte` or `text`; `value` the control word, symbol or
    text, its characters the file's bytes; `number` that of a word, or the byte."""

    kind: str
    value: str = ""
    number: int | None = None


def tokens(text: str) -> Iterator[Token]:
    """`text` is the file, one character for each byte."""
    position = 0
    while match := _TOKEN.match(text, position):
        position = match.end()
        word, number, byte, symbol, brace, run = match.groups()
        if run is not None:
            yield Token("text", run)
        elif word is not None:
            value = None if number is None else int(number)
            if word == "bin":  # so many bytes of a picture follow, whatever they look like
                position += max(value or 0, 0)
            else:
                yield Token("word", word, value)
        elif brace is not None:
            yield Token(brace)
        elif byte is not None:
            yield Token("byte", "", int(byte, 16))
        elif symbol is not None:
            yield Token("symbol", symbol)
