"""Reads markup as tags and text: from a parsed tree, or in one pass over text that lxml gives up
on: nested too deep, or a tag with very many attributes. Unlike the standard library's parser,
`scan` takes time in proportion to the text, whatever it contains."""

import html
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from lxml import etree

_TAG_NAME = re.compile(r"[a-zA-Z][^\s/<>]*+")
_TAG_REST = re.compile(r"""(?:[^>"']++|"[^"]*+"|'[^']*+')*+>""")
_ATTRIBUTE = re.compile(
    r"""([^\s"'>/=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++)))?+""",
)
_RAW = {name: re.compile(f"</{name}", re.IGNORECASE) for name in ("script", "style")}
_CDATA = "<![CDATA["
_DATA_URI = re.compile(r"data:[\w/+.-]{1,100}(?:;[\w=.-]{1,100})?;base64,[A-Za-z0-9+/=%\s]{200,}+")
_LONGEST_TAG = 1_000_000  # characters in which attributes are looked for


class Handler(Protocol):
    """Names come in lower case, without their namespace. Not every start has its end: `<br>`."""

    def start(self, tag: str, attributes: Mapping[str, str]) -> None: ...

    def end(self, tag: str) -> None: ...

    def text(self, data: str) -> None: ...


def walk(tree: etree._Element, handler: Handler) -> None:
    """Tell a tree's tags and text. What follows a comment would be lost: parse it without them."""
    for event, element in etree.iterwalk(tree, events=("start", "end")):
        tag = local_name(element.tag)
        if event == "start":
            handler.start(tag, element.attrib)
            if element.text:
                handler.text(element.text)
        else:
            handler.end(tag)
            if element.tail and element is not tree:
                handler.text(element.tail)


def local_name(tag: str) -> str:
    """`{http://www.w3.org/2000/svg}text` and `svg:text` are both `text`."""
    return tag.rpartition("}")[2].rpartition(":")[2].lower()


def data_uris_removed(markup: str) -> str:
    """Markup without the pictures and fonts that are written into it: no parser takes them."""
    return _DATA_URI.sub("", markup)


def _unescaped(text: str) -> str:
    try:
        return html.unescape(text)
    except ValueError:  # a number of a character with more than 4,300 digits
        return text


def scan(markup: str, handler: Handler) -> None:
    """Tell the tags and text of markup, however broken it is."""
    _Scanner(markup, handler).run()


class _Token(NamedTuple):
    """What begins at a `<`: a tag (`name`), the text of a CDATA section, or nothing to tell."""

    end: int
    name: str = ""
    closes: bool = False
    inside: tuple[int, int] = (0, 0)  # of a start tag: its attributes; of CDATA: its text


class _Scanner:
    """Goes forward only, and searches for nothing twice."""

    def __init__(self, markup: str, handler: Handler) -> None:
        self._markup = markup
        self._handler = handler
        self._found: dict[str, int] = {}
        self._quotes_close = True

    def run(self) -> None:
        told = at = 0
        while (start := self._markup.find("<", at)) >= 0:
            token = self._token(start)
            if token is None:  # as in "a < b"
                at = start + 1
                continue
            self._text(told, start)
            at = told = self._tell(token)
        self._text(told, len(self._markup))

    def _token(self, start: int) -> _Token | None:
        """None for a `<` that opens nothing, or something that never ends."""
        markup = self._markup
        following = markup[start + 1 : start + 2]
        if following == "!" and markup.startswith("<!--", start):
            return self._until("-->", start + 4)
        if following == "!" and markup.startswith(_CDATA, start):
            text = start + len(_CDATA)
            token = self._until("]]>", text)
            return token._replace(inside=(text, token.end - 3)) if token else None
        if following in ("!", "?"):
            return self._until(">", start)
        closes = following == "/"
        name = _TAG_NAME.match(markup, start + 1 + closes)
        if name is None:
            return None
        end = self._next(">", name.end()) + 1 if closes else self._tag_end(name.end())
        return _Token(end, local_name(name[0]), closes, (name.end(), end)) if end else None

    def _tag_end(self, position: int) -> int:
        """Past the `>` that is in no quotes. Once a quote never closes, any `>` will do."""
        if self._quotes_close:
            rest = _TAG_REST.match(self._markup, position)
            if rest is not None:
                return rest.end()
            self._quotes_close = False
        return self._next(">", position) + 1

    def _tell(self, token: _Token) -> int:
        """Tell a token; where to go on."""
        first, last = token.inside
        if not token.name:
            self._handler.text(self._markup[first:last])
        elif token.closes:
            self._handler.end(token.name)
        else:
            self._handler.start(token.name, dict(self._attributes(first, last)))
            if self._markup.endswith("/>", first, last):
                self._handler.end(token.name)
            elif token.name in _RAW:
                return max(token.end, self._next(f"</{token.name}", token.end))
        return token.end

    def _attributes(self, first: int, last: int) -> Iterator[tuple[str, str]]:
        if last - first < 4:  # too short for any
            return
        for match in _ATTRIBUTE.finditer(self._markup, first, min(last, first + _LONGEST_TAG)):
            name, *values = match.groups()
            yield local_name(name), _unescaped(next(filter(None, values), ""))

    def _text(self, start: int, end: int) -> None:
        if start < end:
            self._handler.text(_unescaped(self._markup[start:end]))

    def _until(self, closing: str, start: int) -> _Token | None:
        end = self._next(closing, start)
        return None if end < 0 else _Token(end + len(closing))

    def _next(self, needle: str, start: int) -> int:
        found = self._found.get(needle, -2)
        if found != -1 and found < start:
            pattern = _RAW.get(needle[2:])
            if pattern is None:
                found = self._markup.find(needle, start)
            else:
                match = pattern.search(self._markup, start)
                found = match.start() if match else -1
            self._found[needle] = found
        return found
