"""Plants that change nothing but time, so that a test can act while something goes on."""

import time

from kb.engine.embed import HashEmbedder
from kb.engine.models import Vectors

_SECONDS = 0.05


def embedding_takes_its_time() -> None:
    """About as long as a real model takes for a batch of passages."""
    embed = HashEmbedder.embed

    def slowly(self: HashEmbedder, texts: list[str]) -> Vectors:
        time.sleep(_SECONDS)
        return embed(self, texts)

    HashEmbedder.embed = slowly  # type: ignore[method-assign]
