"""The extractors without those that need large libraries.

A process forked from them costs half as much, and they are loaded in a quarter of the time. That is
most of what reading a note or a source file costs at all.
"""

from kb.engine.ingest.extract import EXTRACTORS, load
from kb.engine.ingest.extract import extract as extract_any
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.kind import kind_of
from kb.engine.ingest.sandbox.child import HeavierNeeded

_LIBRARIES = ("eml", "epub", "html", "image", "pdf")  # modules that bring them along

load(kind for kind, module in EXTRACTORS.items() if module not in _LIBRARIES)


def extract(source: Source) -> Extraction:
    """Raises HeavierNeeded for what is not here, whatever the file is called."""
    with source.path.open("rb") as file:
        kind = kind_of(file, source.filename)
    if EXTRACTORS.get(kind) in _LIBRARIES:
        raise HeavierNeeded
    return extract_any(source)
