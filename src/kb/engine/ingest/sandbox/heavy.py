"""All extractors, warmed up by samples of our own: otherwise every process would do it again, and
for a web page that takes three times as long as the page."""

from contextlib import suppress
from pathlib import Path

from kb.engine.errors import KbError
from kb.engine.ingest.extract import extract, load
from kb.engine.ingest.extract.extraction import OcrNeeded, Source
from kb.engine.ingest.extract.pictures import inside

__all__ = ["extract"]

load()
inside.load()
for _sample in sorted((Path(__file__).parent / "samples").iterdir()):
    with suppress(KbError, OcrNeeded):
        for _ in extract(Source(_sample, _sample.name)).pages:
            pass
