"""Finds the headings of AsciiDoc, Org and MediaWiki, which are lines with signs before them."""

import re
from collections.abc import Iterator

from kb.engine.ingest.passages.blocks import Block, heading_title, lines, plain_blocks

_SIGNS = {
    "asciidoc": re.compile(r"(={1,6})[ \t]+(\S.*)"),
    "org": re.compile(r"(\*{1,20})[ \t]+(\S.*)"),
    "mediawiki": re.compile(r"(={1,6})[ \t]*([^=\s].*)"),
}
_TAGS = re.compile(r"[ \t]:[\w@#%:]+:$")
# What stands between two of these lines is shown as it is.
_AS_IT_IS = {
    "asciidoc": re.compile(r"([-.+/])\1{3,}[ \t]*"),
    "org": re.compile(r"[ \t]*#\+(?:begin|end)_(?:src|example)\b.*", re.IGNORECASE),
    "mediawiki": re.compile(r"</?(?:pre|nowiki|source|syntaxhighlight)\b[^<]*"),
}
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]|'{2,5}")


def marked_blocks(text: str, language: str) -> Iterator[Block]:
    """Paragraphs and headings."""
    as_it_is = _AS_IT_IS[language]
    fence = ""  # what has begun and not ended
    for paragraph in plain_blocks(text):
        start = paragraph.start
        last = start + len(text[start : paragraph.end].rstrip())
        for line in lines(text[paragraph.start : paragraph.end]):
            mark = as_it_is.fullmatch(line.text)
            if mark and (not fence or language != "asciidoc" or mark[0].strip() == fence):
                fence = "" if fence else mark[0].strip()
            level, title = (0, "") if fence else _heading(line.text.rstrip(), language)
            if not level:
                continue
            at, behind = paragraph.start + line.start, paragraph.start + line.end
            if text[start:at].strip():
                yield Block(start, at, "paragraph")
                start = at
            end = behind if behind < last else paragraph.end
            yield Block(
                start, end, "heading", min(level, 6), heading_title(_LINK.sub(r"\1", title))
            )
            start = end
        if start < paragraph.end:
            yield Block(start, paragraph.end, "paragraph")


def _heading(line: str, language: str) -> tuple[int, str]:
    """Its level and words; level 0 for a line that is none."""
    found = _SIGNS[language].fullmatch(line)
    if found is None:
        return 0, ""
    sign, title = found[1], found[2]
    if language == "mediawiki":
        if not title.endswith(sign):
            return 0, ""
        title = title.removesuffix(sign)
    return len(sign), _TAGS.sub("", title) if language == "org" else title


def has_headings(text: str, language: str) -> bool:
    return any(block.kind == "heading" for block in marked_blocks(text, language))
