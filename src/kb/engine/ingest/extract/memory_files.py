"""Gives bytes a path, for readers that want one, in files that exist only in memory. Linux only. A
confined process may not create such files, because it could run a program from one: it has to
`prepare` a few beforehand, which nobody can execute."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.pages import Page, Remark, Unread

_PREPARED = 4  # mails within mails can be open at once
_NOT_TO_BE_RUN = 8  # MFD_NOEXEC_SEAL, from Linux 6.3

_prepared: list[int] | None = None  # those that are not in use; None: make one when it is needed


def prepare() -> list[int]:
    """Make the files that this process may use from now on; their descriptors."""
    global _prepared
    _prepared = [_made() for _ in range(_PREPARED)] if hasattr(os, "memfd_create") else []
    return list(_prepared)


class NoRoomInMemory(OSError):
    """There is no file in memory to be had."""


@contextmanager
def file_in_memory(data: bytes) -> Iterator[Path]:
    """A path under which the bytes can be read. Raises NoRoomInMemory without one."""
    if not hasattr(os, "memfd_create"):
        raise NoRoomInMemory("files in memory need Linux")
    if _prepared is not None and not _prepared:
        raise NoRoomInMemory("all files in memory are in use")
    descriptor = _made() if _prepared is None else _prepared.pop()
    try:
        with os.fdopen(descriptor, "wb", closefd=False) as file:
            file.write(data)
        yield Path(f"/proc/self/fd/{descriptor}")
    finally:
        if _prepared is None:
            os.close(descriptor)
        else:
            os.ftruncate(descriptor, 0)
            os.lseek(descriptor, 0, os.SEEK_SET)
            _prepared.append(descriptor)


def read_in_memory(source: Source, data: bytes, read: Callable[[Source], Extraction]) -> Extraction:
    """What is read from these bytes as the file that `source` tells of. Raises NoRoomInMemory."""
    with ExitStack() as stack:
        path = stack.enter_context(file_in_memory(data))
        found = read(replace(source, path=path))
        open_files = stack.pop_all()
    return replace(found, pages=_until_read(found.pages, open_files))


def _until_read(
    pages: Iterator[Page | Unread | Remark], open_files: ExitStack
) -> Iterator[Page | Unread | Remark]:
    with open_files:
        yield from pages


def _made() -> int:
    if sys.platform != "linux":
        raise NotImplementedError("files in memory need Linux")
    try:
        return os.memfd_create("attachment", os.MFD_CLOEXEC | _NOT_TO_BE_RUN)
    except OSError:  # an older kernel
        descriptor = os.memfd_create("attachment")
        os.fchmod(descriptor, 0o600)
        return descriptor
