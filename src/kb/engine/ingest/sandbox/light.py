"""The extractors that need no large libraries. They cost half as much to fork and a quarter of the
time to load, which is most of the cost of reading a note or a source file."""

from lxml import etree

from kb.engine.ingest.extract import embedded, extract_as, load
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.formats import BY_KIND, FORMATS
from kb.engine.ingest.extract.kind import kind_of
from kb.engine.ingest.sandbox.child import HeavierNeeded

load([each.kind for each in FORMATS if not each.heavy])

# To load them leaves many small holes in memory. Each process would put what it parses into these,
# here and there, and a page of memory is copied for the first byte that is written to it: for a
# small document that is a sixth of all that it costs. So elements that nobody reads fill them.
_ELEMENTS = "".join(f"<b c='{'-' * (number % 200)}'/>" for number in range(500))
_IN_HOLES = etree.fromstring(f"<a>{_ELEMENTS}</a>")


def extract(source: Source) -> Extraction:
    """Raises HeavierNeeded for formats that are not here, whatever the file is called."""
    with source.path.open("rb") as file:
        kind = kind_of(file, source.filename)
    holds_files = kind == "ole" or embedded.are_in(source.path, kind)
    if holds_files or (kind in BY_KIND and BY_KIND[kind].heavy):
        raise HeavierNeeded
    try:
        return extract_as(kind, source)
    except ImportError as error:  # what unlocks it, say: nothing can be loaded here any more
        raise HeavierNeeded from error
