"""A number of chunks in, a data folder that holds them out, and questions to ask it."""

import json
from pathlib import Path

import numpy as np

from benchmarks.filling.corpus import Generator, Text, paragraphs, questions
from benchmarks.filling.drafts import text_draft
from benchmarks.filling.questions import FILE, TAGS
from benchmarks.filling.scale_texts import noisy
from kb.engine.data_folder.folder import DataFolder
from kb.engine.embed import MiniLM
from kb.engine.store import Store
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.values import Chunk, Vectors

QUESTIONS = 2500


def fill(folder: Path, chunks: int, embedded: int, texts: Path | None) -> None:
    """Through the store's own API: real terms, and vectors made of `embedded` real ones."""
    generator = Generator(paragraphs(texts))
    real = _real_vectors(generator, embedded)
    chance = np.random.default_rng(4)
    store = Store(DataFolder(folder).database, terms, TERMS_VERSION, MiniLM.name)
    asked_about: list[Text] = []
    for number, text in enumerate(generator.documents(chunks)):
        passages = [Chunk(passage, seq) for seq, passage in enumerate(text.passages)]
        whole, name, shelf = "".join(text.passages), f"{number}.txt", f"shelf:{number % TAGS}"
        draft = text_draft(text.title, whole, f"/texts/{name}", shelf, filename=name)
        store.documents.add(draft, passages, _made(real, len(passages), chance))
        if number % max(1, chunks // 4000) == 0:
            asked_about.append(text)
    store.close()
    (folder / FILE).write_text(json.dumps(questions(asked_about, QUESTIONS)), "utf-8")


def _real_vectors(generator: Generator, count: int) -> Vectors:
    model = MiniLM()
    passages = [passage for text in generator.documents(count) for passage in text.passages]
    return model.embed(passages)


def _made(real: Vectors, count: int, chance: np.random.Generator) -> Vectors:
    return noisy(real[chance.integers(0, len(real), count)], chance)
