"""Reads a file inside another one by its own reader, as a file in memory; its pages are cited by
its place. If it cannot be read, the file around it is still read."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kb.engine.errors import KbError, NoTextFound, UnsupportedFormat
from kb.engine.ingest import ocr
from kb.engine.ingest.extract.extraction import Extraction, OcrNeeded, Source
from kb.engine.ingest.extract.memory_files import file_in_memory
from kb.engine.pages import Page, Remark, Unread

logger = logging.getLogger(__name__)

Read = Callable[[Source], Extraction]

DEEPEST = 3  # files within files


@dataclass(frozen=True, slots=True)
class Refused(Remark):
    """A file at `place` is of a kind that cannot be read; `why` says of which, and what to do."""

    place: str = ""
    why: str = ""


def refused(place: str, why: str) -> Refused:
    return Refused(f"{place} was not read: {why}", place=place, why=why)


def attached_pages(
    around: Source, name: str, data: bytes, place: str, read: Read
) -> Iterator[Page | Remark]:
    """`around` is the file that holds this one. Raises OcrNeeded."""
    if around.depth >= DEEPEST:
        yield Remark(f"{place} was not read: it is inside too many other files")
        return
    try:
        with file_in_memory(data) as path:
            inside = replace(
                around, path=path, filename=name, start=0, careful=False, depth=around.depth + 1
            )
            found = read(inside)
            waits = around.wanted != "text" or not found.pictures
            for page in found.pages:
                waits = waits or (isinstance(page, Page) and page.method == "later")
                yield _placed(page, place)
            if not waits:  # the pictures inside it, in any case
                yield Page("", location=place, method="later")
    except OcrNeeded:
        raise
    except UnsupportedFormat as error:
        yield refused(place, str(error.details.get("reason") or error.message))
    except NoTextFound:
        logger.debug("an attachment has no text")
    except KbError as error:
        yield Remark(f"{place}: {error.message}")
    except OSError as error:
        logger.info("an attachment could not be opened: %s", error)
        yield Remark(f"{place} was not read: it could not be opened")
    except Exception as error:  # one broken attachment must not cost all the rest
        logger.warning("an attachment could not be read", exc_info=True)
        yield Remark(f"{place}: it could not be read ({type(error).__name__})")


def pass_over(around: Source, done: int) -> None:
    """Have nobody recognise again what an earlier process has: `done` pages were gone through."""
    if not around.depth:
        ocr.pass_over(done < around.start)


def _placed(page: Page | Unread | Remark, place: str) -> Page | Remark:
    """A page of an attachment, cited by the attachment and its place in there. One that could not
    be read is none of the file around it, which may have no pages at all."""
    if isinstance(page, Refused):
        return refused(f"{place}, {page.place}", page.why)
    if isinstance(page, Remark):
        return replace(page, text=page.text and f"{place}: {page.text}")
    if isinstance(page, Unread):
        return Remark(f"{place}, page {page.number}: {page.reason}")
    inside = page.location or (f"page {page.number}" if page.number is not None else "")
    grid = page.grid
    if grid is not None and grid.columns is None:
        inside, grid = f"rows {grid.rows[0]}–{grid.rows[-1]}", None
    location = f"{place}, {inside}" if inside else place
    return replace(page, number=None, location=location, grid=grid, lines_count=False)
