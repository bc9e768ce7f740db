"""Markdown: one page, with its own title and front matter."""

import re
from typing import Any

from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.plain.text import TITLE_WITHIN, read_text
from kb.engine.ingest.passages.blocks import front_matter_lines, heading_title, markdown_blocks
from kb.engine.pages import Page

_ENTRY = re.compile(r"([^\W\d][\w .-]{0,99}):[ \t]+(\S.*)")
_NUMBER = re.compile(r"[+-]?\d{1,15}(?:\.\d{1,15})?", re.ASCII)
_LONGEST_VALUE = 1_000  # characters; metadata comes with every list of documents


def extract(source: Source) -> Extraction:
    text = read_text(source)
    metadata = _front_matter(text)
    title = metadata.get("title")
    return Extraction(
        "markdown",
        ending(source.filename),
        iter([Page(text, markup="markdown")]),
        title=heading_title(str(title)) if title is not None else _first_heading(text),
        metadata=metadata,
    )


def _first_heading(text: str) -> str | None:
    """The first of level 1; else one of any level that the text begins with."""
    blocks = [each for each in markdown_blocks(text[:TITLE_WITHIN]) if each.kind != "front_matter"]
    headings = [block for block in blocks if block.kind == "heading"]
    titles = [heading.title for heading in headings if heading.level == 1]
    titles += [heading.title for heading in headings[:1] if heading is blocks[0]]
    return next(filter(None, titles), None)


def _front_matter(text: str) -> dict[str, Any]:
    """Short `key: value` lines; all else in it stays in the text only."""
    length = front_matter_lines(text)
    metadata: dict[str, Any] = {}
    for row in text.split("\n", length)[1 : max(length - 1, 1)]:
        match = _ENTRY.match(row)
        if match and len(match[2]) <= _LONGEST_VALUE:
            scalar = _scalar(match[2].strip())
            if scalar is not None:
                metadata[match[1]] = scalar
    return metadata


def _scalar(value: str) -> str | int | float | bool | None:
    """A value as YAML would read it, if it is a single one; None otherwise."""
    if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'":
        return value[1:-1]
    if value[0] in "[{|>&*!\"'":
        return None
    value = value.partition(" #")[0].rstrip()
    if value in ("true", "false"):
        return value == "true"
    if _NUMBER.fullmatch(value):
        return float(value) if "." in value else int(value)
    return None if value in ("null", "~") else value
