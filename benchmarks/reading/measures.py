"""Two texts in, how much of one is in the other out."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

_WORD = re.compile(r"\w+")
_MOST_TOLD = 12


_UNSEEN = str.maketrans(dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff")) | {ord("_"): " "}


def words(text: str) -> list[str]:
    return _WORD.findall(unicodedata.normalize("NFKC", text).lower().translate(_UNSEEN))


@dataclass(frozen=True)
class Overlap:
    """Of the words that should be there those that are; of those that are, the right ones."""

    recall: float
    precision: float
    lost: tuple[str, ...]
    added: tuple[str, ...]


def overlap(wanted: str, found: str, allowed: str = "") -> Overlap:
    """`allowed` words are right where they are found, and not missed where they are not."""
    wanted_words, found_words = Counter(words(wanted)), Counter(words(found))
    found_words -= (found_words - wanted_words) & Counter(words(allowed))
    shared = (wanted_words & found_words).total()
    return Overlap(
        shared / wanted_words.total() if wanted_words else 1.0,
        shared / found_words.total() if found_words else 1.0,
        _told(wanted_words - found_words),
        _told(found_words - wanted_words),
    )


def _told(counted: Counter[str]) -> tuple[str, ...]:
    return tuple(f"{word}×{n}" if n > 1 else word for word, n in counted.most_common(_MOST_TOLD))


def kept(lines: Iterable[str], found: str) -> tuple[int, int, tuple[str, ...]]:
    """How many of the lines stand in a text word for word, of how many, and those that do not."""
    text = f" {' '.join(words(found))} "
    spoken = [line for line in lines if words(line)]
    lost = [line for line in spoken if f" {' '.join(words(line))} " not in text]
    return len(spoken) - len(lost), len(spoken), tuple(" ".join(line.split())[:80] for line in lost)
