"""Plants that change no behaviour, only when it shows: later, or with less to do."""

import time

from kb.engine.embed import HashEmbedder
from kb.engine.store.rows import chunk_rows
from kb.engine.values import Vectors

_SECONDS = 0.5
_PASSAGE_SECONDS = 0.015


def embedding_takes_its_time() -> None:
    """So long for a few passages that a file of hundreds is not done before a test has looked."""
    embed = HashEmbedder.embed

    def slowly(self: HashEmbedder, texts: list[str]) -> Vectors:
        time.sleep(_SECONDS)
        return embed(self, texts)

    HashEmbedder.embed = slowly  # type: ignore[method-assign]


def every_passage_takes_its_time() -> None:
    """As with a real model: many passages at once take longer than a note."""
    embed = HashEmbedder.embed

    def slowly(self: HashEmbedder, texts: list[str]) -> Vectors:
        time.sleep(_PASSAGE_SECONDS * len(texts))
        return embed(self, texts)

    HashEmbedder.embed = slowly  # type: ignore[method-assign]


def every_document_of_two_passages_is_long() -> None:
    """What is put off for long documents is put off for short ones, so that kills hit it."""
    chunk_rows.FORGOTTEN_AT_ONCE = 1
