"""Reads the words on Windows drawings (EMF, WMF), which have positions and widths of letters."""

from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.pictures.metafile import emf, wmf
from kb.engine.ingest.extract.pictures.metafile.lines import in_lines
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.pages import Page

_MAX_BYTES = 64 * 2**20
_ENDINGS = ("emf", "wmf")


def extract(source: Source) -> Extraction:
    data = Refusals(source.filename).bytes_of(source.path, _MAX_BYTES)
    is_newer = emf.is_emf(data)
    text = in_lines(emf.texts(data) if is_newer else wmf.texts(data))
    if not any(map(str.isalnum, text)):
        raise Refusals(source.filename).no_text()
    named = ending(source.filename)
    return Extraction(
        "image",
        named if named in _ENDINGS else _ENDINGS[not is_newer],
        iter([Page(text, lines_count=False)][source.start :]),
    )
