"""Reads files in a process that can do nothing else.

A file may be made to crash its parser, to fill the memory, to run for ever, or to take the parser
over. So the engine parses none itself. It starts a server (`server.py`) with its first file. The
server forks a process for each document (`child.py`), which locks itself in (`confinement/`) and
sends what it reads (`messages.py`). The engine trusts none of it (`checking.py`), and decides what
to do if a page crashes its reader (`reading.py`).
"""

import sys
from collections.abc import Callable
from typing import Any, cast

from kb.engine.ingest import ocr as pictures
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.sandbox.attempt import Child
from kb.engine.ingest.sandbox.checking import Heading
from kb.engine.ingest.sandbox.confinement.limits import Limits
from kb.engine.ingest.sandbox.reading import Reading, Watch
from kb.engine.ingest.sandbox.request import LEVELS, Level, Request
from kb.engine.ingest.sandbox.state import Mode, SandboxState
from kb.engine.ingest.sandbox.turns import Turns

if sys.platform == "win32":
    from kb.engine.ingest.sandbox.single import SingleProcesses as Readers
else:
    from kb.engine.ingest.sandbox.process import ForkServers as Readers

__all__ = ["Limits", "Sandbox", "SandboxState", "Watch"]

_MODULE = "kb.engine.ingest.sandbox"
_READERS: dict[Level, str] = {
    "light": f"{_MODULE}.light",
    "heavy": f"{_MODULE}.heavy",
    "ocr": f"{_MODULE}.heavy",
}


class Sandbox:
    """Reads documents, several at once if several threads ask. There is a server for each set of
    loaded readers, from the first file that needs it until `idle_seconds` without one. `reader` is
    a module that extracts instead of ours: the one that draws pages, and those of tests."""

    def __init__(
        self,
        *,
        idle_seconds: float = 30.0,
        limits: Limits = Limits(),  # noqa: B008 (it cannot change)
        reader: str | None = None,
        mode: Mode = "auto",
    ) -> None:
        self.state = SandboxState.of_this_machine(mode)
        self._limits = limits
        modules = _READERS if reader is None else dict.fromkeys(LEVELS, reader)
        self._readers = Readers(modules, idle_seconds)
        self._turns = Turns()

    def extract(
        self, source: Source, stopped: Callable[[], bool], watch: Watch | None = None
    ) -> Extraction:
        """Read a file, as `extract.extract` does, but elsewhere.

        Raises what an extractor raises; TookTooLong, ContentTooLarge, NestedTooDeep, DamagedFile
        or ExtractionFailed for what it died of; OcrFailed where no pictures can be read; JobLost as
        soon as `stopped` says so; and what `watch` raises. Going through the pages raises the same.
        It waits for its turn to recognise pictures, since there is memory to read those of one
        document at a time. To stop, close or drop `pages`. Raises SandboxMissing where nothing must
        be read.
        """
        self.state.check(source.filename)
        reading = Reading(self._start, source, stopped, self._limits, self._turns, watch)
        items = reading.items()
        heading = cast(Heading, next(items))
        return Extraction(
            heading.doc_type,
            heading.format,
            cast(Any, items),
            title=heading.title,
            metadata=heading.metadata,
            page_count=heading.page_count,
            reader=heading.reader,
            pictures=heading.pictures,
        )

    def close(self) -> None:
        """Stop whatever still reads."""
        self._readers.close()

    def _start(self, source: Source, level: Level) -> Child:
        limits = self._limits.of(level)
        request = Request(source, limits.memory_mb, limits.cpu_seconds)
        ocr = None
        if level == "ocr":
            pictures.require(source.ocr)  # or a server would start and die of it
            ocr = (source.ocr.engine, source.ocr.languages)
        return self._readers.start(level, ocr, request)
