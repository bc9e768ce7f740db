"""A web page: what it is about, without the menus around it; headings, lists and tables kept.

Nothing is fetched: neither pictures nor scripts nor frames. trafilatura finds the part of a page
that is its content; where it finds next to nothing the whole page is taken. A page that lxml cannot
take, or that killed its reader, is gone through tag by tag.
"""

import logging
import re
from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

import lxml.html
from lxml import etree
from trafilatura import bare_extraction
from trafilatura.external import jt_stoplist_init

from kb.engine.errors import ContentTooLarge, NoTextFound
from kb.engine.ingest.extract.about import about, iso_date, line
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.flow import Flow
from kb.engine.ingest.extract.paging import cut
from kb.engine.ingest.extract.tags import data_uris_removed, scan, walk
from kb.engine.ingest.extract.text import read_text
from kb.engine.models import Page

_MAX_BYTES = 64 * 2**20  # pictures may be written into a page; without them it is far smaller
_LEAST_SHARE = 0.05  # of the page that its content must be
_MOST_TAGS = 1_000_000  # that are made into a tree: each takes some 200 bytes of memory
_MOST_SCANNED = 2_000_000  # tags that are gone through one by one
_MOST_ARTICLE_TAGS = 50_000  # beyond, looking for the content takes too long
_LONG_TAG = re.compile(r"<[a-zA-Z][^<>]{100000}")  # lxml's time grows with its attributes squared
_DECLARATION = re.compile(r"\s*<\?xml[^>]{0,200}\?>")
_TITLE_WITHIN = 100_000  # characters
_HEADINGS = frozenset(f"h{level}" for level in range(1, 7))
_HTML_NAMES = {"row": "tr", "cell": "td", "lb": "br", "graphic": "img", "quote": "blockquote"}
_META_NAMES = {
    "author": ("author", "article:author", "dc.creator", "dcterms.creator"),
    "created": ("article:published_time", "date", "dc.date", "dcterms.created", "datepublished"),
    "modified": ("article:modified_time", "last-modified", "dcterms.modified", "datemodified"),
    "description": ("description", "og:description", "dc.description"),
    "keywords": ("keywords", "news_keywords"),
    "url": ("og:url",),
}
logger = logging.getLogger(__name__)
# Read from disk, and only when first needed: a confined reader could not.
jt_stoplist_init()


class WebPage(NamedTuple):
    """A page's text as Markdown, and what it says about itself."""

    markdown: str
    title: str | None = None
    metadata: Mapping[str, Any] = {}


def extract(source: Source) -> Extraction:
    markup = read_text(source, _MAX_BYTES)
    if markup.count("<") > _MOST_SCANNED:
        raise ContentTooLarge(
            f"{source.filename} has more than {_MOST_SCANNED:,} tags", filename=source.filename
        )
    page = read_page(markup, careful=source.careful)
    if not page.markdown:
        raise NoTextFound(f"{source.filename} has no text in it", filename=source.filename)
    pages = (Page(piece, markup="markdown", lines_count=False) for piece in cut(page.markdown))
    return Extraction(
        "html",
        "html",
        islice(pages, source.start, None),
        title=page.title,
        metadata=dict(page.metadata),
    )


def read_page(markup: str, *, careful: bool = False, whole: bool = False) -> WebPage:
    """The content of a page; all of it if `whole`. `careful` goes without lxml."""
    markup = data_uris_removed(_DECLARATION.sub("", markup, count=1))
    tags = markup.count("<")
    tree = None if careful or tags > _MOST_TAGS else _tree(markup)
    if tree is None:
        return _scanned(markup)
    flow = Flow()
    walk(tree, flow)
    everything = flow.markdown()
    if not everything:  # a comment or quote that never ends has swallowed it
        return _scanned(markup)
    title, metadata = _metadata(tree)
    if whole or tags > _MOST_ARTICLE_TAGS:
        return WebPage(everything, title, metadata)
    article = _article(tree)
    content = article if len(article) >= _LEAST_SHARE * len(everything) else everything
    return WebPage(content, title, metadata)


def _tree(markup: str) -> Any | None:
    """The page as a tree; None for a page that lxml would lose a part of, or its time in."""
    if _LONG_TAG.search(markup):
        return None
    parser = lxml.html.HTMLParser(remove_comments=True, remove_pis=True, huge_tree=False)
    try:
        tree = lxml.html.document_fromstring(markup, parser=parser)
    except (etree.ParserError, ValueError):  # nothing in it, or nothing that XML could hold
        return None
    stopped = any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log)
    return None if stopped else tree


def _scanned(markup: str) -> WebPage:
    flow, title = Flow(), _TitleReader()
    scan(markup, flow)
    scan(markup[:_TITLE_WITHIN], title)
    return WebPage(flow.markdown(), line("".join(title.parts)) or None)


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
        named.text_content() if named is not None else ""
    )
    return title or None, about(found)


def _article(tree: Any) -> str:
    """The part of a page that is its content, as trafilatura finds it. Changes the tree."""
    _put_captions_into_text(tree)
    try:
        document = bare_extraction(tree, output_format="markdown", include_tables=True)
    except Exception:  # whatever it stumbles over, the whole page is there
        logger.info("no content was found in a web page", exc_info=True)
        return ""
    flow = Flow()
    for body in (getattr(document, "body", None), getattr(document, "commentsbody", None)):
        if body is not None:
            _name_as_html(body)
            walk(body, flow)
    return flow.markdown()


def _put_captions_into_text(tree: Any) -> None:
    """trafilatura leaves out what is said about pictures, and puts it into the table for tables."""
    for element in list(tree.iter("img", "figure", "figcaption", "caption")):
        if element.tag == "img":
            words = (element.get("alt") or "").strip()
            element.tag = "span"
            element.attrib.clear()
            element.text = f" [Image: {words}] " if words else None
        elif element.tag == "caption":
            table = element.getparent()
            if table is not None and table.tag == "table" and table.getparent() is not None:
                element.tag = "p"
                table.addprevious(element)
        else:
            element.tag = "div" if element.tag == "figure" else "p"


def _name_as_html(body: Any) -> None:
    """Give trafilatura's own elements the names they have in a page."""
    for element in body.iter("*"):
        rend = element.get("rend") or ""
        if element.tag == "head":
            element.tag = rend if rend in _HEADINGS else "h2"
        elif element.tag == "list":
            element.tag = rend if rend in ("ol", "dl") else "ul"
        elif element.tag == "item":
            element.tag = rend[:2] if rend[:2] in ("dt", "dd") else "li"
        elif element.tag == "code":
            element.tag = "pre" if "\n" in "".join(element.itertext()) else "code"
        elif element.tag in _HTML_NAMES:
            element.tag = _HTML_NAMES[element.tag]
