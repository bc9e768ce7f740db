"""The extractors without those that need large libraries.

A process forked from them costs half as much, and they are loaded in a quarter of the time. That is
most of what reading a note or a source file costs at all.
"""

from lxml import etree

from kb.engine.ingest.extract import EXTRACTORS, embedded, extract_as, load
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.kind import kind_of
from kb.engine.ingest.sandbox.child import HeavierNeeded

# Those whose extractors bring them along, or read any file that is inside of theirs.
_LIBRARIES = frozenset(
    {"eml", "epub", "html", "iwork", "mbox", "mobi", "msg", "pdf", "zip", "tar", "gzip", "bzip2"}
    | {"pst", "xz", "avif", "bmp", "gif", "heic", "jp2", "jpeg", "png", "tiff", "webp"}
)

load([kind for kind in EXTRACTORS if kind not in _LIBRARIES])

# To load them leaves many small holes in memory. Each process would put what it parses into these,
# here and there, and a page of memory is copied for the first byte that is written to it: for a
# small document that is a sixth of all that it costs. So elements that nobody reads fill them.
_ELEMENTS = "".join(f"<b c='{'-' * (number % 200)}'/>" for number in range(500))
_IN_HOLES = etree.fromstring(f"<a>{_ELEMENTS}</a>")


def extract(source: Source) -> Extraction:
    """Raises HeavierNeeded for what is not here, whatever the file is called."""
    with source.path.open("rb") as file:
        kind = kind_of(file, source.filename)
    holds_files = kind == "ole" or embedded.are_in(source.path, kind)
    if kind in _LIBRARIES or holds_files:
        raise HeavierNeeded
    return extract_as(kind, source)
