"""Texts in, as many distinct passages and questions as a benchmark needs out.

Where no texts are given, Python's own manual and docstrings serve: they are English prose that is
on every machine this runs on. To make more passages than they hold, their sentences are used as
moulds: ordinary words stay, the others are drawn anew from a vocabulary with the long tail of real
language, some of them again and again within a document, as in texts that are about something.
"""

import ast
import json
import random
import re
import sysconfig
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kb.engine.text.stopwords import STOP_WORDS

CHUNKS_PER_DOCUMENT = 20
WORDS_PER_CHUNK = 130  # about 200 tokens with punctuation and rare words in pieces
VOCABULARY = 60_000
TOPIC_WORDS = 40
TOPIC_SHARE = 0.35
# Zipf's law with Mandelbrot's shift, chosen so that a question's words stand in as many passages as
# they do in public retrieval sets (docs/benchmarks.md has the figures).
SHIFT, SLOPE = 100.0, 1.05

_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_CONTENT_WORD = re.compile(r"\b[a-z]{4,}\b")


@dataclass(frozen=True)
class Text:
    """A document before it is one: a title and its passages."""

    title: str
    passages: list[str]


@dataclass(frozen=True)
class Mould:
    """A sentence with `%s` for each word to be drawn."""

    pattern: str
    slots: int
    words: int


def paragraphs(path: Path | None) -> list[str]:
    """Prose, one paragraph each: from a folder or JSONL file, or from Python's own texts."""
    return prose(_python_texts() if path is None else _given_texts(path))


def prose(raw: Iterable[str]) -> list[str]:
    """The paragraphs of these texts that are sentences, each once."""
    found = (" ".join(part.split()) for text in raw for part in re.split(r"\n\s*\n", text))
    return list(dict.fromkeys(paragraph for paragraph in found if _is_prose(paragraph)))


def real_texts(source: list[str]) -> Iterator[Text]:
    """The paragraphs as they are, gathered into documents of about a dozen chunks."""
    kept: list[str] = []
    size = 0
    for paragraph in source:
        kept.append(paragraph)
        size += paragraph.count(" ") + 1
        if size >= WORDS_PER_CHUNK * 12:
            yield Text(" ".join(kept[0].split()[:6]), kept)
            kept, size = [], 0


class Generator:
    """Makes documents from moulds; the same seed gives the same texts."""

    def __init__(self, source: list[str], seed: int = 1) -> None:
        sentences = [s for paragraph in source for s in _SENTENCE.split(paragraph)]
        self._moulds = [_mould(s) for s in sentences if 5 <= s.count(" ") <= 40]
        self._words = _vocabulary(sentences)
        chances = 1 / (np.arange(len(self._words)) + SHIFT) ** SLOPE
        self._ladder = np.cumsum(chances / chances.sum())
        self._random = np.random.default_rng(seed)

    def documents(self, chunks: int) -> Iterator[Text]:
        for start in range(0, chunks, CHUNKS_PER_DOCUMENT):
            yield self._document(min(CHUNKS_PER_DOCUMENT, chunks - start))

    def _document(self, chunks: int) -> Text:
        topic = self._draw(TOPIC_WORDS)
        moulds = self._choose_moulds(chunks * WORDS_PER_CHUNK)
        slots = sum(mould.slots for mould in moulds)
        drawn = self._draw(slots)
        about = self._random.random(slots) < TOPIC_SHARE
        drawn[about] = topic[self._random.integers(0, TOPIC_WORDS, int(about.sum()))]
        words = [self._words[number] for number in drawn.tolist()]
        title = " ".join(self._words[number] for number in topic[:4].tolist()).capitalize()
        return Text(title, _poured(moulds, words, chunks))

    def _choose_moulds(self, words: int) -> list[Mould]:
        chosen: list[Mould] = []
        while words > 0:
            mould = self._moulds[int(self._random.integers(len(self._moulds)))]
            chosen.append(mould)
            words -= mould.words
        return chosen

    def _draw(self, count: int) -> NDArray[np.int64]:
        return np.searchsorted(self._ladder, self._random.random(count))


def questions(texts: list[Text], count: int, seed: int = 2) -> list[str]:
    """Distinct questions: some words in a row from a passage, as one half-remembers them."""
    chance = random.Random(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        passage = chance.choice(chance.choice(texts).passages)
        words = re.findall(r"[\w'-]+", chance.choice(_SENTENCE.split(passage)))
        length = chance.randint(5, 9)
        start = chance.randint(0, max(0, len(words) - length))
        asked = words[start : start + length]
        if sum(word.lower() not in STOP_WORDS for word in asked) >= 2:
            found[" ".join(asked)] = None
    return list(found)


def _poured(moulds: list[Mould], words: list[str], chunks: int) -> list[str]:
    """Fill the moulds with the words, and cut the sentences into passages of equal size."""
    passages: list[str] = []
    sentences: list[str] = []
    size = used = 0
    for mould in moulds:
        sentences.append(mould.pattern % tuple(words[used : used + mould.slots]))
        used += mould.slots
        size += mould.words
        if size >= WORDS_PER_CHUNK and len(passages) < chunks - 1:
            passages.append(" ".join(sentences))
            sentences, size = [], 0
    passages.append(" ".join(sentences))
    return passages


def _mould(sentence: str) -> Mould:
    slots = 0

    def open_slot(match: re.Match[str]) -> str:
        nonlocal slots
        if match[0] in STOP_WORDS:
            return match[0]
        slots += 1
        return "%s"

    pattern = _CONTENT_WORD.sub(open_slot, sentence.replace("%", "%%"))
    return Mould(pattern, slots, sentence.count(" ") + 1)


def _vocabulary(sentences: list[str]) -> list[str]:
    """The texts' own words, commonest first, then invented ones for the long tail."""
    counts = Counter(
        word for s in sentences for word in _CONTENT_WORD.findall(s) if word not in STOP_WORDS
    )
    words = dict.fromkeys(word for word, _ in counts.most_common())
    chance = random.Random(3)
    while len(words) < VOCABULARY:
        syllables = (
            chance.choice("bcdfghlmnprstvw") + chance.choice("aeiou") + chance.choice(" lnrst")
            for _ in range(chance.randint(2, 4))
        )
        words.setdefault("".join(syllables).replace(" ", ""))
    return list(words)


def _is_prose(paragraph: str) -> bool:
    letters = sum(char.isalpha() or char == " " for char in paragraph)
    return (
        len(paragraph) >= 60
        and letters > 0.85 * len(paragraph)
        and paragraph[-1] in ".:?!"
        and ">>>" not in paragraph
    )


def _python_texts() -> Iterator[str]:
    from pydoc_data.topics import topics

    yield from topics.values()
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("*.py")):
        module = ast.parse(file.read_bytes())
        yield ast.get_docstring(module) or ""
        for node in module.body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                yield ast.get_docstring(node) or ""
            for inner in getattr(node, "body", ()):
                if isinstance(inner, ast.FunctionDef):
                    yield ast.get_docstring(inner) or ""


def _given_texts(path: Path) -> Iterator[str]:
    """JSONL rows with a `text`, or plain files, at any depth."""
    for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
        if file.suffix == ".jsonl":
            for line in file.read_text("utf-8").splitlines():
                yield str(json.loads(line).get("text", ""))
        elif file.suffix in (".txt", ".md", ".rst"):
            yield file.read_text("utf-8", errors="replace")
