"""Packs the parts of a page into chunks, as many as fit into each."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise, takewhile

from kb.engine.ingest.passages.split import MAX_CHARACTERS, Piece

_FULL_ENOUGH = 0.5  # a chunk filled to this share ends before the next definition
# And to this share before the next heading: what stands under a heading is found by it, and the
# passage says where it is from.
_FULL_FOR_A_SECTION = 0.35
_LITTLE = 0.25  # of a definition, this much of a chunk moves on with what follows
_BEGUN = 0.7  # of a section, this much of a chunk moves on with what follows,
_LEFT = 0.2  # if so much stays behind
_SCRAP = 0.1  # of a chunk, before its first heading, is not what it is about
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
        elif self._ends_section(part):
            self._give_back()
        elif not self._fits(part):
            self._close(
                keeping=self._trailing_leads(part)
                or self._trailing_signature(part)
                or self._trailing_section(part)
            )
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
            path = self._about(parts).path
            yield Packed(
                start, end, parts[0].piece.first, parts[-1].piece.last, path, parts[0].header
            )

    def _about(self, parts: list[Part]) -> Part:
        """The part whose headings stand above a chunk: of those it opens with, the last. A line or
        two before them, as a running head or the end of a section, do not count."""
        opening = list(takewhile(lambda part: not part.leads, parts))
        rest = parts[len(opening) :]
        if not rest or _tokens(opening) > self._max * _SCRAP:
            return parts[0]
        return list(takewhile(lambda part: part.leads, rest))[-1]

    def _breaks_before(self, part: Part) -> bool:
        if not part.level or self._only_leads:
            return False
        if part.leads and part.level <= _ALWAYS_BREAKS:
            return True
        if part.leads:
            return self._tokens >= self._max * _FULL_FOR_A_SECTION
        return part.level == 1 and self._tokens >= self._max * _FULL_ENOUGH

    def _ends_section(self, part: Part) -> bool:
        """Whether a heading ends the section that the chunk begins with, and the one around it."""
        return part.leads and not self._only_leads and 0 < part.level < self._open[0].level

    def _fits(self, part: Part) -> bool:
        if not self._open:
            return True
        characters = part.piece.last - self._open[0].piece.first
        return self._tokens + part.piece.tokens <= self._max and characters <= MAX_CHARACTERS

    def _trailing_leads(self, part: Part) -> list[Part]:
        """The headings right before a part, if they fit into a chunk with it."""
        if self._only_leads or not self._open[-1].leads:
            return []
        leads = _last_leads(self._open)
        return leads if self._fit(leads, part) else []

    def _trailing_signature(self, part: Part) -> list[Part]:
        """The beginning of the definition that a part goes on with, if it is little and fits."""
        rest = takewhile(lambda earlier: not earlier.level, reversed(self._open))
        at = len(self._open) - len(list(rest)) - 1
        if at < 1 or part.level or self._open[at].leads or self._open[at].path != part.path:
            return []
        begun = self._open[at:]
        is_little = _tokens(begun) <= self._max * _LITTLE
        return begun if is_little and self._fit(begun, part) else []

    def _trailing_section(self, part: Part) -> list[Part]:
        """The beginning of the section that a part goes on with, if both fit into a chunk."""
        rest = list(takewhile(lambda earlier: not earlier.leads, reversed(self._open)))[::-1]
        leads = _last_leads(self._open[: len(self._open) - len(rest)])
        begun = [*leads, *rest]
        if not rest or not leads or part.leads or len(begun) == len(self._open):
            return []
        tokens = _tokens(begun)
        is_enough_left = self._tokens - tokens >= self._max * _LEFT
        may_move = is_enough_left and tokens <= self._max * _BEGUN
        return begun if may_move and self._fit(begun, part) else []

    def _give_back(self) -> None:
        """The little there is goes to the chunk before of the same section, if it fits."""
        before = self._done[-1] if self._done else []
        characters = self._open[-1].piece.last - before[0].piece.first if before else 0
        tokens = before[0].header_tokens + _tokens(before) + _tokens(self._open) if before else 0
        fits = tokens <= self._max and characters <= MAX_CHARACTERS
        if before and not before[-1].piece.torn and fits:
            before += self._open
            self._open = []
        self._close()

    def _fit(self, begun: list[Part], part: Part) -> bool:
        """Whether a part fits into a chunk that begins with these."""
        characters = part.piece.last - begun[0].piece.first
        return _tokens(begun) + part.piece.tokens <= self._max and characters <= MAX_CHARACTERS

    def _close(self, keeping: list[Part] | None = None) -> None:
        kept = keeping or []
        closed = self._open[: len(self._open) - len(kept)]
        if closed:
            self._done.append(closed)
        self._open = kept
        self._only_leads = all(part.leads for part in kept)
        self._tokens = _tokens(kept)


def _tokens(parts: list[Part]) -> int:
    return sum(part.piece.tokens for part in parts)


def _last_leads(parts: list[Part]) -> list[Part]:
    """The headings that these parts end with."""
    return list(takewhile(lambda part: part.leads, reversed(parts)))[::-1]
