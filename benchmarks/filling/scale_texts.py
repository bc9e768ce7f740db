"""Real texts in, as many passages, vectors and questions as a large store needs out.

Passages are real ones, again and again, each time with other words in some places. Those words are
drawn from the same texts, so that words are as common as they really are; a few are invented, for
the long tail that only a large collection has. Vectors are those of the real passages with noise.
"""

import random
import re
import sysconfig
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.filling.corpus import WORDS_PER_CHUNK, paragraphs, prose
from kb.engine.embed import DIMENSIONS, MiniLM
from kb.engine.values import Vectors

CHUNKS_PER_DOCUMENT = 20

_VARIED = 0.3
_INVENTED = 0.02
_INVENTED_WORDS = 400_000
# How far a vector lies from the real one it is made of: cosine about 0.8, as for a passage of
# which every third word is another.
_NOISE = 0.75
_DOCSTRING = re.compile(r'"""(.{200,}?)"""', re.DOTALL)

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Varied:
    """A document made of real passages: the numbers of its words, by passage, and its vectors."""

    passages: list[list[int]]
    vectors: Vectors


@dataclass(frozen=True)
class Source:
    """The real passages, end to end, as numbers of words; where each begins; their vectors."""

    words: list[str]
    text: Numbers
    starts: list[int]
    vectors: Vectors

    def document(self, number: int) -> Varied:
        """Some passages in a row, varied; the same for the same number."""
        chance = np.random.default_rng(number)
        first = int(chance.integers(len(self.vectors) - CHUNKS_PER_DOCUMENT))
        starts = self.starts[first : first + CHUNKS_PER_DOCUMENT + 1]
        words = self._varied(self.text[starts[0] : starts[-1]], chance)
        passages = [words[start - starts[0] : end - starts[0]] for start, end in pairwise(starts)]
        vectors = self.vectors[first : first + CHUNKS_PER_DOCUMENT]
        return Varied(passages, noisy(vectors, chance))

    def word(self, number: int) -> str:
        """Numbers below 0 are those of invented words."""
        return self.words[number] if number >= 0 else invented(-number)

    def _varied(self, numbers: Numbers, chance: np.random.Generator) -> list[int]:
        dice = chance.random(len(numbers))
        drawn = self.text[chance.integers(0, len(self.text), len(numbers))]
        new = (_INVENTED_WORDS ** chance.random(len(numbers))).astype(np.int64)
        numbers = np.where(dice < _VARIED, drawn, numbers)
        varied: list[int] = np.where(dice < _INVENTED, -new, numbers).tolist()
        return varied


def noisy(vectors: Vectors, chance: np.random.Generator) -> Vectors:
    """Near these, of length 1."""
    noise = chance.standard_normal(vectors.shape, np.float32) * (_NOISE / DIMENSIONS**0.5)
    moved = vectors + noise
    unit: Vectors = moved / np.linalg.norm(moved, axis=1, keepdims=True)
    return unit


def source(folder: Path, embedded: int, texts: Path | None) -> Source:
    """The real passages; their vectors are kept in the folder, since they take minutes."""
    found = paragraphs(texts) if texts else prose(_installed_texts())
    passages = list(_passages(found))
    # Spread over all of the texts, in order.
    passages = [
        passages[n * len(passages) // embedded] for n in range(min(embedded, len(passages)))
    ]
    file = folder / f"vectors-{len(passages)}.npy"
    if not file.exists():
        folder.mkdir(parents=True, exist_ok=True)
        np.save(file, MiniLM().embed(passages))
    split = [passage.split() for passage in passages]
    words = list(dict.fromkeys(word for passage in split for word in passage))
    places = {word: number for number, word in enumerate(words)}
    text = np.array([places[word] for passage in split for word in passage], np.int64)
    return Source(words, text, [0, *accumulate(map(len, split))], np.load(file))


def odd_questions(plain: list[str], words: list[str], count: int) -> list[str]:
    """All that people and programs may ask: long and short, of the commonest words only, of words
    that are nowhere. `words` are the texts' own, each as often as it stands there."""
    chance = random.Random(6)
    common = [word for word, _ in Counter(word.lower() for word in words).most_common(300)]

    def some(choices: list[str], most: int) -> str:
        return " ".join(chance.choices(choices, k=chance.randint(1, most)))

    kinds = [
        lambda: chance.choice(plain),
        lambda: " ".join(chance.choices(plain, k=8)),  # as long as a paragraph
        lambda: some(words, 4),
        lambda: some(common, 32),
        lambda: some(common[:40], 3),
        lambda: some([invented(n) for n in range(1, 50)], 6),
        lambda: f"{some(words, 3)} {invented(chance.randint(1, _INVENTED_WORDS))}",
    ]
    return [kinds[number % len(kinds)]() for number in range(count)]


def _passages(found: list[str]) -> Iterator[str]:
    """Paragraphs, gathered until they are as long as a chunk, and cut where they are longer."""
    kept: list[str] = []
    for paragraph in found:
        kept += paragraph.split()
        while len(kept) >= WORDS_PER_CHUNK:
            yield " ".join(kept[:WORDS_PER_CHUNK])
            kept = kept[WORDS_PER_CHUNK:]


def _installed_texts() -> Iterator[str]:
    """What Python and the installed packages say about themselves."""
    for folder in (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")):
        for file in sorted(Path(folder).rglob("*.py")):
            yield from _DOCSTRING.findall(file.read_text("utf-8", errors="replace"))


def invented(number: int) -> str:
    """A word for every number; low numbers are short."""
    word = ""
    while number:
        number, syllable = divmod(number, 75)
        word += "bcdfghlmnprstvw"[syllable // 5] + "aeiou"[syllable % 5]
    return f"{word}n"
