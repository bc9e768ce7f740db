"""Parts of a page in, chunks out: each chunk takes as many parts as fit."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile

from kb.engine.ingest.split import MAX_CHARACTERS, Piece

_FULL_ENOUGH = 0.5  # a chunk filled to this share ends before the next heading or definition
_LITTLE = 0.25  # of a definition, this much of a chunk moves on with what follows
_ALWAYS_BREAKS = 2  # headings of this level and above start a chunk however full the last one is


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a block, with what a chunk that starts with it has to know."""

    piece: Piece
    path: tuple[str, ...]
    level: int = 0  # of the heading or definition that begins here
    leads: bool = False  # a heading or front matter: nothing without what follows
    header: str = ""
    header_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Packed:
    """A chunk to be: `text[start:end]`, its words from `first` to `last`."""

    start: int
    end: int
    first: int
    last: int
    path: tuple[str, ...]
    header: str


class Packer:
    """Fills one page's chunks. A heading stays with what it heads, a signature with its body."""

    def __init__(self, max_tokens: int) -> None:
        self._max = max_tokens
        self._open: list[Part] = []
        self._only_leads = True
        self._tokens = 0
        self._done: list[list[Part]] = []

    @property
    def closed(self) -> int:
        """How many chunks are full already."""
        return len(self._done)

    def add(self, part: Part) -> None:
        """Blank parts are left to `packed`, which gives them to the chunk before them."""
        if part.piece.is_blank:
            return
        if part.piece.torn or self._breaks_before(part):
            self._close()
        elif not self._fits(part):
            self._close(keeping=self._trailing_leads(part) or self._trailing_signature(part))
        if not self._open:
            self._tokens = part.header_tokens
        self._open.append(part)
        self._only_leads = self._only_leads and part.leads
        self._tokens += part.piece.tokens
        if part.piece.torn:
            self._close()

    def packed(self, length: int) -> Iterator[Packed]:
        """The chunks of a page of this many characters; together they are all of it."""
        self._close()
        starts = [0, *(parts[0].piece.start for parts in self._done[1:]), length]
        for parts, (start, end) in zip(self._done, pairwise(starts), strict=False):
            # Of the headings it opens with, the last is the one its text stands under.
            leads = list(takewhile(lambda part: part.leads, parts))
            about = leads[-1] if leads else parts[0]
            yield Packed(
                start, end, parts[0].piece.first, parts[-1].piece.last, about.path, parts[0].header
            )

    def _breaks_before(self, part: Part) -> bool:
        if not part.level or self._only_leads:
            return False
        if part.leads and part.level <= _ALWAYS_BREAKS:
            return True
        is_top = part.leads or part.level == 1
        return is_top and self._tokens >= self._max * _FULL_ENOUGH

    def _fits(self, part: Part) -> bool:
        if not self._open:
            return True
        characters = part.piece.last - self._open[0].piece.first
        return self._tokens + part.piece.tokens <= self._max and characters <= MAX_CHARACTERS

    def _trailing_leads(self, part: Part) -> list[Part]:
        """The headings right before a part, if they fit into a chunk with it."""
        if self._only_leads or not self._open[-1].leads:
            return []
        leads = list(takewhile(lambda earlier: earlier.leads, reversed(self._open)))[::-1]
        tokens = sum(lead.piece.tokens for lead in leads) + part.piece.tokens
        characters = part.piece.last - leads[0].piece.first
        return leads if tokens <= self._max and characters <= MAX_CHARACTERS else []

    def _trailing_signature(self, part: Part) -> list[Part]:
        """The beginning of the definition that a part goes on with, if it is little and fits."""
        rest = takewhile(lambda earlier: not earlier.level, reversed(self._open))
        at = len(self._open) - len(list(rest)) - 1
        if at < 1 or part.level or self._open[at].leads or self._open[at].path != part.path:
            return []
        begun = self._open[at:]
        tokens = sum(earlier.piece.tokens for earlier in begun)
        characters = part.piece.last - begun[0].piece.first
        fits = tokens + part.piece.tokens <= self._max and characters <= MAX_CHARACTERS
        return begun if fits and tokens <= self._max * _LITTLE else []

    def _close(self, keeping: list[Part] | None = None) -> None:
        kept = keeping or []
        closed = self._open[: len(self._open) - len(kept)]
        if closed:
            self._done.append(closed)
        self._open = kept
        self._only_leads = all(part.leads for part in kept)
        self._tokens = sum(part.piece.tokens for part in kept)
