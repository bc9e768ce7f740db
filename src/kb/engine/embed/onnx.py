"""Embeds text with a model on onnxruntime, one text at a time."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from kb.engine.embed.description import Description
from kb.engine.embed.word_pieces import WordPiece
from kb.engine.errors import EmbeddingFailed
from kb.engine.values import Vector, Vectors

NICENESS = 10  # how far passages step back behind searches, of 19


class OnnxEmbedder:
    """One session for all threads: its `run` takes no lock and releases the interpreter's.

    Each text runs alone. That is as fast as batches, keeps memory flat, and makes a vector depend
    on its text only: the ranges of the int8 arithmetic are taken over everything in one run.
    """

    def __init__(self, description: Description, workers: int | None = None) -> None:
        self.name = description.name
        self.dimensions = description.dimensions
        self.cosines = description.cosines
        self._description = description
        self._tokenizer = WordPiece(description.vocabulary)
        self._session = _open_session(description.file)
        self._inputs = [each.name for each in self._session.get_inputs()]
        self._check_inputs()
        self.embed_one("")  # what the description has wrong about the graph shows here
        self._pool = ThreadPoolExecutor(
            workers or os.cpu_count() or 1,
            thread_name_prefix="embed",
            initializer=_step_back_behind_searches,
        )

    def embed(self, texts: list[str]) -> Vectors:
        """One row per passage, in order, on all cores, at a lower priority than `embed_one`."""
        prefix = self._description.passage_prefix
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        passages = (prefix + text for text in texts)
        for row, vector in enumerate(self._pool.map(self._vector, passages)):
            vectors[row] = vector
        return vectors

    def embed_one(self, text: str) -> Vector:
        """A question's vector of length 1."""
        return self._vector(self._description.query_prefix + text)

    def count_tokens(self, text: str) -> int:
        return len(self._tokenizer.ids(text))

    def legibility(self, text: str) -> float:
        return self._tokenizer.legibility(text)

    def _vector(self, text: str) -> Vector:
        """Tokens beyond the model's limit are ignored."""
        tokenizer = self._tokenizer
        room = self._description.max_tokens - 2
        ids = np.array([[tokenizer.start, *tokenizer.ids(text, room), tokenizer.end]], np.int64)
        try:
            output = self._session.run(None, {name: _input(name, ids) for name in self._inputs})
        except Exception as error:  # onnxruntime's errors share no class of their own
            raise EmbeddingFailed(f"The model failed on a text of {ids.size} tokens") from error
        return self._checked(self._pooled(output[0][0]))

    def _pooled(self, output: Vectors) -> Vector:
        if self._description.pooling == "inside":
            return output
        vector = output[0] if self._description.pooling == "cls" else output.mean(0)
        pooled: Vector = vector / np.linalg.norm(vector)
        return pooled

    def _checked(self, vector: Vector) -> Vector:
        """A vector that is not finite or not of length 1 would poison the index: refuse it here."""
        if vector.shape != (self.dimensions,):
            raise EmbeddingFailed(
                f"The model answered with {vector.shape} numbers instead of {self.dimensions}: "
                "its description must name the right pooling and dimensions"
            )
        length = float(vector @ vector)
        if not abs(length - 1) < 1e-3:  # also false when it is not a number
            raise EmbeddingFailed(f"The model answered with a vector of squared length {length}")
        return vector

    def _check_inputs(self) -> None:
        unknown = set(self._inputs) - {"input_ids", "attention_mask", "token_type_ids"}
        if unknown or "input_ids" not in self._inputs:
            raise EmbeddingFailed(
                f"The graph of {self.name} takes {', '.join(self._inputs)}: it must take "
                "input_ids, and may take attention_mask and token_type_ids"
            )


def _input(name: str, ids: Any) -> Any:
    if name == "input_ids":
        return ids
    return np.ones_like(ids) if name == "attention_mask" else np.zeros_like(ids)


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
