"""A web page: all of its content in order, without the menus around it. Nothing is fetched. A page
that lxml cannot parse, or that killed its reader, is read tag by tag, with its menus."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from lxml import etree

from kb.engine.errors import ContentTooLarge
from kb.engine.ingest.extract.about import about, iso_date, line
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.paging import cut
from kb.engine.ingest.extract.plain.text import read_text
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.extract.web import around, unseen
from kb.engine.ingest.extract.web.html_blocks import Flow
from kb.engine.ingest.extract.web.tag_scanner import data_uris_removed, scan, walk
from kb.engine.pages import Page

_MAX_BYTES = 64 * 2**20  # pictures may be written into a page; without them it is far smaller
_MOST_TAGS = 1_000_000  # that are made into a tree: each takes some 200 bytes of memory
_MOST_SCANNED = 2_000_000  # tags that are gone through one by one
_MOST_JUDGED = 200_000  # tags; in a page of more, menus are next to nothing
# lxml's time grows with a tag's attributes squared. What a program keeps in one is no text.
_LONG_TAG = re.compile(r"<[a-zA-Z][^<>]{100000,}+")
_LONG_VALUE = re.compile(r"""=\s*+(?:"[^"]{1000,}+"|'[^']{1000,}+')""")
_SCRIPT = re.compile(r"<script(?=[\s>])")
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]{0,200}\?>")
_TITLE_WITHIN = 100_000  # characters
_META_NAMES = {
    "author": ("author", "article:author", "dc.creator", "dcterms.creator"),
    "created": ("article:published_time", "date", "dc.date", "dcterms.created", "datepublished"),
    "modified": ("article:modified_time", "last-modified", "dcterms.modified", "datemodified"),
    "description": ("description", "og:description", "dc.description"),
    "keywords": ("keywords", "news_keywords"),
    "url": ("og:url",),
}


class WebPage(NamedTuple):
    """A page's text as Markdown, and what it says about itself."""

    markdown: str
    title: str | None = None
    metadata: Mapping[str, Any] = {}
    places: Sequence[tuple[int, str]] = ()  # where its headings stand, and the names of links there


def extract(source: Source) -> Extraction:
    markup = read_text(source, _MAX_BYTES)
    if markup.count("<") > _MOST_SCANNED:
        raise ContentTooLarge(
            f"{source.filename} has more than {_MOST_SCANNED:,} tags", filename=source.filename
        )
    page = read_page(markup, careful=source.careful)
    if not page.markdown:
        raise Refusals(source.filename).no_text()
    return Extraction(
        "html",
        "html",
        islice(_pages(page, source.filename), source.start, None),
        title=page.title,
        metadata=dict(page.metadata),
    )


def _pages(page: WebPage, filename: str) -> Iterator[Page]:
    """Pieces of bearable length, cited as a browser finds them: `page.html#section`."""
    named = [(offset, f"{filename}#{anchor}" if anchor else "") for offset, anchor in page.places]
    start, above = 0, ""
    for piece in cut(page.markdown):
        inside = [(at - start, name) for at, name in named if start <= at < start + len(piece)]
        places = ((0, above), *inside)
        above = places[-1][1]
        start += len(piece)
        is_named = any(name for _, name in places)
        yield Page(piece, markup="markdown", lines_count=False, places=places if is_named else ())


def read_page(markup: str, *, careful: bool = False, whole: bool = False) -> WebPage:
    """The content of a page; all of it if `whole`. `careful` goes without lxml."""
    markup = data_uris_removed(_DECLARATION.sub("", markup, count=1))
    tags = markup.count("<")
    tree = None if careful or tags > _MOST_TAGS else _tree(markup)
    if tree is None:
        return _scanned(markup)
    title, metadata = _metadata(tree)
    unseen.shown_without_scripts(tree)
    if not whole and tags <= _MOST_JUDGED:
        around.removed(tree)
    flow = Flow()
    walk(tree, flow)
    content = flow.markdown()
    if not content:  # a comment or quote that never ends has swallowed it
        return _scanned(markup)
    return WebPage(content, title or flow.only_title, metadata, flow.places)


def _tree(markup: str) -> Any | None:
    """The page as a tree; None for a page that lxml would lose a part of, or its time in."""
    if _LONG_TAG.search(markup):
        markup = _without_long_scripts(markup)
        markup = _LONG_TAG.sub(lambda tag: _LONG_VALUE.sub('=""', tag[0]), markup)
        if _LONG_TAG.search(markup):
            return None
    parser = etree.HTMLParser(remove_comments=True, remove_pis=True, huge_tree=False)
    try:
        tree = etree.fromstring(markup, parser)
    except (etree.ParserError, ValueError):  # nothing in it, or nothing that XML could hold
        return None
    stopped = any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log)
    return None if stopped else tree


def _without_long_scripts(markup: str) -> str:
    """In a program, `i<n` and much text after it is not a tag."""
    first, *others = _SCRIPT.split(markup)
    kept = [first]
    for part in others:
        script, end, behind = part.partition("</script")
        kept += ["<script", ">" if _LONG_TAG.search(script) else script, end, behind]
    return "".join(kept)


def _scanned(markup: str) -> WebPage:
    flow, title = Flow(), _TitleReader()
    scan(markup, flow)
    scan(markup[:_TITLE_WITHIN], title)
    content = flow.markdown()
    return WebPage(content, line("".join(title.parts)) or None, places=flow.places)


class _TitleReader:
    """Keeps the text of the first title."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self._is_inside = False

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:  # noqa: ARG002
        self._is_inside = tag == "title" and not self.parts

    def end(self, tag: str) -> None:  # noqa: ARG002
        self._is_inside = False

    def text(self, data: str) -> None:
        if self._is_inside:
            self.parts.append(data)


def _metadata(tree: Any) -> tuple[str | None, dict[str, Any]]:
    """The title, and what the head says. The title for sharing goes without the site's name."""
    said: dict[str, str] = {}
    for element in tree.iter("meta"):
        name = element.get("name") or element.get("property") or element.get("itemprop") or ""
        said.setdefault(name.strip().lower(), element.get("content") or "")
    found = {
        key: next((said[name] for name in names if said.get(name, "").strip()), None)
        for key, names in _META_NAMES.items()
    }
    if (found["author"] or "").startswith(("http:", "https:")):  # a page about the author
        found["author"] = None
    found["created"], found["modified"] = iso_date(found["created"]), iso_date(found["modified"])
    found["language"] = tree.get("lang") or said.get("content-language")
    named = tree.find(".//head/title")
    title = line(said.get("og:title", "")) or line(
        "".join(named.itertext()) if named is not None else ""
    )
    return title or None, about(found)
