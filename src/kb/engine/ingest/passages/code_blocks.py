"""Finds the blocks of source code, each with the path of definitions around it, by what languages
have in common: a definition begins with a telling word or ends in an opening brace, its body is
indented, and comments and decorators right above belong to it. Elsewhere the path is too short, but
the text never wrong."""

import re
from collections.abc import Iterator
from itertools import chain, pairwise

from kb.engine.ingest.passages.blocks import MAX_TITLE, Block, Line, lines

_MODIFIERS = (
    "export default declare async public private protected internal static final abstract sealed "
    "partial override virtual open data inline const unsafe extern pub suspend inner native"
).replace(" ", "|")
_WORDS = (
    "class def function func fn fun struct enum interface trait module mod namespace protocol "
    "extension object record union sub proc defmodule defp"
).replace(" ", "|")
_MODIFIER = re.compile(rf"(?:{_MODIFIERS})(?:\([\w: ]*\))?[ \t]+")
# What follows the name tells a definition from a sentence in a comment: "class of things".
_DEFINITION = re.compile(
    rf"({_WORDS})\b[ \t*]+(?:class[ \t]+)?(?:\([^()]*\)[ \t]*)?([A-Za-z_$][\w$.:?!-]*)"
    r"[ \t]*(?:[({:<\[=]|$|(?:extends|implements|for|where|do|inherits|with)\b)"
)
_TYPE = re.compile(r"(type)[ \t]+(\w+)[ \t]*(?:<|=|struct\b|interface\b)")
_IMPLEMENTATION = re.compile(r"impl\b[^{;]*")
_ASSIGNED = re.compile(
    r"(const|let|var)[ \t]+([\w$]+)[ \t]*=[ \t]*"
    r"(?:async[ \t]*)?(?:function\b|\([^()]*\)[ \t]*=>|\w+[ \t]*=>)"
)
_CREATED = re.compile(
    r"create[ \t]+(?:or[ \t]+replace[ \t]+)?"
    r"(table|view|function|procedure|trigger|index)[ \t]+([\w.\"]+)",
    re.IGNORECASE,
)
_NAMED = (_DEFINITION, _TYPE, _ASSIGNED, _CREATED)
_CALLABLE_NAME = re.compile(r"[*&]*([\w$~:]+)")
_STATEMENTS = """
    if for while switch catch return else elif do try with new throw await using lock foreach unless
    until match case when synchronized function func fn async and or not in
"""
_NOT_CALLABLE = frozenset(_STATEMENTS.split())
_LEAD = re.compile(r"[#@*]|//|/\*|--|;;|\[\w")
_OPENERS = ("{", ")", "]")
_CLOSER = re.compile(r"\}|end\b")
_MAX_LINE = 400  # a longer line is data or minified: no definition is looked for in it


def code_blocks(text: str) -> Iterator[Block]:
    """Blocks between blank lines and before definitions; level 1 is a top-level definition."""
    reader = _CodeReader()
    for line, following in pairwise(chain(lines(text), [Line(len(text), len(text), "")])):
        finished = reader.read(line, following.text)
        if finished is not None:
            yield finished
    if reader.block is not None:
        yield reader.block


class _CodeReader:
    """Takes one line after the other; `block` is the one being read."""

    def __init__(self) -> None:
        self.block: Block | None = None
        self._around: list[tuple[int, str]] = []  # indent and signature of the open definitions
        self._blank = True  # the line before was blank
        self._lead: int | None = None  # where the comments right above this line begin

    def read(self, line: Line, following: str) -> Block | None:
        """Add a line; returns the block before it if this line starts a new one."""
        finished = None
        content = line.text.strip()
        if not content:
            self._blank, self._lead = True, None
        elif _LEAD.match(content):
            finished = self._read_lead(line)
        else:
            finished = self._read_code(line, content, following.strip())
        if self.block is not None:
            self.block.end = line.end
        return finished

    def _read_lead(self, line: Line) -> Block | None:
        finished = self._begin(line.start) if self._blank else None
        if self._lead is None:
            self._lead = line.start
        self._blank = False
        return finished

    def _read_code(self, line: Line, content: str, following: str) -> Block | None:
        indent = _indent(line.text)
        closes = _CLOSER.match(content) is not None
        depth = len(self._around)
        if not closes and not content.startswith(_OPENERS):
            self._leave(indent)
        left = len(self._around) < depth
        signature = _signature(content, following, indent)
        at = line.start if self._lead is None else self._lead
        finished = None
        if signature:
            self._around.append((indent, signature))
            finished = self._begin(at)
            if self.block is not None:
                self.block.kind, self.block.level = "definition", len(self._around)
        elif self._blank or left:
            finished = self._begin(at)
        if closes:
            self._leave(indent)
        self._blank, self._lead = False, None
        return finished

    def _begin(self, at: int) -> Block | None:
        """Start a block; the one before is handed back, without the comments that moved over."""
        finished, path = self.block, tuple(signature for _, signature in self._around)
        if finished is not None and at <= finished.start:
            finished.path = path  # it was nothing but the comments above this line
            return None
        start = 0 if finished is None else at
        if finished is not None:
            finished.end = at
        self.block = Block(start, at, "paragraph", path=path)
        return finished

    def _leave(self, indent: int) -> None:
        while self._around and self._around[-1][0] >= indent:
            self._around.pop()


def _indent(line: str) -> int:
    white = line[: len(line) - len(line.lstrip())]
    return len(white) + 3 * white.count("\t")


def _signature(content: str, following: str, indent: int) -> str:
    """`class Foo`, `def bar`, or "" if the line defines nothing."""
    if len(content) > _MAX_LINE or content.endswith(";"):
        return ""
    while modifier := _MODIFIER.match(content):
        content = content[modifier.end() :]
    for pattern in _NAMED:
        if named := pattern.match(content):
            return f"{named[1].lower()} {named[2].rstrip(':.')}"[:MAX_TITLE]
    if implementation := _IMPLEMENTATION.match(content):
        return " ".join(implementation[0].split())[:MAX_TITLE]
    has_body = content.endswith("{") or (indent == 0 and following.startswith("{"))
    return _callable_name(content) if has_body else ""


def _callable_name(content: str) -> str:
    """The name in `int main(int argc, char **argv) {`, for languages without a word for it."""
    before, bracket, after = content.partition("(")
    words = before.split()
    if not bracket or not words or ")" not in after or not _NOT_CALLABLE.isdisjoint(words):
        return ""
    name = _CALLABLE_NAME.fullmatch(words[-1])
    if name is None or any(mark in content for mark in "=\"'`"):
        return ""
    return f"{name[1]}()"
