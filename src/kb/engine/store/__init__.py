"""Rows in, rows out: everything the engine remembers."""

from kb.engine.store.look import FoundChunk, Look
from kb.engine.store.sqlite import Store
from kb.engine.store.vectors import Rows

__all__ = ["FoundChunk", "Look", "Rows", "Store"]
