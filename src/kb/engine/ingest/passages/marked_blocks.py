"""Finds the headings of AsciiDoc, Org and MediaWiki, by signs before them or lines below."""

import re
from collections.abc import Iterator

from kb.engine.ingest.passages.blocks import Block, Line, heading_title, lines, plain_blocks

_SIGNS = {
    "asciidoc": re.compile(r"(={1,6})[ \t]+(\S.*)"),
    "org": re.compile(r"(\*{1,20})[ \t]+(\S.*)"),
    "mediawiki": re.compile(r"(={1,6})[ \t]*([^=\s].*)"),
}
_TAGS = re.compile(r"[ \t]:[\w@#%:]+:$")
# What stands between two of these signs is shown as it is. In AsciiDoc they are the same line.
_AS_IT_IS = {
    "asciidoc": re.compile(r"^(?P<end>(?P<name>([-.+/])\3{3,}))[ \t]*$"),
    "org": re.compile(r"^[ \t]*#\+(?:begin|(?P<end>end))_(?P<name>src|example)\b", re.IGNORECASE),
    "mediawiki": re.compile(
        r"<(?P<end>/)?(?P<name>pre|nowiki|source|syntaxhighlight)\b(?(end)|[^<>]*(?<!/)>)",
        re.IGNORECASE,
    ),
}
# The older titles of AsciiDoc, by what underlines them; about as long as they are.
_UNDERLINE = re.compile(r"([-=~^+])\1{3,}[ \t]*")
_UNDERLINES = "=-~^+"
_OLD_TITLE = re.compile(r"(?![.\[|:/])(?=.*[^\W\d_]).*")
_LINK = re.compile(r"\[\[(?:[^\[\]|]*\|)?([^\[\]|]*)\]\]|'{2,5}")


def marked_blocks(text: str, language: str) -> Iterator[Block]:
    """Paragraphs and headings."""
    as_it_is = _AsItIs(text, language)
    for paragraph in plain_blocks(text):
        start = paragraph.start
        last = start + len(text[start : paragraph.end].rstrip())
        above: Line | None = None  # a line that may be underlined
        may_begin = language == "asciidoc"  # only attributes and headings stand before the line
        for line in lines(text[paragraph.start : paragraph.end]):
            title_line, (level, title) = line, (0, "")
            if above and not as_it_is.name and (level := _underlined(above.text, line.text)):
                title_line, title = above, above.text.strip()
            elif not as_it_is.holds(line.text, paragraph.start + line.start):
                level, title = _heading(line.text.rstrip(), language)
            if not level:
                above = line if may_begin and line.text.strip() else None
                may_begin = may_begin and (not above or line.text.startswith("["))
                continue
            above = None
            at, behind = paragraph.start + title_line.start, paragraph.start + line.end
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


class _AsItIs:
    """Follows, line by line, what is shown as it is. What never ends has not begun."""

    def __init__(self, text: str, language: str) -> None:
        self.name = ""  # of what has begun and not ended
        self._signs = _AS_IT_IS[language]
        self._is_one_sign = language == "asciidoc"
        self._last_ends = {
            sign["name"].lower(): line.start
            for line in lines(text)
            for sign in self._signs.finditer(line.text)
            if sign["end"]
        }

    def holds(self, line: str, at: int) -> bool:
        """Whether it does this line, which comes next and stands there."""
        held = bool(self.name)
        for sign in self._signs.finditer(line):
            name = sign["name"].lower()
            if self.name:
                self.name = "" if sign["end"] and name == self.name else self.name
            elif (self._is_one_sign or not sign["end"]) and at < self._last_ends.get(name, 0):
                self.name = name
        return held or bool(self.name)


def _underlined(title: str, line: str) -> int:
    """The level of an older title of AsciiDoc in the line above; 0 if it is none."""
    title, line = title.rstrip(), line.rstrip()
    is_title = _UNDERLINE.fullmatch(line) and _OLD_TITLE.fullmatch(title)
    return _UNDERLINES.index(line[0]) + 1 if is_title and abs(len(title) - len(line)) < 3 else 0


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
