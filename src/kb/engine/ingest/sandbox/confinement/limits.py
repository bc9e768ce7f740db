"""Limits a process's memory, time and files."""

import sys
from dataclasses import dataclass

from kb.engine.ingest.sandbox.request import Level

_MB = 2**20
_DESCRIPTORS = 32
_FILE_MB = 64  # the longest part of a document


@dataclass(frozen=True, slots=True)
class Limits:
    """What reading one document may cost, at most. Processor time is counted by the kernel for each
    page; the engine also counts how long it waits and works for one, since a reader may sleep, or
    flood it. `crashes` and `seconds_lost` bound how often, and how long in all, reading may end
    badly on a page and be taken up at the next."""

    memory_mb: int = 1_024
    memory_ocr_mb: int = 1_536
    cpu_seconds: int = 20  # a page
    cpu_ocr_seconds: int = 60  # a dense one that lies on its side is read three times
    page_seconds: float = 60.0
    page_ocr_seconds: float = 180.0
    turn_seconds: float = 5.0  # of recognising, while another document waits to
    document_seconds: float = 600.0  # and page_ocr_seconds more for every page of a picture
    crashes: int = 20
    seconds_lost: float = 120.0
    characters: int = 20 * _MB
    pages: int = 10_000
    heads_mb: int = 256  # of what is said about pages beside their text
    work_seconds: float = 60.0  # of the engine's own processor time, to check what a reader sends
    start_seconds: float = 60.0  # until the readers are loaded and one is started

    def of(self, level: Level) -> "PageLimits":
        if level == "ocr":
            return PageLimits(self.memory_ocr_mb, self.cpu_ocr_seconds, self.page_ocr_seconds, True)
        return PageLimits(self.memory_mb, self.cpu_seconds, self.page_seconds)


@dataclass(frozen=True, slots=True)
class PageLimits:
    """What holds for one page, by what it takes to read it."""

    memory_mb: int
    cpu_seconds: int
    page_seconds: float
    ocr: bool = False


def confine(memory_mb: int, cpu_seconds: int, *, processes: bool, files: bool) -> None:
    """Limit this process. `processes` leaves it the right to start others; `files` to write some,
    which then must be such as are in memory."""
    if sys.platform == "win32":
        raise NotImplementedError("Windows has no such limits")
    import resource

    _limit(resource.RLIMIT_AS, memory_mb * _MB)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_FSIZE, _FILE_MB * _MB if files else 0)
    _limit(resource.RLIMIT_NOFILE, _DESCRIPTORS)
    if not processes:
        _limit(resource.RLIMIT_NPROC, 0)
    allow_cpu(cpu_seconds)


def allow_cpu(seconds: int) -> None:
    """Give this process so much processor time from now on, for a page: at its end SIGXCPU kills
    it."""
    if sys.platform == "win32":
        return
    import resource

    used = resource.getrusage(resource.RUSAGE_SELF)
    allowed = int(used.ru_utime + used.ru_stime) + 1 + seconds
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = allowed if hard == resource.RLIM_INFINITY else min(allowed, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _limit(kind: int, value: int) -> None:
    if sys.platform == "win32":
        raise NotImplementedError("Windows has no such limits")
    import resource

    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    try:
        resource.setrlimit(kind, (value, value))
    except (OSError, ValueError):
        if sys.platform != "darwin":  # which knows all of these, but does not let all be set
            raise
