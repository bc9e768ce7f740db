"""Everything the engine remembers."""

from kb.engine.store.file.belonging import refuse_to_start_empty
from kb.engine.store.file.database import SEARCHERS
from kb.engine.store.search.look import FoundChunk, Look
from kb.engine.store.search.sign_bits import Rows
from kb.engine.store.sqlite import Store

__all__ = ["SEARCHERS", "FoundChunk", "Look", "Rows", "Store", "refuse_to_start_empty"]
