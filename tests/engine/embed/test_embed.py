import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from raising import raising

from kb.engine.embed import MODEL_FOLDER, BackgroundEmbedder, HashEmbedder, MiniLM
from kb.engine.errors import EmbeddingFailed, ModelLoading

REFERENCE = Path(__file__).parents[2] / "fixtures" / "embed_reference.npz"


@pytest.fixture(scope="module")
def model():
    return MiniLM()


@pytest.fixture(scope="module")
def reference():
    """Texts and the vectors that the exact model has for them."""
    with np.load(REFERENCE) as arrays:
        return json.loads(str(arrays["texts"])), arrays["vectors"]


def test_vectors_are_close_to_those_of_the_exact_model(model, reference):
    texts, exact = reference
    cosines = (model.embed(texts) * exact).sum(1)
    passages = [len(text.split()) > 80 for text in texts]
    assert cosines[passages].mean() > 0.997
    assert cosines.min() > 0.99


def test_the_reference_covers_odd_texts(reference):
    texts, _ = reference
    assert "" in texts
    assert max(len(text.split()) for text in texts) == 10_000


def test_a_text_has_the_same_vector_alone_and_among_others(model, reference):
    texts, _ = reference
    together = model.embed(texts[:3])
    assert together.dtype == np.float32
    assert all(
        (model.embed_one(text) == row).all() for text, row in zip(texts[:3], together, strict=True)
    )


@pytest.mark.parametrize("text", ["", "🎉", "word " * 10_000, "\0", "\ud800", "知识库"])
def test_every_text_has_a_vector_of_length_one(model, text):
    vector = model.embed_one(text)
    assert vector.shape == (model.dimensions,)
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_no_texts_give_no_rows(model):
    assert model.embed([]).shape == (0, model.dimensions)


def test_what_means_the_same_is_nearer_than_what_shares_words(model):
    question = model.embed_one("how do I get my money back?")
    near, far = model.embed(["Refunds are paid within a week.", "How do I get my back straight?"])
    assert question @ near > question @ far


def test_tokens_are_counted_without_marks_and_without_end(model):
    assert model.count_tokens("one two three") == 3
    assert model.count_tokens("word " * 1000) == 1000


def test_text_after_the_last_place_has_no_part_in_the_vector(model):
    begin = "word " * 254
    assert (model.embed_one(begin + "other") == model.embed_one(begin)).all()
    assert (model.embed_one("word " * 253 + "other") != model.embed_one(begin)).any()


def test_other_scripts_are_less_legible_than_english(model):
    assert model.legibility("A plain sentence.") == 1.0
    assert model.legibility("知识库") < 0.1


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priority of their own")
def test_passages_run_at_a_lower_priority_than_the_caller(model):
    seen = list(model._pool.map(lambda _: os.getpriority(os.PRIO_PROCESS, 0), range(4)))
    assert min(seen) > os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.parametrize("answer", [np.full(384, np.nan), np.zeros(384), np.full(384, np.inf)])
def test_a_vector_that_is_not_of_length_one_is_refused(model, monkeypatch, answer):
    session = SimpleNamespace(run=lambda *_: [np.array([answer], np.float32)])
    monkeypatch.setattr(model, "_session", session)
    with pytest.raises(EmbeddingFailed, match="squared length"):
        model.embed(["text"])


def test_a_failing_run_is_an_embedding_failure_that_keeps_the_text_to_itself(model, monkeypatch):
    session = SimpleNamespace(run=raising(RuntimeError("out of memory")))
    monkeypatch.setattr(model, "_session", session)
    with pytest.raises(EmbeddingFailed) as caught:
        model.embed_one("a secret")
    assert "secret" not in caught.value.message


def test_the_engine_starts_without_importing_onnxruntime():
    code = "import sys, kb.engine.embed; print('onnxruntime' in sys.modules)"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert answer.stdout.split() == [b"False"]


def test_the_model_travels_with_its_licence():
    assert "Apache License" in (MODEL_FOLDER / "LICENSE").read_text("utf-8")
    assert "all-MiniLM-L6-v2" in (MODEL_FOLDER / "NOTICE").read_text("utf-8")


def test_hashed_texts_are_alike_when_they_share_words():
    embedder = HashEmbedder()
    a, b, c = embedder.embed(["the red fox runs", "The red fox sleeps", "stock prices fell again"])
    assert a @ b > 0.5 > a @ c
    assert (embedder.embed_one("the red fox runs") == a).all()
    assert np.linalg.norm(embedder.embed_one("")) == 1
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_an_embedder_in_the_background_is_there_once_loaded():
    may_load = threading.Event()

    def load():
        assert may_load.wait(60)
        return HashEmbedder()

    embedder = BackgroundEmbedder(load)
    embedder.start()
    assert embedder.current() is None
    with pytest.raises(ModelLoading):
        embedder.wait(0)
    may_load.set()
    assert embedder.wait(60) is embedder.current()
    assert embedder.failure is None


def test_an_embedder_that_cannot_load_says_why(tmp_path):
    embedder = BackgroundEmbedder(lambda: MiniLM(tmp_path))
    embedder.start()
    with pytest.raises(EmbeddingFailed, match=r"model\.toml"):
        embedder.wait(60)
    assert embedder.current() is None
    assert "model.toml" in embedder.failure
