"""A number of chunks in, a data folder that holds them out, and questions to ask it."""

import hashlib
import json
from pathlib import Path

import numpy as np

from benchmarks.filling.corpus import Generator, Text, paragraphs, questions
from benchmarks.filling.questions import FILE, TAGS
from kb.engine.data_folder.folder import DataFolder
from kb.engine.embed import DIMENSIONS, MiniLM
from kb.engine.store import Store
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.values import Chunk, Draft, Vectors

QUESTIONS = 2500
# How far a made vector lies from the real one it is made of: cosine about 0.8.
_NOISE = 0.75


def fill(folder: Path, chunks: int, embedded: int, texts: Path | None) -> None:
    """Through the store's own API: real terms, and vectors made of `embedded` real ones."""
    generator = Generator(paragraphs(texts))
    real = _real_vectors(generator, embedded)
    chance = np.random.default_rng(4)
    store = Store(DataFolder(folder).database, terms, TERMS_VERSION, MiniLM.name)
    asked_about: list[Text] = []
    for number, text in enumerate(generator.documents(chunks)):
        passages = [Chunk(passage, seq) for seq, passage in enumerate(text.passages)]
        store.documents.add(_draft(number, text), passages, _made(real, len(passages), chance))
        if number % max(1, chunks // 4000) == 0:
            asked_about.append(text)
    store.close()
    (folder / FILE).write_text(json.dumps(questions(asked_about, QUESTIONS)), "utf-8")


def _real_vectors(generator: Generator, count: int) -> Vectors:
    model = MiniLM()
    passages = [passage for text in generator.documents(count) for passage in text.passages]
    return model.embed(passages)


def _made(real: Vectors, count: int, chance: np.random.Generator) -> Vectors:
    noise = chance.standard_normal((count, DIMENSIONS), np.float32) * (_NOISE / DIMENSIONS**0.5)
    vectors = real[chance.integers(0, len(real), count)] + noise
    unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit


def _draft(number: int, text: Text) -> Draft:
    whole = "".join(text.passages).encode()
    return Draft(
        title=text.title,
        filename=f"{number}.txt",
        doc_type="text",
        format="txt",
        source_path=f"/texts/{number}.txt",
        tags=(f"shelf:{number % TAGS}",),
        metadata={},
        content_hash=hashlib.sha256(whole).hexdigest(),
        size_bytes=len(whole),
    )
