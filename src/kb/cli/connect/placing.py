"""Writes a file's new text completely or not at all, and keeps a copy of the old text beside it."""

import contextlib
import os
import stat
import sys
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from kb.cli.failure import Failure

_OWNER_ONLY = 0o600


@dataclass(frozen=True, slots=True)
class Placed:
    """What became of a file. `backup` is where its former text is; a new file has none.

    `closed` says that others could read it before and cannot any more.
    """

    file: Path
    changed: bool
    backup: Path | None = None
    closed: bool = False


def read_file(file: Path) -> str | None:
    """The text of a file, exactly, or None where there is none."""
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise Failure(f"{file}: not UTF-8 text, so kb leaves it alone") from None
    except OSError as error:
        raise Failure(f"{file}: cannot be read: {error.strerror}") from None


def place(file: Path, before: str | None, after: str, *, secret: bool) -> Placed:
    """Give a file its new text. With a `secret` in it, nobody else may read it any more.

    `before` is what the new text was made from: what somebody wrote meanwhile is not overwritten.
    A link is followed, so that a file kept elsewhere stays there.
    """
    real = Path(os.path.realpath(file))
    try:
        mode = _mode(real)
        wanted = mode & _OWNER_ONLY if secret and os.name == "posix" else mode
        backup = None
        if before == after:
            os.chmod(real, wanted)
        else:
            backup = _replace(real, before, after, wanted)
    except OSError as error:
        raise Failure(f"{file}: cannot be written: {error.strerror}") from None
    return Placed(file, before != after, backup, closed=wanted != mode)


def _mode(real: Path) -> int:
    """The mode a file has; a new one is for its owner alone."""
    try:
        return stat.S_IMODE(real.stat().st_mode)
    except FileNotFoundError:
        return _OWNER_ONLY


def _replace(real: Path, before: str | None, after: str, mode: int) -> Path | None:
    real.parent.mkdir(parents=True, exist_ok=True)
    new = _written(real, after, mode)
    try:
        if read_file(real) != before:
            raise Failure(f"{real}: was changed by another program just now; try again")
        backup = None if before is None else _back_up(real, before, mode)
        os.replace(new, real)
    finally:
        with contextlib.suppress(FileNotFoundError):
            new.unlink()
    return backup


def _back_up(real: Path, text: str, mode: int) -> Path:
    """The former text beside the file, under a name that nothing has yet.

    It may hold a key as well, so no more may read it than the file itself from now on.
    """
    moment = datetime.now().strftime("%Y%m%d-%H%M%S")
    for number in range(1, 100):
        suffix = "" if number == 1 else f"-{number}"
        backup = real.with_name(f"{real.name}.{moment}{suffix}.bak")
        if not backup.exists():
            os.replace(_written(real, text, mode), backup)
            return backup
    raise Failure(f"{real}: there are already a hundred backups from this second; try again")


def _written(real: Path, text: str, mode: int) -> Path:
    """A new file beside `real` that holds the text, on disk; whose `real` is, if that is there."""
    number, name = tempfile.mkstemp(prefix=f".{real.name}.", suffix=".new", dir=real.parent)
    try:
        with os.fdopen(number, "wb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        _give(name, real)
        os.chmod(name, mode)
    except BaseException:
        os.unlink(name)
        raise
    return Path(name)


def _give(name: str, real: Path) -> None:
    """Keep the owner of the file, even if root runs `sudo kb connect`."""
    if sys.platform == "win32" or not real.exists():
        return
    kept, new = real.stat(), os.stat(name)
    if (kept.st_uid, kept.st_gid) != (new.st_uid, new.st_gid):
        os.chown(name, kept.st_uid, kept.st_gid)
