"""The form that a word is found by: folded, and stemmed by its script."""

import re
import threading
import unicodedata
from typing import cast

import Stemmer

MAX_TERM = 64
_LONG = 6
MAX_WORD = 256  # longer is a blob: no more of it is folded

_VOWEL = re.compile("[aeiouy]")
_CYRILLIC = re.compile("[\u0400-\u052f]")

_UNSEEN = [0xAD, 0x2060, 0xFEFF, 0x2BC, *range(0x200B, 0x2010), *range(0xFE00, 0xFE10)]
# A name is the same name with the hyphens and apostrophes that word processors put in.
_SPELLING = dict.fromkeys(_UNSEEN) | {0x2010: "-", 0x2011: "-", 0x2019: "'", 0xFF07: "'"}
# Letters that Unicode does not take apart into a base and an accent, but readers do; and Arabic
# ones that are written one for the other.
_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
    | {"\u0649": "\u064a", "\u06cc": "\u064a", "\u06a9": "\u0643"}
    | {"\u0640": None}  # the Arabic stretcher
)
# й and ї are letters of their own; only ё is written without its dots as often as with them.
_CYRILLIC_LETTERS = str.maketrans({"ё": "е", "\u0300": None, "\u0301": None})
# By the first letter: from, to, language. Latin letters have rules of their own.
_SCRIPTS = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u04ff", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)


class _Stemmers(threading.local):
    """A Snowball stemmer must not be used by two threads at once; each thread has its own."""

    def __init__(self) -> None:
        self._made: dict[str, Stemmer.Stemmer] = {}

    def stem(self, language: str, word: str) -> str:
        stemmer = self._made.get(language)
        if stemmer is None:
            # A cache of whole tokens stands in front: theirs would only cost memory.
            stemmer = self._made[language] = Stemmer.Stemmer(language, 0)
        return cast(str, stemmer.stemWord(word))


_stemmers = _Stemmers()


def term(word: str) -> str:
    """Folded, cut to a bearable length, stemmed."""
    return stem(fold(word)[:MAX_TERM])


def fold(word: str) -> str:
    """Without case, accents and ways of writing; digits and letters stay what they are."""
    if word.isascii():
        return word.lower()
    word = word[:MAX_WORD].translate(_SPELLING)
    if _CYRILLIC.search(word):
        folded = unicodedata.normalize("NFKC", word).casefold().translate(_CYRILLIC_LETTERS)
        return "".join(folded.split())
    decomposed = unicodedata.normalize("NFKD", word)
    base = "".join(_plain(character) for character in decomposed if not _is_accent(character))
    return "".join(unicodedata.normalize("NFC", base.casefold()).translate(_LETTERS).split())


def stem(word: str) -> str:
    """By the rules of one language for each script; as it is where there are none."""
    first = word[:1]
    if first <= "\u024f":
        return _latin_stem(word)
    for start, end, language in _SCRIPTS:
        if start <= first <= end:
            # A final teh marbuta is often typed as heh; the rules know the former.
            word = f"{word[:-1]}\u0629" if word.endswith("\u0647") else word
            return _stemmers.stem(language, word)
    return word


def _latin_stem(word: str) -> str:
    """By English rules and then by German ones, whatever the language is.

    To guess the language of a few words fails, and a wrong guess at either end means no match.
    German endings are stripped from English words alike on both sides: measured, that costs
    English next to nothing, and gains German as much as rules of its own. They also take ue for ü.
    Short words would lose too much: state is not stat.
    """
    found = _stemmers.stem("english", word)
    # The stemmer asks for a vowel before a plural's s; PDFs, MP3s and the 1990s have none.
    if len(found) > 3 and found[-1] == "s" != found[-2] and not _VOWEL.search(found):
        return found[:-1]
    return _stemmers.stem("german", found) if len(found) >= _LONG else found


def _plain(character: str) -> str:
    return str(unicodedata.decimal(character)) if character.isdecimal() else character


def _is_accent(character: str) -> bool:
    """Accents, Hebrew points, Arabic vowels; not the vowel signs that Indic words live by."""
    order = unicodedata.combining(character)
    return order >= 200 or 10 <= order <= 36 or order == 1
