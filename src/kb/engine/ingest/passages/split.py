"""Splits text that is too long between sentences, then lines, then words. White space stays with
the piece before it. The cost is linear: a piece is counted once for each kind of cut that was
needed, and one with too many characters not at all."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import NamedTuple

MAX_CHARACTERS = 2_000  # however few tokens: a megabyte of base64 may be a single unknown word

_SENTENCE_END = re.compile(r"(?<=[.!?…])[\"'”’)\]]*\s+|(?<=[。！？｡])[」』”’）]*\s*|\n")
_LINE_END = re.compile(r"\n")
_BLANK_LINES = re.compile(r"\n[ \t]*\n\s*")
_WORD_END = re.compile(r"\s+|[,;，、；：]\s*")
_MAX_MARKS = 16
_GRAIN = 60  # characters

Cuts = Callable[[str, int, int], Iterator[int]]


class Piece(NamedTuple):
    """`text[start:end]`, whose words stand from `first` to `last`; `torn` if cut inside a word,
    over whose halves counts of tokens do not add up."""

    start: int
    end: int
    first: int
    last: int
    tokens: int
    torn: bool = False

    @property
    def is_blank(self) -> bool:
        return self.first == self.last


def sentence_cuts(text: str, start: int, end: int) -> Iterator[int]:
    """Ends of sentences; a line that goes on in lower case is a wrapped one."""
    for match in _SENTENCE_END.finditer(text, start, end):
        wrapped = match[0] == "\n" and text[match.end() : match.end() + 1].islower()
        if not wrapped:
            yield match.end()


def line_cuts(text: str, start: int, end: int) -> Iterator[int]:
    return (match.end() for match in _LINE_END.finditer(text, start, end))


def blank_line_cuts(text: str, start: int, end: int) -> Iterator[int]:
    return (match.end() for match in _BLANK_LINES.finditer(text, start, end))


def word_cuts(text: str, start: int, end: int) -> Iterator[int]:
    return (match.end() for match in _WORD_END.finditer(text, start, end))


# Words come twice: first some at a time, then, where even that is too much, each alone.
PROSE: tuple[Cuts, ...] = (sentence_cuts, line_cuts, word_cuts, word_cuts)
LINES: tuple[Cuts, ...] = (line_cuts, word_cuts, word_cuts)
BLOCKS: tuple[Cuts, ...] = (blank_line_cuts, *LINES)


def _grains(start: int, cuts: Iterable[int]) -> Iterator[int]:
    """Only cuts that are far enough apart: counting each two-word line costs more than it packs."""
    held = start
    for cut in cuts:
        if cut - start > _GRAIN and held > start:
            yield held
            start = held
        if cut - start > _GRAIN:
            yield cut
            start = cut
        held = cut
    yield held


class Splitter:
    """Cuts one text into pieces that fit."""

    def __init__(self, text: str, count_tokens: Callable[[str], int]) -> None:
        self._text = text
        self._count = count_tokens

    def pieces(
        self, start: int, end: int, max_tokens: int, kinds: tuple[Cuts, ...]
    ) -> Iterator[Piece]:
        """The stretch whole if it fits, else cut by the first kind of cut that is left."""
        stretch = self._text[start:end]
        first = start + len(stretch) - len(stretch.lstrip())
        words = stretch.strip()
        if len(words) <= MAX_CHARACTERS:
            tokens = self._count(words) if words else 0
            if tokens <= max_tokens:
                yield Piece(start, end, first, first + len(words), tokens)
                return
        if not kinds:
            yield from self._torn(Piece(start, end, first, first + len(words), 0), max_tokens)
            return
        cuts = chain(kinds[0](self._text, start, end), [end])
        for cut in _grains(start, cuts) if kinds[1:] else cuts:
            if start < cut:
                yield from self.pieces(start, cut, max_tokens, kinds[1:])
                start = cut

    def _torn(self, word: Piece, max_tokens: int) -> Iterator[Piece]:
        """A word that is longer than a chunk. Twice the length that fitted last is tried first."""
        length = longest = min(MAX_CHARACTERS, 4 * max_tokens)
        start = word.first
        while start < word.last:
            cut = min(start + length, word.last)
            tokens = self._count(self._text[start:cut])
            if tokens > max_tokens and length > 1:
                length //= 2
                continue
            if cut < word.last:
                cut = self._before_marks(start, cut)
            yield Piece(start, cut, start, cut, tokens, torn=True)
            start, length = cut, min(2 * length, longest)

    def _before_marks(self, start: int, cut: int) -> int:
        """Not between a letter and its accents, unless there is a heap of them."""
        for back in range(cut, max(start, cut - _MAX_MARKS), -1):
            if not unicodedata.combining(self._text[back]):
                return back
        return cut
