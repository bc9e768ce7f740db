"""The terms of one token and their places: its parts, and the parts joined."""

import operator
import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from kb.engine.text.stems import MAX_TERM, MAX_WORD, fold, term

_INVISIBLE = "\u00ad\u200b-\u200f\u2060\ufeff"  # soft hyphens, zero-width and direction marks
_JOINERS = r"._@&'\u2019\uff07\u2010\u2011\-"
# Han, kana, bopomofo, Thai, Lao, Myanmar, Khmer have no spaces between words. Hangul has, but its
# words carry their particles, so that pairs find what whole words miss.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3105-\u312f"
    "\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua9e0-\ua9ff\uaa60-\uaa7f\uac00-\ud7a3"
    "\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff"
)


def _marks() -> str:
    """Every combining mark, for a character class: `\\w` lacks them and would cut words there."""
    marks = [c for c in range(0x300, 0x1E960) if unicodedata.category(chr(c))[0] == "M"]
    gaps = [(a, b) for a, b in pairwise(marks) if b - a > 1]
    starts = [marks[0], *(b for _, b in gaps)]
    ends = [*(a for a, _ in gaps), marks[-1]]
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in zip(starts, ends, strict=True))


@cache
def _exact_token() -> re.Pattern[str]:
    """Made when first needed: it takes a look at every character, and start-up has no time."""
    wordlike = rf"\w{_marks()}"
    return re.compile(
        rf"[{wordlike}][{wordlike}{_INVISIBLE}{_JOINERS}]*(?<=[{wordlike}])(?:\+\+|#)?"
    )


_UNSPACED_RUN = re.compile(f"[{_UNSPACED}]+")
_SEPARATORS = re.compile(f"[{_JOINERS},+#]+")
_DOUBLED = re.compile(r"[.@&'-]{2}")
_ACRONYM = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_VERSION = re.compile(r"[vV]\d+\.")
_CLITIC = re.compile(r"['\u2019\uff07](?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_NEGATION = re.compile(r"n['\u2019\uff07]t$", re.IGNORECASE)
_ELISION = re.compile(r"(?:[cdjlmnst]|qu)['\u2019\uff07](?=\w)", re.IGNORECASE)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)
_COUNTED = re.compile(r"\d+s", re.IGNORECASE)
_PLAIN_WORDS = re.compile(r"[^\W\d_]+(?:['\u2019\uff07\u2010\u2011-][^\W\d_]+)+")
_SYLLABLE = re.compile(r"(?:^|[\W_])\w{1,2}(?:$|[\W_])")
_THOUSANDS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}")
_LONG_NUMBER = 8  # digits; shorter ones mean something else without their points and hyphens


class Piece(NamedTuple):
    """A term, and where in the token or text the characters stand that it was made of."""

    term: str
    start: int
    end: int


class Pieces(NamedTuple):
    """`parts` follow each other as in the text; `wholes` are other ways to find the same places.

    They are kept apart, so that words side by side in the text are side by side in the index.
    """

    parts: list[Piece]
    wholes: list[Piece]


def is_unspaced(text: str) -> bool:
    """Whether there is a character in it from a script that puts no spaces between words."""
    return not text.isascii() and _UNSPACED_RUN.search(text) is not None


def pieces_of(token: str) -> Pieces:
    pieces = Pieces([], [])
    for start, end, unspaced in _runs(token):
        found = (_unspaced if unspaced else _compound)(token[start:end], start)
        pieces.parts.extend(found.parts)
        pieces.wholes.extend(found.wholes)
    return pieces


def terms_of(token: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The terms of `pieces_of` without their places, half the cost of an unspaced script."""
    if token.isascii() and _is_plain(token):  # most are, and this is a fifth of the way round
        found = term(token)
        return ((found,) if found else ()), ()
    parts: list[str] = []
    wholes: list[str] = []
    for start, end, unspaced in _runs(token):
        if unspaced:
            pairs, singles = _pairs_and_singles(_fold_unspaced(token[start:end]))
            parts += pairs
            wholes += singles
        else:
            pieces = _compound(token[start:end], start)
            parts += [piece.term for piece in pieces.parts]
            wholes += [piece.term for piece in pieces.wholes]
    return tuple(parts), tuple(wholes)


def _runs(token: str) -> Iterator[tuple[int, int, bool]]:
    """The stretches of a token, each with whether its script is one without spaces."""
    if token.isascii():
        yield 0, len(token), False
        return
    for match in _exact_token().finditer(token):
        position, end = match.span()
        for run in _UNSPACED_RUN.finditer(token, position, end):
            if position < run.start():
                yield position, run.start(), False
            yield *run.span(), True
            position = run.end()
        if position < end:
            yield position, end, False


def _unspaced(run: str, offset: int) -> Pieces:
    folded = _fold_unspaced(run)
    pairs, singles = _pairs_and_singles(folded)
    if len(folded) != len(run):  # characters were put together: none has a place of its own
        end = offset + len(run)
        return Pieces(*([Piece(term, offset, end) for term in terms] for terms in (pairs, singles)))
    return Pieces(
        [Piece(term, at, at + len(term)) for at, term in enumerate(pairs, offset)],
        [Piece(term, at, at + 1) for at, term in enumerate(singles, offset)],
    )


def _pairs_and_singles(run: str) -> tuple[list[str], list[str]]:
    """Pairs of characters in their order, and the single characters. One alone has no pair."""
    pairs = list(map(operator.add, run, run[1:]))
    return (pairs, list(run)) if pairs else (list(run), [])


def _fold_unspaced(run: str) -> str:
    if len(run) <= MAX_WORD and unicodedata.is_normalized("NFKC", run):
        return run
    # In slices, since putting marks into their order takes quadratic time.
    slices = (run[i : i + MAX_WORD] for i in range(0, len(run), MAX_WORD))
    folded = "".join(unicodedata.normalize("NFKC", part) for part in slices)
    return "".join(folded.split())


def _compound(token: str, offset: int) -> Pieces:
    """Words held together by points, hyphens and the like: each of them, and the whole."""
    end = offset + len(token)
    if _NEGATION.search(token):
        return _word(_SEPARATORS.sub("", token), offset, end)
    if _ACRONYM.fullmatch(token):
        return _single(token.replace(".", ""), offset, end)
    if "," in token:  # thousands: 1,048,576 is one number, also with a fraction
        pieces = _compound(token.replace(",", ""), offset)
        return Pieces(*([Piece(piece.term, offset, end) for piece in kind] for kind in pieces))
    if "'" in token or not token.isascii():
        token = _CLITIC.sub("", token)
        if elided := _ELISION.match(token):
            token, offset = token[elided.end() :], offset + elided.end()
    if _VERSION.match(token):
        token, offset = token[1:], offset + 1
    pieces = Pieces([], [])
    position = words = 0
    for separator in [*_SEPARATORS.finditer(token), None]:
        stop = separator.start() if separator else len(token)
        if position < stop:
            words += 1
            found = _word(token[position:stop], offset + position, offset + stop)
            pieces.parts.extend(found.parts)
            pieces.wholes.extend(found.wholes)
        position = separator.end() if separator else stop
    whole = _whole(token, words)
    if whole and pieces.parts and whole != pieces.parts[-1].term:
        pieces.wholes.append(Piece(whole, offset, offset + len(token)))
    return pieces


def _whole(token: str, words: int) -> str | None:
    """A name or a number as one term, however it is held together.

    `KB-1042`, `kb_1042` and `KB1042` are one, and so are `retry_delay` and `retryDelay`. Short
    numbers keep what parts them: 2.14 is not 214. What was only typed together (`well...and`) has
    no whole, and neither have ordinary words with a hyphen (measured: worse), unless one of them
    is too short to be a word by itself, as in `e-mail`.
    """
    tail = len(token) - len(token.rstrip("+#"))
    if (words < 2 and not tail) or len(token) > MAX_WORD or _DOUBLED.search(token):
        return None
    if _PLAIN_WORDS.fullmatch(token) and (words > 2 or not _SYLLABLE.search(token)):
        return None
    joined = _SEPARATORS.sub("", token) + token[len(token) - tail :]
    if joined.isdecimal() and len(joined) < _LONG_NUMBER and not _THOUSANDS.fullmatch(token):
        return fold(token)[:MAX_TERM]
    return fold(joined)[:MAX_TERM] if tail else term(joined)


def _word(word: str, start: int, end: int) -> Pieces:
    """One word; with inner capitals or digits also its parts: `parseHTTP2` is `parse http 2`."""
    if _is_plain(word):
        return _single(word, start, end)
    if ordinal := _ORDINAL.fullmatch(word):
        number = _single(ordinal[1], start, start + len(ordinal[1]))
        return Pieces(number.parts, _single(word, start, end).parts)
    if _COUNTED.fullmatch(word):
        return _single(word, start, end)
    cuts = _inner_cuts(word) if len(word) <= MAX_TERM else []
    # A checksum or base64 changes its kind at every other character: its parts mean nothing.
    if not cuts or (len(cuts) > 3 and len(word) < 3 * (len(cuts) + 1)):
        return _single(word, start, end)
    parts = []
    for first, last in pairwise([0, *cuts, len(word)]):
        parts += _single(word[first:last], start + first, start + last).parts
    if any(unicodedata.category(character) == "No" for character in word):
        return Pieces(parts, [])  # 10² is no 102
    return Pieces(parts, _single(word, start, end).parts)


def _is_plain(word: str) -> bool:
    """Letters only, and no capitals within but in a word of capitals."""
    return word.isalpha() and (word.islower() or word[1:].islower() or word.isupper())


def _inner_cuts(word: str) -> list[int]:
    """Where a lower-case letter meets a capital, or a letter a digit."""
    cuts = []
    kinds = [_kind(character) for character in word]
    for i in range(1, len(word)):
        before, here = kinds[i - 1], kinds[i]
        if before == here == "upper":
            # The last capital belongs to what follows (HTTPServer), unless that is a plural (URLs).
            rest = kinds[i + 1 : i + 3]
            if rest[:1] == ["lower"] and (rest[1:] == ["lower"] or word[i + 1] != "s"):
                cuts.append(i)
        elif (
            here != before and "mark" not in (before, here) and (before, here) != ("upper", "lower")
        ):
            cuts.append(i)
    return cuts


def _kind(character: str) -> str:
    if character.isdecimal():
        return "digit"
    category = unicodedata.category(character)
    if category == "No":
        return "numeral"
    if category[0] != "L":
        return "mark"
    return "upper" if character.isupper() else "lower"


def _single(word: str, start: int, end: int) -> Pieces:
    found = term(word)
    if not found:
        return Pieces([], [])
    return Pieces([Piece(found, start, end)], [])
