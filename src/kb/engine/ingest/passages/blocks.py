r"""Finds the blocks of a text, which cover it in order. White space belongs to the block before, or
at the very start to the one after. Lines end only at `\n`, not at form feeds or U+2028, so that
their numbers are those of an editor."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice, pairwise
from typing import Literal, NamedTuple

Kind = Literal["paragraph", "heading", "front_matter", "table", "fence", "definition"]

MAX_FRONT_MATTER = 200  # lines
MAX_TITLE = 200  # characters of a heading that are kept for the path

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-{2,})[ \t]*$")
_RULE = re.compile(r"([=~^*#\"'+_-])\1{2,}")
_TABLE_RULE = re.compile(r"[ \t|:]*-[ \t|:-]*$")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()]*\)")
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)")


class Line(NamedTuple):
    start: int
    end: int  # past the line's own newline
    text: str  # without it


@dataclass(slots=True)
class Block:
    """A stretch of text that belongs together. `level` and `title` are a heading's."""

    start: int
    end: int
    kind: Kind
    level: int = 0
    title: str = ""
    path: tuple[str, ...] = ()


def lines(text: str) -> Iterator[Line]:
    start = 0
    while start < len(text):
        newline = text.find("\n", start)
        end = len(text) if newline < 0 else newline + 1
        yield Line(start, end, text[start : end if newline < 0 else newline])
        start = end


def plain_blocks(text: str) -> Iterator[Block]:
    """Paragraphs: blank lines are the only structure that plain text is sure to have."""
    block: Block | None = None
    blank = False
    for line in lines(text):
        if not line.text.strip():
            blank = block is not None
        elif block is None or blank:
            if block is not None:
                yield block
            block = Block(block.end if block else 0, line.end, "paragraph")
            blank = False
        if block is not None:
            block.end = line.end
    if block is not None:
        yield block


def text_blocks(text: str) -> Iterator[Block]:
    """Paragraphs, and headings as people set them in plain text: lines that are underlined and
    perhaps overlined, or in capitals over lines that are indented, as `man` shows them."""
    rules: list[str] = []
    for paragraph in plain_blocks(text):
        read = list(lines(text[paragraph.start : paragraph.end]))
        start = paragraph.start
        first = next(index for index, line in enumerate(read) if line.text.strip())
        while (heading := _heading(read, first)) is not None:
            title, rule, first = heading
            rules += [rule] if rule not in rules else []
            goes_on = any(line.text.strip() for line in read[first : first + 1])
            end = paragraph.start + read[first - 1].end if goes_on else paragraph.end
            level = min(rules.index(rule) + 1, 6)
            yield Block(start, end, "heading", level, " ".join(title.split())[:MAX_TITLE])
            start = end
        if start < paragraph.end:
            yield Block(start, paragraph.end, "paragraph")


def _heading(read: list[Line], first: int) -> tuple[str, str, int] | None:
    """The heading that begins there, what shows that it is one, and which line follows it."""
    raw = ([line.text for line in read[first : first + 3]] + [""] * 3)[:3]
    above, title, below = map(str.strip, raw)
    if _RULE.fullmatch(above) and above == below:
        return (title, f"over{above[0]}", first + 3) if _is_title(title, len(title)) else None
    if _RULE.fullmatch(title):
        return (above, title[0], first + 2) if _is_title(above, len(title)) else None
    is_over_indented = raw[1].startswith("   ") and title and not raw[0][:1].isspace()
    if is_over_indented and above.isupper() and _is_title(above, len(above)):
        return above, "capitals", first + 1
    return None


def _is_title(line: str, length: int) -> bool:
    """Whether a rule of such a length underlines it: people make it longer, rarely much shorter. A
    gap within the line is that of a table's head."""
    is_row = "  " in line or "\t" in line or "|" in line
    is_underlined = len(line) <= min(length + 2, MAX_TITLE)
    return is_underlined and not is_row and any(map(str.isalpha, line))


def markdown_blocks(text: str) -> Iterator[Block]:
    """Headings, fenced code, tables and paragraphs, as far as cutting needs them."""
    reader = _MarkdownReader(front_matter_lines(text))
    upcoming = chain(lines(text), [Line(len(text), len(text), "")])
    for line, following in pairwise(upcoming):
        finished = reader.read(line, following.text)
        if finished is not None:
            yield finished
    if reader.block is not None:
        yield reader.block


class _MarkdownReader:
    """Takes one line after the other; `block` is the one being read."""

    def __init__(self, front_matter: int) -> None:
        self.block: Block | None = None
        self._front_matter = front_matter  # lines of it still to come
        self._closed = True  # the next line that is not blank starts a new block
        self._fence = ""
        self._first = self._previous = ""

    def read(self, line: Line, following: str) -> Block | None:
        """Add a line; returns the block before it if this line starts a new one."""
        finished = None
        if not self._goes_on(line.text, following):
            finished, self.block = self.block, self._begin(line, following)
        if self.block is not None:
            self.block.end = line.end
        self._previous = line.text
        return finished

    def _goes_on(self, line: str, following: str) -> bool:
        """Whether the line belongs to the block before it; closes that block where it ends."""
        block = self.block
        if block is not None and self._front_matter:
            self._front_matter -= 1
            self._closed = not self._front_matter
            return True
        if self._fence:
            if _closes(line, self._fence):
                self._fence, self._closed = "", True
            return True
        if not line.strip():
            self._closed = True
            return True
        if block is None or self._closed or _FENCE.match(line) or _HEADING.match(line):
            return False
        if block.kind == "table":
            return "|" in line
        if _UNDERLINE.match(line) and self._previous is self._first:
            block.kind, block.level = "heading", 1 if "=" in line else 2
            block.title = heading_title(self._previous)
            self._closed = True
            return True
        return not _starts_table(line, following)

    def _begin(self, line: Line, following: str) -> Block:
        self._closed = False
        self._first = line.text
        block = Block(self.block.end if self.block else 0, line.end, "paragraph")
        if self._front_matter:
            block.kind = "front_matter"
            self._front_matter -= 1
        elif fence := _FENCE.match(line.text):
            block.kind, self._fence = "fence", fence[1]
        elif heading := _HEADING.match(line.text):
            block.kind, block.level, self._closed = "heading", len(heading[1]), True
            block.title = heading_title(line.text[heading.end() :])
        elif _starts_table(line.text, following):
            block.kind = "table"
        return block


def front_matter_lines(text: str) -> int:
    """How many lines the front matter takes at the start of a Markdown text; 0 without one."""
    if not text.startswith("---"):
        return 0
    for number, line in enumerate(islice(lines(text), MAX_FRONT_MATTER)):
        mark = line.text.rstrip()
        if number == 0 and mark != "---":
            return 0
        if number > 0 and mark in ("---", "..."):
            return number + 1
    return 0


def _starts_table(line: str, following: str) -> bool:
    if line.lstrip().startswith("|"):
        return True
    return "|" in line and "|" in following and _TABLE_RULE.match(following) is not None


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and not mark.strip(fence[0])


def heading_title(text: str) -> str:
    """A heading's words without the marks around them."""
    title = text[: 4 * MAX_TITLE].strip()
    bare = title.rstrip("#")
    if bare != title and (not bare or bare[-1].isspace()):
        title = bare
    return " ".join(_EMPHASIS.sub("", _LINK.sub(r"\1", title)).split())[:MAX_TITLE]
