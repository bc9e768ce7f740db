"""Sixty look-ups among thousands of passages: names, codes, numbers, scripts, slips."""

import hashlib
import json
import sysconfig
from itertools import islice
from pathlib import Path

import pytest

from kb.engine.embed import Embedders, HashEmbedder, MiniLM
from kb.engine.search.answers import Question
from kb.engine.search.searcher import Searcher
from kb.engine.store import Store
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.values import Chunk, Draft

FILE = Path(__file__).parents[2] / "fixtures" / "lookups.jsonl"
LOOKUPS = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
DISTRACTORS = 5_000
LENGTH = 500


def distractors():
    """Passages of the standard library: prose, code, names, numbers, addresses of people."""
    for file in sorted(Path(sysconfig.get_path("stdlib")).glob("[a-z]*/*.py")):
        if "packages" in file.parent.name:
            continue
        text = file.read_text("utf-8", errors="ignore")
        for start in range(0, len(text) - LENGTH, LENGTH):
            yield text[start : start + LENGTH]


def add(store, embedder, texts):
    chunks = [Chunk(text, seq) for seq, text in enumerate(texts)]
    joined = "".join(texts).encode()
    draft = Draft(
        title="",
        filename=None,
        doc_type="text",
        format="txt",
        source_path=None,
        tags=(),
        metadata={},
        content_hash=hashlib.sha256(joined).hexdigest(),
        size_bytes=len(joined),
    )
    return store.documents.add(draft, chunks, embedder.embed(texts)).id


def ranks(path, embedder):
    """For each look-up, where the wanted passage stood among the first ten; 99 if not at all."""
    store = Store(path, terms, TERMS_VERSION, embedder.name)
    others = list(islice(distractors(), DISTRACTORS))
    assert len(others) == DISTRACTORS
    for start in range(0, DISTRACTORS, 250):
        add(store, embedder, others[start : start + 250])
    wanted = {row["query"]: add(store, embedder, [row["text"]]) for row in LOOKUPS}
    store.models.load_vectors()
    searcher = Searcher(store, Embedders.ready(embedder))
    found = {}
    for query, document_id in wanted.items():
        hits = [hit.document_id for hit in searcher.search(Question(query)).results]
        found[query] = hits.index(document_id) + 1 if document_id in hits else 99
    store.close()
    return found


def test_there_are_sixty_of_many_kinds():
    assert len({row["query"] for row in LOOKUPS}) == 60
    assert len({row["kind"] for row in LOOKUPS}) >= 8


def test_every_lookup_finds_its_passage_among_the_first_three(tmp_path):
    found = ranks(tmp_path / "store.db", HashEmbedder())
    assert {query: rank for query, rank in found.items() if rank > 3} == {}


@pytest.mark.long
@pytest.mark.timeout(900)
def test_the_model_does_not_stand_in_the_way(tmp_path):
    found = ranks(tmp_path / "store.db", MiniLM())
    assert {query: rank for query, rank in found.items() if rank > 3} == {}
