"""An embedder without a model, for tests."""

import hashlib

import numpy as np

from kb.engine.embed.description import DIMENSIONS
from kb.engine.values import Cosines, Vector, Vectors


class HashEmbedder:
    """Texts that share words have similar vectors."""

    name = "hash-384"
    dimensions = DIMENSIONS
    cosines = Cosines(weight=0.8)
    _salt = b""

    def embed(self, texts: list[str]) -> Vectors:
        return np.array([self.embed_one(text) for text in texts], np.float32).reshape(
            -1, DIMENSIONS
        )

    def embed_one(self, text: str) -> Vector:
        """Each word adds or takes 1 in four places that its hash names."""
        vector = np.zeros(DIMENSIONS, np.float32)
        for word in text.casefold().split():
            digest = hashlib.blake2b(word.encode(), digest_size=8, salt=self._salt).digest()
            places = np.frombuffer(digest, "<u2")
            np.add.at(vector, places % DIMENSIONS, np.where(places & 0x8000, 1, -1))
        length = np.linalg.norm(vector)
        if length == 0:
            vector[0] = length = np.float32(1)
        unit: Vector = vector / length
        return unit

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def legibility(self, text: str) -> float:  # noqa: ARG002  a hash reads every language
        return 1.0


class OtherHashEmbedder(HashEmbedder):
    """The same with other places, so that vectors of the two have nothing in common."""

    name = "hash-384-other"
    _salt = b"other"
