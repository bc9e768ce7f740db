"""GNU Info, the manuals that Texinfo makes for a terminal, node by node."""

import re
from collections.abc import Iterator

from kb.engine.ingest.extract.about import line
from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.plain.text import read_text
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.passages.blocks import text_blocks
from kb.engine.pages import Page, Remark

_NODES = re.compile(r"\n?\x1f\f?\n")
_HEADER = re.compile(r"File: [^\n]*?Node: ([^,\n]+)[^\n]*\n")
# Where nodes are in the files of a manual, and how an editor is to show them.
_FOR_READERS = re.compile(r"(?:Tag Table:|Indirect:|End Tag Table|Local Variables:)")
_DIRECTORY = re.compile(r"^START-INFO-DIR-ENTRY$.*?^END-INFO-DIR-ENTRY$\n?", re.DOTALL | re.M)
_MARK = re.compile(r"\x00?\x08\[(?:index|image src=(\S+)[^\]]*)\x00?\x08\]")


def extract(source: Source) -> Extraction:
    text = _MARK.sub(lambda mark: f"[Image: {mark[1]}]" if mark[1] else "", read_text(source))
    opening, *nodes = _NODES.split(text)
    pages = [Page(_DIRECTORY.sub("", opening).strip("\n"), markup="text", lines_count=False)]
    left_out = 0
    for node in nodes:
        header = _HEADER.match(node)
        if header is None and _FOR_READERS.match(node):
            left_out += len(node.split())
            continue
        name = line(header[1]) if header else None
        body = node[header.end() :] if header else node
        pages.append(Page(body.strip("\n"), None, name, "text", lines_count=False))
    pages = [page for page in pages if page.text.strip()]
    if not pages:
        raise Refusals(source.filename).no_text()
    found = _from(pages, left_out, source.start)
    return Extraction("text", ending(source.filename), found, title=_title(pages))


def _from(pages: list[Page], left_out: int, start: int) -> Iterator[Page | Remark]:
    yield from pages[start:]
    yield Remark(words_left_out=left_out)


def _title(pages: list[Page]) -> str | None:
    """The first heading of the node that all others stand below."""
    top = (page.text for page in pages if page.location == "Top")
    blocks = (block for text in top for block in text_blocks(text))
    return next((block.title for block in blocks if block.kind == "heading"), None)
