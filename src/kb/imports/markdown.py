"""Finds the `#tags` in a Markdown text, as Obsidian sees them."""

import re
from collections.abc import Iterator

_FENCE = re.compile(r"^[ >\t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ >\t]*\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_CODE = re.compile(r"(`+)(?!`)[^\n]{0,2000}?(?<!`)\1(?!`)")
_LINK = re.compile(r"\[\[[^\[\]\n]*\]\]|\]\([^()\n]*\)|<[a-z/!][^<>\n]*>", re.I)
_PAIRS = (("%%", "%%"), ("<!--", "-->"), ("$$", "$$"))  # comments of both kinds, and formulas
# What ends a tag: white space and punctuation but for - _ /, as Obsidian has it.
_TAG = re.compile(
    r"(?:^|(?<=[\s(]))#([^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)", re.M
)


def inline_tags(text: str) -> Iterator[str]:
    """Every tag in the text, outside code, comments, formulas and links."""
    if "#" not in text:
        return
    text = _FENCE.sub(" ", text)
    for opening, closing in _PAIRS:
        text = _without(text, opening, closing)
    text = _LINK.sub(" ", _CODE.sub(" ", text))
    for match in _TAG.finditer(text):
        tag = match[1].strip("/")
        if tag and not tag.replace("/", "").isdigit():
            yield tag


def _without(text: str, opening: str, closing: str) -> str:
    kept: list[str] = []
    at = 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        kept.append(text[at:start])
        at = end + len(closing)
    return " ".join((*kept, text[at:]))


def with_parents(tags: list[str]) -> Iterator[str]:
    """A nested tag, `inbox/to-read`, is also one of `inbox`."""
    for tag in tags:
        parts = [part for part in tag.split("/") if part]
        yield from ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
