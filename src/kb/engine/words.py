"""One token in, its terms and their places out: parts, folding, stems."""

import operator
import re
import threading
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import chain, pairwise
from typing import NamedTuple, cast

import Stemmer

MAX_TERM = 64
_MAX_COMPOUND = 256  # a longer token is a blob, not a name: it gives parts but no whole

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
_SEPARATORS = re.compile(f"[{_JOINERS}+#]+")
_WHOLE = re.compile(r"[._@&\d+#]")
_DOUBLED = re.compile(r"[.@&'-]{2}")
_ACRONYM = re.compile(r"[^\W\d_](?:\.[^\W\d_])+")
_VERSION = re.compile(r"[vV]\d+\.")
_CLITIC = re.compile(r"['\u2019\uff07](?:s|re|ve|ll|d|m)$", re.IGNORECASE)
_NEGATION = re.compile(r"n['\u2019\uff07]t$", re.IGNORECASE)
_ELISION = re.compile(r"(?:[cdjlmnst]|qu)['\u2019\uff07](?=\w)", re.IGNORECASE)
_ORDINAL = re.compile(r"(\d+)(?:st|nd|rd|th)", re.IGNORECASE)
_COUNTED = re.compile(r"\d+s", re.IGNORECASE)
_VOWEL = re.compile("[aeiouy]")
_CYRILLIC = re.compile("[\u0400-\u052f]")

_UNSEEN = [0xAD, 0x2060, 0xFEFF, 0x2BC, *range(0x200B, 0x2010), *range(0xFE00, 0xFE10)]
# A name is the same name with the hyphens and apostrophes that word processors put in.
_SPELLING = dict.fromkeys(_UNSEEN) | {0x2010: "-", 0x2011: "-", 0x2019: "'", 0xFF07: "'"}
# Letters that Unicode does not take apart into a base and an accent, but readers do.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
    | {"\u0640": None}  # the Arabic stretcher
)
# й and ї are letters of their own; only ё is written without its dots as often as with them.
_CYRILLIC_LETTERS = str.maketrans({"ё": "е", "\u0300": None, "\u0301": None})


class Piece(NamedTuple):
    """A term, and where in the token or text the characters stand that it was made of."""

    term: str
    start: int
    end: int


class _Stemmers(threading.local):
    """A Snowball stemmer must not be used by two threads at once; each thread has its own."""

    def __init__(self) -> None:
        # Our own cache is in front, and holds whole tokens: theirs would only cost memory.
        self.english = Stemmer.Stemmer("english", 0)
        self.russian = Stemmer.Stemmer("russian", 0)


_stemmers = _Stemmers()


def is_unspaced(text: str) -> bool:
    """Whether there is a character in it from a script that puts no spaces between words."""
    return not text.isascii() and _UNSPACED_RUN.search(text) is not None


def pieces_of(token: str) -> list[Piece]:
    """The terms of one token, with their places in it."""
    pieces: list[Piece] = []
    for start, end, unspaced in _runs(token):
        pieces += (_unspaced if unspaced else _compound)(token[start:end], start)
    return pieces


def terms_of(token: str) -> list[str]:
    """The same terms without their places, which are half the cost of an unspaced script."""
    terms: list[str] = []
    for start, end, unspaced in _runs(token):
        if unspaced:
            terms += _pairs_and_singles(_fold_unspaced(token[start:end]))
        else:
            terms += [piece.term for piece in _compound(token[start:end], start)]
    return terms


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


def _unspaced(run: str, offset: int) -> list[Piece]:
    folded = _fold_unspaced(run)
    terms = _pairs_and_singles(folded)
    if len(folded) != len(run):  # characters were put together: none has a place of its own
        return [Piece(term, offset, offset + len(run)) for term in terms]
    starts = chain(range(offset, offset + len(run) - 1), range(offset, offset + len(run)))
    return [Piece(term, at, at + len(term)) for term, at in zip(terms, starts, strict=True)]


def _pairs_and_singles(run: str) -> list[str]:
    """Pairs of characters, then the single characters: neighbouring pairs stay neighbours."""
    return [*map(operator.add, run, run[1:]), *run]


def _fold_unspaced(run: str) -> str:
    if len(run) <= _MAX_COMPOUND and unicodedata.is_normalized("NFKC", run):
        return run
    # In slices, since putting marks into their order takes quadratic time.
    slices = (run[i : i + _MAX_COMPOUND] for i in range(0, len(run), _MAX_COMPOUND))
    folded = "".join(unicodedata.normalize("NFKC", part) for part in slices)
    return "".join(folded.split())


def _compound(token: str, offset: int) -> list[Piece]:
    """Words held together by points, hyphens and the like: each of them, and the whole of a name.

    Ordinary words with a hyphen are only their parts: as a whole they would lengthen the passage
    and stand between words that belong together.
    """
    if _NEGATION.search(token):
        return _word(_SEPARATORS.sub("", token), offset, len(token))
    if _ACRONYM.fullmatch(token):
        return _single(token.replace(".", ""), offset, offset + len(token))
    if "'" in token or not token.isascii():
        token = _CLITIC.sub("", token)
        if elided := _ELISION.match(token):
            token, offset = token[elided.end() :], offset + elided.end()
    if _VERSION.match(token):
        token, offset = token[1:], offset + 1
    pieces: list[Piece] = []
    position = words = 0
    for separator in chain(_SEPARATORS.finditer(token), [None]):
        end = separator.start() if separator else len(token)
        if position < end:
            words += 1
            pieces += _word(token[position:end], offset + position, end - position)
        position = separator.end() if separator else end
    tail = token[-1:] in ("+", "#")
    if (words > 1 or tail) and len(token) <= _MAX_COMPOUND and _is_name(token):
        whole = _fold(token.strip("_"))[:MAX_TERM]
        if pieces and whole != pieces[-1].term:
            pieces.append(Piece(whole, offset, offset + len(token)))
    return pieces


def _is_name(token: str) -> bool:
    return bool(_WHOLE.search(token)) and not _DOUBLED.search(token)


def _word(word: str, offset: int, length: int) -> list[Piece]:
    """One word; with inner capitals or digits also its parts: `parseHTTP2` is `parse http 2`."""
    end = offset + length
    if word.isalpha() and (word.islower() or word[1:].islower() or word.isupper()):
        return _single(word, offset, end)
    if ordinal := _ORDINAL.fullmatch(word):
        number = _single(ordinal[1], offset, offset + len(ordinal[1]))
        return number + _single(word, offset, end)
    if _COUNTED.fullmatch(word):
        return _single(word, offset, end)
    cuts = _inner_cuts(word) if len(word) <= MAX_TERM else []
    # A checksum or base64 changes its kind at every other character: its parts mean nothing.
    if not cuts or (len(cuts) > 3 and len(word) < 3 * (len(cuts) + 1)):
        return _single(word, offset, end)
    parts = []
    for start, stop in pairwise([0, *cuts, len(word)]):
        parts += _single(word[start:stop], offset + start, offset + stop)
    if any(unicodedata.category(character) == "No" for character in word):
        return parts  # 10² is no 102
    return parts + _single(word, offset, end)


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


def _single(word: str, start: int, end: int) -> list[Piece]:
    term = _stem(_fold(word)[:MAX_TERM])
    return [Piece(term, start, end)] if term else []


def _fold(word: str) -> str:
    """Without case, accents and ways of writing; digits and letters stay what they are."""
    if word.isascii():
        return word.lower()
    word = word[:_MAX_COMPOUND].translate(_SPELLING)
    if _CYRILLIC.search(word):
        folded = unicodedata.normalize("NFKC", word).casefold().translate(_CYRILLIC_LETTERS)
        return "".join(folded.split())
    decomposed = unicodedata.normalize("NFKD", word)
    base = "".join(_plain(character) for character in decomposed if not _is_accent(character))
    return "".join(unicodedata.normalize("NFC", base.casefold()).translate(_LETTERS).split())


def _plain(character: str) -> str:
    return str(unicodedata.decimal(character)) if character.isdecimal() else character


def _is_accent(character: str) -> bool:
    """Accents, Hebrew points, Arabic vowels; not the vowel signs that Indic words live by."""
    order = unicodedata.combining(character)
    return order >= 200 or 10 <= order <= 36 or order == 1


def _stem(word: str) -> str:
    if word[:1] < "\u0250":
        stem = cast(str, _stemmers.english.stemWord(word))
        # The stemmer asks for a vowel before a plural's s; PDFs, MP3s and the 1990s have none.
        is_plural = len(stem) > 3 and stem[-1] == "s" != stem[-2] and not _VOWEL.search(stem)
        return stem[:-1] if is_plural else stem
    if "\u0400" <= word[:1] <= "\u04ff":
        return cast(str, _stemmers.russian.stemWord(word))
    return word
