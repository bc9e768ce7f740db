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
# Where nodes are in the files of a manual, and how an editor is to show them.
_FOR_READERS = re.compile(r"(?:Tag Table:|Indirect:|End Tag Table|Local Variables:)")
_DIRECTORY = ("START-INFO-DIR-ENTRY\n", "END-INFO-DIR-ENTRY")  # for the list of all manuals
_MOST_ENTRIES = 20
_LONGEST_NAME = 200  # characters, of a node
_MARK = re.compile(r"\x00?\x08\[(?:index|image (src=[^\x08]{0,20000}?))\x00?\x08\]")
_SAID = re.compile(r'(src|alt|text)=(?:"((?:[^"\\]|\\.)*+)"|(\S+))', re.DOTALL)


def extract(source: Source) -> Extraction:
    text = _MARK.sub(_picture, read_text(source))
    opening, *nodes = _NODES.split(text)
    pages = [Page(_without_entries(opening).strip("\n"), markup="text", lines_count=False)]
    left_out = 0
    for node in nodes:
        header, _, body = node.partition("\n")
        is_node = header.startswith("File: ")
        if not is_node and _FOR_READERS.match(node):
            left_out += len(node.split())
            continue
        named = line(header.partition("Node: ")[2].partition(",")[0][:_LONGEST_NAME])
        name, body = (named or None, body) if is_node else (None, node)
        pages.append(Page(body.strip("\n"), None, name, "text", lines_count=False))
    pages = [page for page in pages if page.text.strip()]
    if not pages:
        raise Refusals(source.filename).no_text()
    found = _from(pages, left_out, source.start)
    return Extraction("text", ending(source.filename), found, title=_title(pages))


def _picture(mark: re.Match[str]) -> str:
    """What a terminal shows of a picture, else what is said of it; nothing for an index entry."""
    if mark[1] is None:
        return ""
    said: dict[str, str] = {name: quoted or bare for name, quoted, bare in _SAID.findall(mark[1])}
    if said.get("text"):
        return said["text"].replace('\\"', '"').replace("\\\\", "\\")
    return f"[Image: {said.get('alt') or said.get('src', '')}]"


def _without_entries(opening: str) -> str:
    start, end = _DIRECTORY
    for _ in range(_MOST_ENTRIES):
        before, found, rest = opening.partition(start)
        _, ends, behind = rest.partition(end)
        if not found or not ends:
            break
        opening = before + behind.removeprefix("\n")
    return opening


def _from(pages: list[Page], left_out: int, start: int) -> Iterator[Page | Remark]:
    yield from pages[start:]
    yield Remark(words_left_out=left_out)


def _title(pages: list[Page]) -> str | None:
    """The first heading of the node that all others stand below."""
    top = (page.text for page in pages if page.location == "Top")
    blocks = (block for text in top for block in text_blocks(text))
    return next((block.title for block in blocks if block.kind == "heading"), None)
