"""A number of chunks in, a data folder that holds them out, through the store's own tables."""

import json
import random
from dataclasses import replace
from multiprocessing import get_context
from multiprocessing.queues import Queue
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.filling.corpus import Text, questions
from benchmarks.filling.drafts import text_draft
from benchmarks.filling.questions import FILE
from benchmarks.filling.scale_texts import CHUNKS_PER_DOCUMENT, Source, odd_questions, source
from kb.engine.data_folder.folder import DataFolder
from kb.engine.embed import MiniLM
from kb.engine.scoring import fingerprints
from kb.engine.store import Store
from kb.engine.store.rows.chunk_rows import Prepared
from kb.engine.store.rows.document_rows import found
from kb.engine.store.search.chunk_index import quantise
from kb.engine.store.search.word_search import as_row
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.values import Chunk, Draft

# One document in so many has the tag of this name.
TAGS = {"half": 2, "shelf": 100, "drawer": 10_000}
QUESTIONS = 4000
ODD_QUESTIONS = 10_000
ODD = "odd.json"

_BATCH = 50  # documents in a transaction

Batch = list[tuple[Draft, Prepared]]


def fill(folder: Path, chunks: int, embedded: int, texts: Path | None) -> None:
    """One process makes the documents, this one writes them."""
    documents = chunks // CHUNKS_PER_DOCUMENT
    source(folder.parent, embedded, texts)  # so that the other process finds the vectors
    context = get_context("spawn")
    made: Queue[Batch] = context.Queue(8)
    arguments = (made, documents, folder.parent, embedded, texts)
    maker = context.Process(target=_make, args=arguments, daemon=True)
    maker.start()
    store = Store(DataFolder(folder).database, terms, TERMS_VERSION, MiniLM.name)
    asked_about: list[Text] = []
    for _ in range(0, documents, _BATCH):
        batch = made.get()
        with store.database.transaction() as query:
            for draft, prepared in batch:
                store.documents.rows.insert(query, draft, prepared)
        asked_about += [
            Text(draft.title, [c.text for c in rows.chunks]) for draft, rows in batch[:1]
        ]
    maker.join()
    store.close()
    _write_questions(folder, asked_about)


def exchange(folder: Path, documents: int, share: int, number: int, embedded: int) -> None:
    """One document in so many gets other passages, each in a transaction, as the worker does it."""
    real, words = source(folder.parent, embedded, None), dict[int, _Word]()
    store = Store(DataFolder(folder).database, terms, TERMS_VERSION, MiniLM.name)
    for each in random.Random(number).sample(range(documents), documents // share):
        draft, prepared = _document(real, words, documents * number + each)
        path = f"/texts/{each}.txt"
        with store.database.transaction() as query:
            [(id_,)] = query("SELECT id FROM documents WHERE source_path = :path", path=path)
            draft = replace(draft, source_path=path)
            store.documents.rows.replace(query, found(query, id_), draft, prepared)
    store.close()


def _write_questions(folder: Path, texts: list[Text]) -> None:
    plain = questions(texts, QUESTIONS)
    words = [word for text in texts for passage in text.passages for word in passage.split()]
    (folder / ODD).write_text(json.dumps(odd_questions(plain, words, ODD_QUESTIONS)), "utf-8")
    (folder / FILE).write_text(json.dumps(plain), "utf-8")


def _make(made: "Queue[Batch]", documents: int, *arguments: Any) -> None:
    real = source(*arguments)
    words: dict[int, _Word] = {}
    for first in range(0, documents, _BATCH):
        numbers = range(first, min(first + _BATCH, documents))
        made.put([_document(real, words, number) for number in numbers])


class _Word(NamedTuple):
    """A word and what the store makes of it. No term spans a space, so a passage is the sum."""

    text: str
    terms: str
    fingerprints: bytes


def _word(real: Source, words: dict[int, _Word], number: int) -> _Word:
    found = words.get(number)
    if found is None:
        text = real.word(number)
        found = words[number] = _Word(text, as_row(terms(text)), fingerprints(terms(text)))
    return found


def _document(real: Source, words: dict[int, _Word], number: int) -> tuple[Draft, Prepared]:
    varied = real.document(number)
    passages = [[_word(real, words, each) for each in passage] for passage in varied.passages]
    chunks = [
        Chunk(" ".join([word.text for word in passage]), seq)
        for seq, passage in enumerate(passages)
    ]
    bodies = [
        (
            " ".join([word.terms for word in passage if word.terms]),
            b"".join([word.fingerprints for word in passage]),
        )
        for passage in passages
    ]
    title = " ".join(word.text for word in passages[0][:5])
    tags = [name for name, share in TAGS.items() if number % share == 7 % share]
    whole, name = "".join(chunk.text for chunk in chunks), f"{number}.txt"
    draft = text_draft(title, whole, f"/texts/{name}", *tags, filename=name)
    codes, exact = quantise(varied.vectors), varied.vectors.astype(np.float16)
    vectors = [(code.tobytes(), row.tobytes()) for code, row in zip(codes, exact, strict=True)]
    return draft, Prepared(chunks, bodies, {None: vectors})
