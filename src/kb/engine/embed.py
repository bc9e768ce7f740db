"""Text in, vectors out: MiniLM on onnxruntime, one text at a time."""

import hashlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from kb.engine.errors import EmbeddingFailed, ModelLoading
from kb.engine.models import Cosines, Embedder, Vector, Vectors
from kb.engine.wordpiece import WordPiece

MODEL_FOLDER = Path(__file__).parent / "model"
DIMENSIONS = 384
MAX_TOKENS = 256  # with the start and end marks
START, END = 101, 102
NICENESS = 10  # how far passages step back behind searches, of 19

logger = logging.getLogger(__name__)


class MiniLM:
    """One session for all threads: its `run` takes no lock and releases the interpreter's.

    Each text runs alone. That is as fast as batches, keeps memory flat, and makes a vector depend
    on its text only: the ranges of the int8 arithmetic are taken over everything in one run.
    """

    name = "all-MiniLM-L6-v2"
    dimensions = DIMENSIONS
    cosines = Cosines(weight=0.6)

    def __init__(self, folder: Path = MODEL_FOLDER, workers: int | None = None) -> None:
        self._tokenizer = WordPiece(folder / "vocab.txt")
        self._session = _open_session(folder / "minilm-int8.onnx")
        self._pool = ThreadPoolExecutor(
            workers or os.cpu_count() or 1,
            thread_name_prefix="embed",
            initializer=_step_back_behind_searches,
        )

    def embed(self, texts: list[str]) -> Vectors:
        """One row per text, in order, on all cores, with a lower priority than `embed_one`."""
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        for row, vector in enumerate(self._pool.map(self.embed_one, texts)):
            vectors[row] = vector
        return vectors

    def embed_one(self, text: str) -> Vector:
        """A vector of length 1. Text after the 254th token has no part in it."""
        ids = [START, *self._tokenizer.ids(text, MAX_TOKENS - 2), END]
        try:
            [[vector]] = self._session.run(None, {"input_ids": np.array([ids], np.int64)})
        except Exception as error:  # onnxruntime's errors share no class of their own
            raise EmbeddingFailed(f"The model failed on a text of {len(ids)} tokens") from error
        return _checked(vector)

    def count_tokens(self, text: str) -> int:
        return len(self._tokenizer.ids(text))

    def legibility(self, text: str) -> float:
        return self._tokenizer.legibility(text)


class HashEmbedder:
    """For tests: texts that share words have similar vectors, without a model."""

    name = "hash-384"
    dimensions = DIMENSIONS
    cosines = Cosines(weight=0.6)

    def embed(self, texts: list[str]) -> Vectors:
        return np.array([self.embed_one(text) for text in texts], np.float32).reshape(
            -1, DIMENSIONS
        )

    def embed_one(self, text: str) -> Vector:
        """Each word adds or takes 1 in four places that its hash names."""
        vector = np.zeros(DIMENSIONS, np.float32)
        for word in text.casefold().split():
            places = np.frombuffer(hashlib.blake2b(word.encode(), digest_size=8).digest(), "<u2")
            np.add.at(vector, places % DIMENSIONS, np.where(places & 0x8000, 1, -1))
        length = np.linalg.norm(vector)
        if length == 0:
            vector[0] = length = np.float32(1)
        return _checked(vector / length)

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def legibility(self, text: str) -> float:  # noqa: ARG002  a hash reads every language
        return 1.0


class BackgroundEmbedder:
    """An embedder that loads while the engine already answers by words."""

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._load = load
        self._embedder: Embedder | None = None
        self._ended = threading.Event()
        self.failure: str | None = None

    def start(self) -> None:
        """A daemon thread: a shutdown does not wait for the model."""
        threading.Thread(target=self._run, name="load-model", daemon=True).start()

    def current(self) -> Embedder | None:
        """The embedder, or None while it loads and after it failed to."""
        return self._embedder

    def wait(self, timeout: float | None = None) -> Embedder:
        """The embedder as soon as it is there."""
        if not self._ended.wait(timeout):
            raise ModelLoading("The model is still loading; try again in a few seconds")
        if self._embedder is None:
            raise EmbeddingFailed(f"The model could not be loaded: {self.failure}")
        return self._embedder

    def _run(self) -> None:
        started = time.perf_counter()
        try:
            self._embedder = self._load()
            seconds = time.perf_counter() - started
            logger.info("model %s loaded in %.2f s", self._embedder.name, seconds)
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            logger.exception("the model could not be loaded")
        finally:
            self._ended.set()


def _open_session(model: Path) -> Any:
    import onnxruntime  # here, because it takes longer than the rest of the engine's start

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # parallel over texts instead
    # Idle threads that spin take the cores from the rest of the engine.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(
        str(model), sess_options=options, providers=["CPUExecutionProvider"]
    )


def _step_back_behind_searches() -> None:
    """Lower this thread's priority, where threads have one of their own."""
    if sys.platform == "linux":
        thread = threading.get_native_id()
        niceness = os.getpriority(os.PRIO_PROCESS, thread) + NICENESS
        os.setpriority(os.PRIO_PROCESS, thread, niceness)


def _checked(vector: Vector) -> Vector:
    """A vector that is not finite or not of length 1 would poison the index: refuse it here."""
    length = float(vector @ vector)
    if not abs(length - 1) < 1e-3:  # also false when it is not a number
        raise EmbeddingFailed(f"The model answered with a vector of squared length {length}")
    return vector
