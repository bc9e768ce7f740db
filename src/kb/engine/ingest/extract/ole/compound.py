"""Opens a compound file: its streams, and what it says about itself."""

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import olefile

from kb.engine.errors import PasswordNeeded
from kb.engine.ingest.extract.about import about, line
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.extract.ole import summary
from kb.engine.ingest.extract.ole.summary import Summary
from kb.engine.ingest.extract.refusals import Refusals

_RIGHTS = "\tDRMContent"
MAX_BYTES = 256 * 2**20
# What makes no sense of bytes: none of these is an error of ours, as long as the files are read
# with `struct` and by index.
_SENSELESS = (
    struct.error,
    LookupError,
    ValueError,
    OSError,
    OverflowError,
    AssertionError,
    TypeError,
    AttributeError,
    EOFError,
)


class Compound(Refusals):
    """One opened file. Raises DamagedFile and ContentTooLarge."""

    def __init__(self, source: Source) -> None:
        super().__init__(source.filename)
        size = source.path.stat().st_size
        if size > MAX_BYTES:
            raise self.too_large(f"it has more than {MAX_BYTES // 2**20} MB")
        with making_sense(source):
            self._ole = olefile.OleFileIO(source.path.read_bytes())
            is_restricted = self._ole.exists(_RIGHTS)
        if is_restricted:  # all that can be read says so
            raise PasswordNeeded(
                f"{source.filename} is restricted to some people (DRM): its text cannot be read",
                filename=source.filename,
            )

    def __contains__(self, name: str | list[str]) -> bool:
        return bool(self._ole.exists(name))

    def stream(self, *names: str) -> bytes:
        """The first of these that is there; empty if none is."""
        for name in names:
            if self._ole.exists(name):
                with self._ole.openstream(name) as stream:
                    return bytes(stream.read())
        return b""

    def names(self) -> list[list[str]]:
        """All streams and storages, each by its path."""
        return list(self._ole.listdir(streams=True, storages=True))

    def is_stream(self, path: list[str]) -> bool:
        return bool(self._ole.get_type(path) == olefile.STGTY_STREAM)

    @property
    def title(self) -> str | None:
        return line(self._summary.text(summary.TITLE)) or None

    @property
    def metadata(self) -> dict[str, Any]:
        return about(
            {
                "author": self._summary.text(summary.AUTHOR),
                "subject": self._summary.text(summary.SUBJECT),
                "keywords": self._summary.text(summary.KEYWORDS),
                "description": self._summary.text(summary.COMMENTS),
                "created": self._summary.date(summary.CREATED),
                "modified": self._summary.date(summary.SAVED),
            }
        )

    @property
    def page_count(self) -> int | None:
        """How many pages there were when the file was saved, if it says so."""
        pages = self._summary.number(summary.PAGES)
        return pages if pages > 0 else None

    @cached_property
    def _summary(self) -> Summary:
        try:
            return Summary(self.stream("\x05SummaryInformation"))
        except _SENSELESS:  # the document can be read without it
            return Summary(b"")


@contextmanager
def making_sense(source: Source) -> Iterator[None]:
    """Anything senseless inside means a damaged file."""
    try:
        yield
    except _SENSELESS as error:
        raise Refusals(source.filename).damaged("its parts do not fit together") from error
