"""Cuts pages into chunks at headings, blank lines and sentences, and only then inside a sentence.
Nothing is dropped or changed: the chunks of a page, joined, are the page, so a passage can be cited
as it is. White space around the words is kept and does not count."""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from kb.engine.errors import TextTooLong
from kb.engine.ingest.passages.blocks import Block, markdown_blocks, plain_blocks, text_blocks
from kb.engine.ingest.passages.code_blocks import code_blocks
from kb.engine.ingest.passages.marked_blocks import marked_blocks
from kb.engine.ingest.passages.pack import Packed, Packer, Part
from kb.engine.ingest.passages.split import BLOCKS, LINES, PROSE, Cuts, Splitter
from kb.engine.pages import Grid, Page
from kb.engine.values import Chunk

# Full chunks of the longest text are fewer, whatever its script. More are made only by a text of
# tiny sections, and each costs an embedding and memory.
MOST_CHUNKS = 100_000
CHUNK_TOKENS = 200
HEADING_TOKENS = 50  # of title and heading path, before the text that is embedded
_HEADER_CHARACTERS = 300

CountTokens = Callable[[str], int]

_LEADS = ("heading", "front_matter")
_READERS: dict[str, Callable[[str], Iterator[Block]]] = {
    "plain": plain_blocks,
    "text": text_blocks,
    "markdown": markdown_blocks,
    "code": code_blocks,
    **{each: partial(marked_blocks, language=each) for each in ("asciidoc", "org", "mediawiki")},
}


def chunk(
    pages: Iterable[Page], count_tokens: CountTokens, max_tokens: int = CHUNK_TOKENS
) -> list[Chunk]:
    """Cut pages into chunks of at most `max_tokens` and 2,000 characters; none crosses a page.
    `count_tokens` must add up over words parted by white space or punctuation. A heading path goes
    on from one page to the next. Raises TextTooLong for more than `MOST_CHUNKS`."""
    chunks: list[Chunk] = []
    headings = _Headings()
    for page in pages:
        packer = Packer(max_tokens)
        for part in _PageReader(page, headings, count_tokens, max_tokens).parts():
            packer.add(part)
            if len(chunks) + packer.closed > MOST_CHUNKS:
                raise TextTooLong(
                    f"The text has more than {MOST_CHUNKS:,} passages: split it and add the parts",
                    most_chunks=MOST_CHUNKS,
                )
        places = _Places(page)
        for packed in packer.packed(len(page.text)):
            chunks.append(
                Chunk(
                    text=page.text[packed.start : packed.end],
                    seq=len(chunks),
                    page=page.number,
                    location=places.location(packed),
                    start=packed.start,
                    headings=packed.path,
                    table_header=packed.header,
                )
            )
    return chunks


def embedding_text(title: str, chunk: Chunk, count_tokens: CountTokens) -> str:
    """Where the passage stands, the header of its table, its text. Of a long path the innermost
    headings are kept, since they say most about the passage."""
    path = _path("" if _starts_with(chunk.text, title) else title, chunk)
    kept: list[str] = []
    room = HEADING_TOKENS
    for heading in reversed(path):
        fitting = _first_tokens(heading, count_tokens, room)
        room -= count_tokens(f"{fitting} |") if fitting else room
        if fitting:
            kept.insert(0, fitting)
        if room <= 0:
            break
    return "\n".join(filter(None, [" | ".join(kept), chunk.table_header, chunk.text.strip()]))


def _path(title: str, chunk: Chunk) -> list[str]:
    """The title is often the first heading as well; once is enough."""
    path = [" ".join(heading.split()) for heading in (title, *chunk.headings)]
    return [heading for i, heading in enumerate(path) if heading and heading not in path[:i]]


def _starts_with(text: str, title: str) -> bool:
    """Whether the text opens with the title, as a note does that was named after its first line."""
    opening = " ".join(text[: 4 * len(title) + 100].split()).lstrip("#").lstrip()
    return bool(title) and opening.startswith(" ".join(title.split()).rstrip("…").rstrip())


def _first_tokens(text: str, count_tokens: CountTokens, room: int) -> str:
    """As many words from the start as there is room for."""
    if count_tokens(text) <= room:
        return text
    words: list[str] = []
    for word in text.split():
        room -= count_tokens(word)
        if room < 0:
            break
        words.append(word)
    return " ".join(words)


class _Headings:
    """The heading path at the place that has been read."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def begin(self, titles: tuple[str, ...]) -> None:
        self._open = list(enumerate(titles, start=1))

    @property
    def path(self) -> tuple[str, ...]:
        return tuple(title for _, title in self._open if title)

    def enter(self, level: int, title: str) -> None:
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        self._open.append((level, title))


class _Places:
    """Where in the page a chunk stands, for people: by lines, unless the page knows better."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._counted = 0  # offset up to which newlines are counted: each is counted once
        self._line = 1

    def location(self, packed: Packed) -> str | None:
        page = self._page
        if page.grid is not None:
            return self._cells(page.grid, packed)
        if page.location is not None:
            return page.location
        if page.number is not None:
            return f"page {page.number}"
        if not page.lines_count:
            named = self._named(packed)
            return named or (f"section {packed.path[-1]}" if packed.path else None)
        first, last = self._lines(packed)
        return f"line {first}" if first == last else f"lines {first}–{last}"

    def _named(self, packed: Packed) -> str:
        """What the page itself calls the place; of headings in a row, that of the innermost."""
        text, places = self._page.text, self._page.places
        at = bisect_right(places, packed.first, key=lambda place: place[0]) - 1
        if at < 0:
            return ""
        while places[at][0] >= packed.first and at + 1 < len(places):
            behind = text.find("\n", places[at][0])
            if behind < 0 or text[behind : places[at + 1][0]].strip():
                break
            at += 1
        return places[at][1]

    def _cells(self, grid: Grid, packed: Packed) -> str:
        """As a spreadsheet writes it, `Budget!A2:F41`, or by the rows alone."""
        first, last = (grid.rows[min(line, len(grid.rows)) - 1] for line in self._lines(packed))
        if grid.columns is None:
            return f"row {first}" if first == last else f"rows {first}–{last}"
        left, right = grid.columns
        return f"{self._page.location}!{left}{first}:{right}{last}"

    def _lines(self, packed: Packed) -> tuple[int, int]:
        first = self._line_at(packed.first)
        return first, self._line_at(max(packed.first, packed.last - 1))

    def _line_at(self, offset: int) -> int:
        self._line += self._page.text.count("\n", self._counted, offset)
        self._counted = offset
        return self._line


class _PageReader:
    """One page in, the parts of its blocks out."""

    def __init__(
        self, page: Page, headings: _Headings, count_tokens: CountTokens, max_tokens: int
    ) -> None:
        self._page = page
        self._headings = headings
        self._count = count_tokens
        self._max = max_tokens
        self._splitter = Splitter(page.text, count_tokens)
        closed = len(page.headings) - page.open_headings
        self._above = page.headings[:closed]
        if page.open_headings:
            headings.begin(page.headings[closed:])

    def parts(self) -> Iterator[Part]:
        above = 0  # tokens of the headings right above, which share a chunk with the block
        for block in _READERS[self._page.markup](self._page.text):
            if block.kind == "heading":
                self._headings.enter(block.level, block.title)
            limit = max(self._max - above, self._max // 2, 1)
            if block.kind not in _LEADS:
                above = 0
            for part in self._block_parts(block, limit):
                above += part.piece.tokens if part.leads else 0
                yield part

    def _block_parts(self, block: Block, limit: int) -> Iterator[Part]:
        inner = block.path if self._page.markup == "code" else self._headings.path
        path = (*self._above, *inner)
        leads = block.kind in _LEADS
        level, header, header_tokens = block.level, "", 0
        for piece in self._splitter.pieces(block.start, block.end, limit, self._cuts(block)):
            yield Part(piece, path, level, leads, header, header_tokens)
            level = 0
            if block.kind == "table" and not header:
                header = self._header(block)
                header_tokens = self._count(header)

    def _cuts(self, block: Block) -> tuple[Cuts, ...]:
        if block.kind == "table":
            return LINES
        return BLOCKS if block.kind == "fence" or self._page.markup == "code" else PROSE

    def _header(self, block: Block) -> str:
        """The table's first row, or the start of it if it would take too much of each chunk."""
        first = self._page.text[block.start : block.end].lstrip()[:_HEADER_CHARACTERS]
        return _first_tokens(first.partition("\n")[0].strip(), self._count, self._max // 4)
