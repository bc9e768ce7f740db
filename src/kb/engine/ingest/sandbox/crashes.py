"""What people are told about how a reader ended."""

import signal
from dataclasses import dataclass

from kb.engine import errors

_OUT_OF_TIME = getattr(signal, "SIGXCPU", None)  # not on Windows, nor is the next
_KILLED = getattr(signal, "SIGKILL", None)
_MOST = 0.7  # of the memory allowed: who ends badly with so much in use, ended for want of more


@dataclass(frozen=True, slots=True)
class Ended:
    """How a process ended: `code` is its exit code, or a signal below 0."""

    code: int
    memory_kb: int


@dataclass(frozen=True, slots=True)
class Crash:
    """A reader that did not come to its end: the error it is, and why, in words."""

    error: type[errors.KbError]
    reason: str

    def as_error(self, filename: str) -> errors.KbError:
        return self.error(f"{filename} could not be read: {self.reason}", filename=filename)


def too_slow(seconds: float) -> Crash:
    return Crash(errors.TookTooLong, f"reading it took longer than {seconds:g} seconds")


def too_big(memory_mb: int) -> Crash:
    return Crash(errors.ContentTooLarge, f"reading it takes more than {memory_mb} MB of memory")


def nonsense(what: object) -> Crash:
    return Crash(errors.ExtractionFailed, f"its reader answered with nonsense ({what})")


def from_failure(kind: str, what: str, memory_mb: int) -> Crash:
    """What a reader itself said that it failed of."""
    if kind == "memory":
        return too_big(memory_mb)
    if kind == "depth":
        return Crash(errors.NestedTooDeep, "it is nested too deeply")
    if kind == "gone":
        return Crash(
            errors.ExtractionFailed, "it is gone from the engine's data folder; add it again"
        )
    if kind == "locks":
        return Crash(errors.ExtractionFailed, f"its reader could not be locked in ({what})")
    return Crash(errors.ExtractionFailed, f"its reader failed on an unexpected content ({what})")


def from_end(ended: Ended, cpu_seconds: int, memory_mb: int) -> Crash:
    """What the system said that a reader died of."""
    died_of = -ended.code
    if died_of == _OUT_OF_TIME:
        return too_slow(cpu_seconds)
    if died_of == _KILLED or ended.memory_kb > _MOST * memory_mb * 1_024:
        return too_big(memory_mb)  # the system itself kills only for want of memory
    return Crash(errors.DamagedFile, "its reader crashed, so it is probably damaged")
