"""Splits text into index terms, in the same way for passages and for queries.

A term is a folded, stemmed word. Scripts without spaces give character pairs and single characters
instead. Names and numbers can be found whole and in parts: `KB-1042` gives `kb`, `1042` and
`kb1042`. The parts keep the order of the text and all wholes follow at its end, so that words that
are adjacent in a text are adjacent in the index.

Any change of what comes out, or of what goes in (as `store/rows/search_names.py` does), must raise
`TERMS_VERSION`: an index is only as good as its agreement with the queries. An index of another
version is rebuilt in the background.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import chain, pairwise

from kb.engine.text.stems import MAX_TERM, term
from kb.engine.text.stopwords import STOP_WORDS
from kb.engine.text.token_terms import Piece, Pieces, is_unspaced, pieces_of, terms_of

TERMS_VERSION: int = 4

MAX_QUERY_TERMS = 32
MAX_QUERY_PAIRS = 64  # a query that repeats its words in ever new order has hundreds
_LEAST_LETTERS = 3  # of each of two words that may be written as one
_CACHE_SIZE = 32_768  # tokens; about 8 MB when full

# Tokens are found in two steps, because the exact classes of Unicode are slow to test and most
# tokens come again: here by ASCII alone, where anything beyond it counts as a letter; in words.py
# exactly, once per token, since the outcome is cached. A token ends with a letter, but for `C++`
# and `C#`.
_LETTER = r"[^\x00-/:-@\[-^`{-\x7f]"
_LETTER_OR_JOINER = r"[^\x00-%(-,/:-?\[-^`{-\x7f]"
# A comma belongs to a number where it parts thousands.
_NUMBER = rf"(?<![0-9],)[0-9]{{1,3}}(?:,[0-9]{{3}})+(?:\.[0-9]+)?(?!,?{_LETTER})"
_TOKEN = re.compile(
    rf"{_NUMBER}|{_LETTER}{_LETTER_OR_JOINER}*(?<={_LETTER})(?:\+\+|#(?!{_LETTER}))?"
)

# What holds the parts of a word together, and what is not ASCII.
_JOINED = re.compile("[._@&',-]+(?=[0-9A-Za-z_])")
_WITHOUT_JOINERS = str.maketrans("", "", "._@&',-")
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


class _Cache(dict[str, tuple[tuple[str, ...], tuple[str, ...]]]):
    """Token to parts and wholes, for tokens seen lately. When full it starts anew: simple."""

    def __missing__(self, token: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        found = terms_of(token)
        # Runs of an unspaced script are sentences: they never come again.
        if len(token) <= MAX_TERM and not is_unspaced(token):
            if len(self) >= _CACHE_SIZE:
                self.clear()
            self[token] = found
        return found


_cache = _Cache()


def terms(text: str) -> list[str]:
    """The index terms of a text: parts in order, then wholes in order."""
    found = list(map(_cache.__getitem__, _TOKEN.findall(text)))
    parts = chain.from_iterable([token[0] for token in found])
    return [*parts, *chain.from_iterable([token[1] for token in found if token[1]])]


def phrases(text: str) -> list[list[str]]:
    """The terms that stand side by side wherever the text does: in any of these ways.

    A name is found however it is held together (`e-mail`, *email*), but `C++` not where *C* is.
    """
    found = [_cache[token] for token in _TOKEN.findall(text)]
    in_order = list(chain.from_iterable(parts for parts, _ in found))
    if not in_order:
        return []
    wholes = found[0][1] if len(found) == 1 and not is_unspaced(text) else ()
    if not wholes:
        return [in_order]
    whole = [wholes[-1]]
    return [whole] if len(in_order) == 1 else [whole, in_order]


class Places:
    """Where any of the wanted terms stands in a text. Made once for all the hits of a query.

    A stem differs from the beginning of its word in the last two letters at most, and in an e after
    a, o or u (`poetry` is `potri`). So only words with a part that begins so need to be read, and
    those that are more than ASCII letters and digits: `U.S.A.` is `usa`.
    """

    def __init__(self, wanted: Iterable[str]) -> None:
        self._wanted = frozenset(wanted)
        self._known: dict[str, list[tuple[int, int]]] = {}
        beginnings = {term[: max(1, len(term) - 2)] for term in self._wanted}
        self._beginnings = beginnings | {
            f"{beginning[:place]}e{beginning[place:]}"
            for beginning in beginnings
            for place in range(1, len(beginning))
            if beginning[place - 1] in "aou"
        }

    def within(self, text: str) -> list[tuple[int, int]]:
        return [
            (at + start, at + end)
            for at, stop in self._stretches(text)
            for start, end in self._within_word(text[at:stop])
        ]

    def _within_word(self, word: str) -> list[tuple[int, int]]:
        """Hits repeat their words: each is read once."""
        known = self._known.get(word)
        if known is None:
            known = self._known[word] = [] if self._lacks_all(word) else self._read(word)
        return known

    def _lacks_all(self, word: str) -> bool:
        """Whether no beginning stands in it, as it is or without what holds its parts together."""
        lower = word.lower()
        bare = lower.translate(_WITHOUT_JOINERS)
        return word.isascii() and not any(b in bare or b in lower for b in self._beginnings)

    def _read(self, word: str) -> list[tuple[int, int]]:
        return [
            (piece.start, piece.end)
            for match in _TOKEN.finditer(word)
            if not all(map(self._wanted.isdisjoint, _cache[match[0]]))
            for piece in chain(*_token_pieces(match[0], match.start()))
            if piece.term in self._wanted
        ]

    def _stretches(self, text: str) -> Iterator[tuple[int, int]]:
        """The parts of the text to be read, in order: whole words, as white space parts them."""
        lower = text.lower()
        if len(lower) != len(text):  # as with a capital dotted I, and then places differ
            yield 0, len(text)
            return
        places = [match.start() for match in _JOINED.finditer(text)]
        if not text.isascii():
            places += [match.start() for match in _BEYOND_ASCII.finditer(text)]
        for beginning in self._beginnings:
            at = lower.find(beginning)
            while at >= 0:
                # Within letters a part begins with a capital or a digit.
                if not lower[at - 1 : at].isalpha() or not text[at].islower():
                    places.append(at)
                at = lower.find(beginning, at + 1)
        spaced = text.replace("\n", " ")
        end = 0
        for place in sorted(places):
            if place >= end:
                start = spaced.rfind(" ", end, place) + 1 or end
                end = spaced.find(" ", place)
                if end < 0:
                    end = len(text)
                yield start, end


def query_terms(text: str) -> list[str]:
    """The terms to ask the index for: no stop words unless there is nothing else, each once."""
    found = dict.fromkeys(
        piece.term for token in _query_tokens(text) for piece in chain(*token) if piece is not None
    )
    return list(found)[:MAX_QUERY_TERMS]


def adjacent_pairs(query: str) -> list[tuple[str, str]]:
    """The pairs of query terms that stand side by side in the index wherever the query's words do.

    A name's own parts are a pair (`KB 1042` is written for `KB-1042`). Two words with a stop word
    between them are not (measured: no better). Unspaced scripts have none, as their terms are pairs
    already.
    """
    known = set(query_terms(query))
    parts = chain.from_iterable(parts for parts, _ in _query_tokens(query))
    pairs = (
        (first.term, second.term)
        for first, second in pairwise(parts)
        if first and second and {first.term, second.term} <= known
        if not is_unspaced(first.term + second.term)
    )
    return list(dict.fromkeys(pairs))[:MAX_QUERY_PAIRS]


def written_together(query: str) -> dict[tuple[str, str], str]:
    """The pairs of a query, each with the term of its two words as one: `run time` is `runtime`.

    Names are often written so where people ask in words, `BESTBUY_2023.pdf` and `timezone` alike.
    Words of one or two letters make other words by chance.
    """
    pairs, known = set(adjacent_pairs(query)), query_terms(query)
    pieces = chain.from_iterable(parts for parts, _ in _query_tokens(query))
    found: dict[tuple[str, str], str] = {}
    for first, second in pairwise(pieces):
        if first is None or second is None or (first.term, second.term) not in pairs:
            continue
        one, other = query[first.start : first.end], query[second.start : second.end]
        if min(len(one), len(other)) >= _LEAST_LETTERS and (one + other).isalpha():
            whole = term(one + other)
            if whole and whole not in known:
                found[first.term, second.term] = whole
    return found


def runs(text: str) -> list[list[str]]:
    """The terms that stand side by side wherever the text does, in stretches between stop words."""
    found: list[list[str]] = [[]]
    for piece in chain.from_iterable(parts for parts, _ in _query_tokens(text)):
        if piece is None:
            found.append([])
        else:
            found[-1].append(piece.term)
    return [run for run in found if run]


@lru_cache(maxsize=64)  # a query is asked about several times while it is answered
def _query_tokens(text: str) -> list[tuple[list[Piece | None], list[Piece | None]]]:
    """The parts and wholes of each token of a query, with None where a stop word stood."""
    shouting = text.upper() == text
    found = [_token_pieces(match[0], match.start()) for match in _TOKEN.finditer(text)]

    def kept(pieces: list[Piece]) -> list[Piece | None]:
        return [None if _is_stop(text[p.start : p.end], shouting) else p for p in pieces]

    tokens = [(kept(pieces.parts), kept(pieces.wholes)) for pieces in found]
    if any(any(parts) for parts, _ in tokens):
        return tokens
    return [(list(pieces.parts), list(pieces.wholes)) for pieces in found]


def _is_stop(surface: str, shouting: bool) -> bool:
    """`who` is a stop word; `WHO` in a query that is not all capitals is an organisation."""
    word = surface.casefold().replace("\u2019", "'")
    if word not in STOP_WORDS:
        return False
    is_name = len(surface) > 1 and surface.isupper() and word not in ("and", "or", "not")
    return shouting or not is_name


def _token_pieces(token: str, offset: int) -> Pieces:
    """A token's terms and where they stand; most tokens are one word and one term."""
    parts, wholes = _cache[token]
    if not parts:
        return Pieces([], [])
    if len(parts) == 1 and not wholes and token.isalnum():
        return Pieces([Piece(parts[0], offset, offset + len(token))], [])
    return Pieces(
        *(
            [Piece(p.term, offset + p.start, offset + p.end) for p in kind]
            for kind in pieces_of(token)
        )
    )
