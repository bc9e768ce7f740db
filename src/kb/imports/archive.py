"""Opens a path as a folder or a file; archives are unpacked into a temporary folder.

An archive may come from anywhere. It is refused if it has paths that lead out of the folder or
anything but plain files, or unpacks to far more than its size.
"""

import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from kb.imports.item import Unreadable

MOST_MEMBERS = 500_000
MOST_BYTES = 64 * 2**30
# Text shrinks to a tenth; what unpacks to much more than that was made to fill a disk.
_RATIO = 100
_ALWAYS_ALLOWED = 64 * 2**20
_BLOCK = 1 << 20
_PREFIX = "kb-import-"
_ENCRYPTED = 0x1
_UTF_8 = 0x800
_BEGINNING = b"PK\x03\x04"
_DEEPEST = 64


def was_unpacked(path: Path) -> bool:
    """Whether this is a folder of `unpacked`: where it lies means nothing, and will not last."""
    return path.name.startswith(_PREFIX) and path.parent == Path(tempfile.gettempdir())


@contextmanager
def unpacked(path: Path) -> Iterator[Path]:
    """The path itself, or a temporary folder with the contents of the archive."""
    if not path.is_file() or not _is_archive(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix=_PREFIX) as folder:
        try:
            with zipfile.ZipFile(path) as archive:
                _unpack(archive, path, Path(folder))
        except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError) as error:
            raise Unreadable(
                f"{path}: the archive is damaged or cut ({error}): fetch or pack it again"
            ) from error
        except OSError as error:
            why = error.strerror or str(error)
            raise Unreadable(f"{path} cannot be unpacked to {folder}: {why}") from error
        yield Path(folder)


def _is_archive(path: Path) -> bool:
    """Also truncated ones: the table of contents is at the end."""
    if zipfile.is_zipfile(path):
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(_BEGINNING)) == _BEGINNING
    except OSError:
        return False


def _unpack(archive: zipfile.ZipFile, path: Path, folder: Path) -> None:
    members = [member for member in archive.infolist() if not member.is_dir()]
    if len(members) > MOST_MEMBERS:
        raise Unreadable(f"{path} has more than {MOST_MEMBERS:,} files: unpack it, import that")
    left = min(MOST_BYTES, max(_ALWAYS_ALLOWED, path.stat().st_size * _RATIO))
    for member in members:
        target = folder.joinpath(*_parts(member, path))
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with archive.open(member) as source, target.open("xb") as file:
                left = _copy(source, file, left, path)
        except (FileExistsError, NotADirectoryError):
            raise Unreadable(
                f"{path} has {member.filename!r} twice: unpack it yourself, keep the right one, "
                "and import the folder"
            ) from None


def _copy(source: IO[bytes], file: IO[bytes], left: int, path: Path) -> int:
    """What was announced need not be true: the bytes that come are counted."""
    while block := source.read(_BLOCK):
        left -= len(block)
        if left < 0:
            raise Unreadable(
                f"{path} unpacks to far more than it is: unpack it yourself if you trust it, and "
                "import the folder"
            )
        file.write(block)
    return left


def _name(member: zipfile.ZipInfo) -> str:
    """Some programs write UTF-8 and do not say so: what can be read as that was meant so."""
    if member.flag_bits & _UTF_8:
        return member.filename
    try:
        return member.filename.encode("cp437").decode()
    except UnicodeError:
        return member.filename


def _parts(member: zipfile.ZipInfo, path: Path) -> tuple[str, ...]:
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind not in (0, stat.S_IFREG):
        raise Unreadable(
            f"{path} holds {member.filename!r}, which is not a plain file: unpack it yourself if "
            "you trust it, take that out, and import the folder"
        )
    if member.flag_bits & _ENCRYPTED:
        raise Unreadable(f"{path} is locked by a password: unpack it, and import the folder")
    name = _name(member).replace("\\", "/")
    parts = PurePosixPath(name).parts
    outside = name.startswith("/") or ".." in parts or (parts and ":" in parts[0][:2])
    if outside or not parts or len(parts) > _DEEPEST:
        raise Unreadable(
            f"{path} holds {member.filename!r}, which would lie outside its folder: unpack it "
            "yourself if you trust it, take that out, and import the folder"
        )
    return parts
