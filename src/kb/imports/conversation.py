"""Writes a conversation as one readable text."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kb.imports.fit import LONGEST_NOTE, clean, one_line, pieces, utc
from kb.imports.item import Item
from kb.imports.parts import in_parts

_BACKTICKS = re.compile(r"^ {0,3}(`{3,})", re.M)
_LONGEST_OUTPUT = 20_000


@dataclass(frozen=True, slots=True)
class Message:
    """Who said what, and when. `about` follows the name, such as the version of the message."""

    who: str
    text: str
    at: str | None = None
    about: str = ""


def documents(item: Item, messages: list[Message]) -> Iterator[Item]:
    """The item with what was said as its text; a long one becomes several, cut between messages."""
    yield from in_parts(item, list(_texts(messages)))


def _texts(messages: list[Message]) -> Iterator[str]:
    text = ""
    for message in messages:
        for piece in pieces(_said(message), LONGEST_NOTE - 2):
            if text and len(text) + len(piece) + 2 > LONGEST_NOTE:
                yield text
                text = ""
            text = f"{text}\n\n{piece}" if text else piece
    if text:
        yield text


def _said(message: Message) -> str:
    when = f" · {message.at[:16].replace('T', ' ')}" if message.at else ""
    about = f" · {message.about}" if message.about else ""
    return f"## {message.who}{when}{about}\n\n{clean(message.text).strip()}"


def fenced(text: str, language: str = "") -> str:
    """The text as it is, in a fence that nothing in it closes."""
    longest = max((len(match[1]) for match in _BACKTICKS.finditer(text)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{one_line(language, 30)}\n{text.rstrip()}\n{fence}"


def quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


def output(text: str) -> str:
    """What a tool gave: in a fence, and cut where it is longer than anybody would read."""
    rest = len(text) - _LONGEST_OUTPUT
    if rest <= 0:
        return fenced(text)
    return f"{fenced(text[:_LONGEST_OUTPUT])}\n\n({rest:,} more characters were left out.)"


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=str)


def earliest(*times: object) -> str | None:
    return min(filter(None, map(utc, times)), default=None)
