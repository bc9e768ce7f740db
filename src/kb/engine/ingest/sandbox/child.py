"""Reads one document, in a process that exists only for it."""

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NoReturn

from kb.engine.errors import KbError
from kb.engine.ingest.extract import memory_files
from kb.engine.ingest.extract.extraction import Extraction, OcrNeeded, Source
from kb.engine.ingest.sandbox.confinement import limits
from kb.engine.ingest.sandbox.confinement.locks import Locks, die_with
from kb.engine.ingest.sandbox.messages import Outlet
from kb.engine.ingest.sandbox.request import Request

Extractor = Callable[[Source], Extraction]

DESCRIPTORS = 256  # a server has fewer open


class HeavierNeeded(Exception):
    """The extractor of a file is one of those that are not loaded here."""


def become_reader(
    fields: bytes, channel: int, server: int, locks: Locks, extract: Extractor
) -> NoReturn:
    """Read the document in this process, forked from `server`, and end. Of open descriptors only
    `channel` and a few empty files are kept. A process group of its own lets it be killed with
    everything it may have started."""
    if sys.platform == "win32":
        raise NotImplementedError("Windows forks no readers: see single.py")
    request, outlet = Request.from_json(fields), Outlet(channel)
    try:
        os.setpgid(0, 0)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        die_with(server)
        os.dup2(0, 2)  # what a library prints about a document stays out of the log
        limits.confine(
            request.memory_mb,
            request.cpu_seconds,
            processes=locks.processes,
            files=locks.keep_folders_closed,
        )
        kept = [channel, *(memory_files.prepare() if locks.attachments else ())]
        locks.close_reader(request.source.path)
        for before, behind in pairwise([2, *sorted(kept), DESCRIPTORS]):
            os.closerange(before + 1, behind)
    except OSError as error:
        kind = "gone" if _is_gone(request, error) else "locks"
        outlet.failure(kind, f"{type(error).__name__} {error.errno}")
        os._exit(1)
    _read(request, outlet, extract)
    os._exit(0)  # nothing that Python would still like to do is any use


def read_here(request: Request, channel: int, extract: Extractor) -> None:
    """The same where processes cannot be forked: in one that was started for it."""
    _read(request, Outlet(channel), extract)


def _read(request: Request, outlet: Outlet, extract: Extractor) -> None:
    report = _go_through(request, outlet, extract)
    report()


def _go_through(request: Request, outlet: Outlet, extract: Extractor) -> Callable[[], None]:
    """Send the pages; what is to be said last, when all that the document made is freed."""
    try:
        extraction = extract(request.source)
        outlet.document(extraction)
        for page in extraction.pages:
            outlet.page(page)
            limits.allow_cpu(request.cpu_seconds)
        return outlet.end
    except HeavierNeeded:
        return partial(outlet.needs, "heavy")
    except OcrNeeded:
        return partial(outlet.needs, "ocr")
    except KbError as error:
        return partial(outlet.error, error.with_traceback(None))
    except MemoryError:
        return partial(outlet.failure, "memory", "")
    except RecursionError:
        return partial(outlet.failure, "depth", "")
    except Exception as error:  # whatever a library makes of a hostile file
        kind = "gone" if _is_gone(request, error) else "unforeseen"
        return partial(outlet.failure, kind, type(error).__name__)


def _is_gone(request: Request, error: Exception) -> bool:
    return isinstance(error, FileNotFoundError) and not request.source.path.exists()
