"""Packs the words of a page and their positions into a few bytes, and unpacks them.

A full page has about 500 words. As columns of 16 bits, their positions nearly repeat from word to
word, so everything compresses to about seven bytes a word, letters included.
"""

import struct
import zlib
from collections.abc import Sequence

import numpy as np

from kb.engine.pages import Box, PlacedWord
from kb.engine.store.file.database import Query

_COUNT = struct.Struct("<I")
_STEPS = 65_535


def pack(words: Sequence[PlacedWord]) -> bytes:
    """The sides are kept to a 65,535th of the page: far less than a pixel of its picture."""
    sides = [(word.box.left, word.box.right, word.box.top, word.box.bottom) for word in words]
    steps = np.rint(np.array(sides, np.float64).reshape(-1, 4) * _STEPS).astype("<u2")
    columns = np.diff(steps, axis=0, prepend=np.zeros((1, 4), "<u2")).astype("<u2").T
    # High bytes apart from low ones: the former are nearly all zero.
    bytes_ = columns.copy().view(np.uint8).reshape(-1, 2).T.tobytes()
    text = "\n".join(word.text for word in words).encode()
    return zlib.compress(_COUNT.pack(len(words)) + bytes_ + text, 9)


def unpack(packed: bytes) -> list[PlacedWord]:
    raw = zlib.decompress(packed)
    [count] = _COUNT.unpack_from(raw)
    end = _COUNT.size + 8 * count
    halves = np.frombuffer(raw[_COUNT.size : end], np.uint8).reshape(2, -1).T
    columns = halves.copy().view("<u2").reshape(4, count)
    left, right, top, bottom = np.cumsum(columns, axis=1, dtype=np.uint16) / _STEPS
    texts = raw[end:].decode().split("\n") if count else []
    sides = zip(left.tolist(), top.tolist(), right.tolist(), bottom.tolist(), strict=True)
    return [PlacedWord(text, Box(*box)) for text, box in zip(texts, sides, strict=True)]


def in_steps(packed: bytes) -> list[tuple[str, int, int, int, int]]:
    """The words with left, top, right and bottom as they are stored, for exports."""
    return [
        (word.text, *(round(side * _STEPS) for side in _sides(word.box)))  # type: ignore[misc]
        for word in unpack(packed)
    ]


def from_steps(words: Sequence[tuple[str, int, int, int, int]]) -> bytes:
    """What `in_steps` gave, packed again."""
    return pack([PlacedWord(text, Box(*(side / _STEPS for side in box))) for text, *box in words])


def _sides(box: Box) -> tuple[float, float, float, float]:
    return box.left, box.top, box.right, box.bottom


def put(query: Query, document_id: int, pages: dict[int, bytes]) -> None:
    """The words of a document's pages, in place of those that were there."""
    query("DELETE FROM page_words WHERE document_id = :id", id=document_id)
    add(query, document_id, pages)


def add(query: Query, document_id: int, pages: dict[int, bytes]) -> None:
    """The words of more pages of a document."""
    query.many(
        "INSERT INTO page_words (document_id, page, words) VALUES (:id, :page, :words)",
        ({"id": document_id, "page": page, "words": words} for page, words in pages.items()),
    )


def move(query: Query, document_id: int, to: int) -> None:
    """The words of a document's pages to another, in place of those that were there."""
    query("DELETE FROM page_words WHERE document_id = :to", to=to)
    query("UPDATE page_words SET document_id = :to WHERE document_id = :id", id=document_id, to=to)


def placed_words(query: Query, document_id: int, page: int) -> list[PlacedWord]:
    rows = query(
        "SELECT words FROM page_words WHERE document_id = :id AND page = :page",
        id=document_id,
        page=page,
    )
    return unpack(rows[0][0]) if rows else []
