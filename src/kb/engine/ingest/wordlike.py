"""The share of a text's words that could be words of a language."""

import re
from collections import Counter
from functools import lru_cache

FEW = 5  # words; of fewer nobody can tell
_ENOUGH = 20  # words from which on the share is what it says
_BENEFIT = 5  # words that are taken for granted where there are not enough: a few are odd anywhere
_LONGEST = 20  # letters
_MOST_SPACED = 0.5  # of the letters
_SPACED = re.compile(r"(?<!\S)(?:[^\W\d_] ){4,}[^\W\d_](?!\S)")  # l i k e this
_WORD = re.compile(r"[^\W\d_]+")
_LATIN = re.compile(r"[A-Za-zÀ-ÖØ-öø-ÿĀ-žƠơƯưẠ-ỹ]+")
_CYRILLIC = re.compile(r"[\u0400-\u052f]+")
_GREEK = re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]+")
_MIXED = re.compile(r"[A-Za-z][\u0400-\u052f]|[\u0400-\u052f][A-Za-z]")
_RARE = re.compile("[\u3400-\u4dbf\U00020000-\U000323af]")  # Chinese that is hardly ever written
_CHINESE = re.compile("[\u3400-\u9fff\U00020000-\U000323af]")
_LATIN_VOWELS = "aeiouyàáâãäåæèéêëìíîïòóôõöøùúûüýÿāăąēĕėęěīĭįıōŏőœūŭůűųơư"
_VOWELS = frozenset(_LATIN_VOWELS + "аеёиоуыэюяіїєѐѝ" + "αεηιουωάέήίόύώϊϋΐΰ")
_CONSONANTS = re.compile(r"[bcdfghjklmnpqrstvwxz]{6}|[бвгджзклмнпрстфхцчшщ]{7}")
_REMEMBERED = 20_000  # words that need not be looked at again: most of a text are few
_LONGEST_REMEMBERED = 100  # characters between two spaces
# What `_like_a_word` says of most words, in one go.
_PLAIN = re.compile(
    r"[\W_]*(?=[a-z]{2})(?:[b-df-hj-np-tv-xz]{0,5}[aeiouy])+[b-df-hj-np-tv-xz]{0,5}[\W_]*"
)
_A_WORD, _NO_WORD = 0, -1  # one that is surely like a word; what has no doubtful one
_plain_words: set[str] = set()  # the first that were found: most of any text are among them
_MOST_CAPITALS = 0.5  # of the words; where there are more, they are no abbreviations


def word_share(text: str, fewest: int = _ENOUGH) -> float:
    """Of the words in Latin, Greek and Cyrillic letters: .88 and more on 378 pages of real text,
    .48 to .91 with letters mixed up; 1 where there are fewer than `fewest`."""
    tokens = Counter(_WORD.findall(text))
    spaced = sum(len(run) // 2 + 1 for run in _SPACED.findall(text))
    if spaced >= _ENOUGH:
        letters = sum(len(token) * times for token, times in tokens.items())
        if spaced > _MOST_SPACED * letters:
            return 0.0
    if not text.isascii() and _is_rare_chinese(text):
        return 0.0
    words = list(filter(_counts, tokens))
    count = sum(map(tokens.__getitem__, words))
    if count < fewest:
        return 1.0
    capitals = sum(tokens[word] for word in words if word.isupper()) > _MOST_CAPITALS * count
    good = sum(tokens[word] for word in words if _like_a_word(word, capitals))
    benefit = _BENEFIT if count < _ENOUGH else 0
    return (good + benefit) / (count + benefit)


def is_wordlike(text: str, least: float, fewest: int) -> bool:
    """Whether its share is `least`, at least half, or more: quickly for most texts, which are."""
    tokens = text.split()
    if max(map(len, tokens), default=0) <= _LONGEST_REMEMBERED:
        others = [token for token in tokens if token not in _plain_words]
        words, none, doubtful = len(tokens) - len(others), 0, 0
        for token in others:
            doubt = _doubt(token)
            if doubt == _A_WORD:
                words += 1
            elif doubt == _NO_WORD:
                none += 1
            else:
                doubtful += doubt
        if words >= least * (words + doubtful) and 2 * words >= none:
            return True
    return word_share(text, fewest) >= least


@lru_cache(_REMEMBERED)
def _doubt(token: str) -> int:
    """How many words what stands between two spaces may have that are none, at most."""
    if len(token) <= _LONGEST and not token.isupper() and _PLAIN.fullmatch(token.lower()):
        if len(_plain_words) < _REMEMBERED:
            _plain_words.add(token)
        return _A_WORD
    if not token.isascii() and _CHINESE.search(token):
        return len(token)
    return sum(len(word) > 1 and not _surely(word) for word in _WORD.findall(token)) or _NO_WORD


def _surely(word: str) -> bool:
    return len(word) > 1 and not word.isupper() and _like_a_word(word, False)


@lru_cache(_REMEMBERED)
def _counts(token: str) -> bool:
    """Whether it is a word of a script that can be judged."""
    if len(token) < 2:
        return False
    return any(script.fullmatch(token) for script in (_LATIN, _CYRILLIC, _GREEK)) or bool(
        _MIXED.search(token)
    )


def _is_rare_chinese(text: str) -> bool:
    chinese = len(_CHINESE.findall(text))
    return chinese >= FEW and len(_RARE.findall(text)) > 0.3 * chinese


@lru_cache(_REMEMBERED)
def _like_a_word(word: str, capitals: bool) -> bool:
    if _MIXED.search(word):
        return False
    if word.isupper() and not capitals:
        return True  # most abbreviations have no vowel
    small = word.lower()
    vowels = not _VOWELS.isdisjoint(small) or any(
        "ạ" <= letter <= "ỹ" or "ἀ" <= letter <= "῾" for letter in small
    )
    return vowels and len(small) <= _LONGEST and not _CONSONANTS.search(small)
