"""Keeps the blocks of a database, each once by its hash, as differences from the block before.

A change of one document in a hundred changes a few bytes on nearly every page of the word index. So
a changed block is kept as its difference from the block that was in its place: deflated with that
one as the dictionary. Blocks are kept in packs, each with a list of its contents at the end:

    magic, blocks one after the other, list of blocks, footer (where the list begins and its hash)
"""

import hashlib
import os
import struct
import uuid
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from kb.engine.backup.disk import Disk
from kb.engine.errors import BackupDamaged
from kb.platform import sync

# Deflate looks back 32 KB: in a block of half of that it sees all of the one before.
BLOCK_BYTES = 16384
HASH_BYTES = 32

_MAGIC = b"kb blocks 1\n"
_ENTRY = struct.Struct("<32s32sQI")  # hash, hash of what it differs from (or zeros), place, length
_FOOTER = struct.Struct("<QI32s")
_NOTHING = bytes(HASH_BYTES)
_PACK_BYTES = 64 << 20
# A chain of differences ends after so many at least; spread by the hashes of the blocks that they
# begin with, so that no single backup has to write many of them whole again.
_SHORTEST_CHAIN, _SPREAD = 8, 16
_WORTH_IT = 0.5  # of the block kept whole
_REMEMBERED = 2048  # blocks: 32 MB


def hash_of(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


@dataclass(frozen=True, slots=True)
class _Place:
    pack: str
    offset: int
    length: int
    base: bytes | None


class Blocks:
    """The blocks in a folder of packs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._places: dict[bytes, _Place] = {}
        self._packs: dict[str, list[bytes]] = {}
        self._open: dict[str, BinaryIO] = {}
        self._remembered: OrderedDict[bytes, bytes] = OrderedDict()
        self.damaged_packs: dict[str, str] = {}  # and what is wrong with them
        self._unread: OSError | None = None  # why one of them could not be looked into
        for path in sorted(folder.glob("*.pack")):
            self.learn(path)

    def learn(self, path: Path) -> None:
        """Read what a pack holds. What is in several packs is read from the latest."""
        try:
            entries = _entries_of(path)
        except (BackupDamaged, OSError) as error:
            self.damaged_packs[path.name] = str(error)
            self._unread = error if isinstance(error, OSError) else self._unread
            return
        self._packs[path.name] = [key for key, _ in entries]
        self._places.update(entries)

    def __contains__(self, key: bytes) -> bool:
        return key in self._places

    def forget(self, key: bytes) -> None:
        """Treat a block as if it were not there, so that it is written again."""
        self._places.pop(key, None)

    def read(self, key: bytes) -> bytes:
        """A block, compared with its hash. Raises BackupDamaged."""
        content = self._content(key, 0)
        if hash_of(content) != key:
            place = self._places[key]
            raise BackupDamaged(f"the block at {place.offset} in {place.pack} has changed")
        return content

    def _content(self, key: bytes, depth: int) -> bytes:
        if key in self._remembered:
            self._remembered.move_to_end(key)
            return self._remembered[key]
        place = self._places.get(key)
        if place is None or depth > _SHORTEST_CHAIN + _SPREAD:
            if self._unread is not None:  # it may be there
                raise self._unread
            lost = f"; the packs {', '.join(self.damaged_packs)} cannot be read"
            raise BackupDamaged(
                f"the block {key.hex()[:16]} is missing{lost if self.damaged_packs else ''}"
            )
        packed = self._read_packed(place)
        before = b"" if place.base is None else self._content(place.base, depth + 1)
        try:
            inflate = zlib.decompressobj(-zlib.MAX_WBITS, zdict=before)
            content = inflate.decompress(packed, BLOCK_BYTES)
        except zlib.error as error:
            raise BackupDamaged(
                f"the block at {place.offset} in {place.pack} cannot be unpacked: {error}"
            ) from error
        self._remember(key, content)
        return content

    def _remember(self, key: bytes, content: bytes) -> None:
        self._remembered[key] = content
        if len(self._remembered) > _REMEMBERED:
            self._remembered.popitem(last=False)

    def _read_packed(self, place: _Place) -> bytes:
        file = self._open.get(place.pack)
        if file is None:
            file = self._open[place.pack] = (self._folder / place.pack).open("rb")
        file.seek(place.offset)
        return file.read(place.length)

    def close(self) -> None:
        for file in self._open.values():
            file.close()
        self._open.clear()
        self._remembered.clear()

    def chain(self, key: bytes) -> list[bytes]:
        """A block and those that it cannot be read without."""
        found = [key]
        while (place := self._places.get(found[-1])) and place.base is not None:
            found.append(place.base)
        return found

    def packed(self, content: bytes, before: bytes | None) -> tuple[bytes, bytes]:
        """A block as it is to be kept, and the hash of the one it is to be read with."""
        whole = _deflate(content, b"")
        if before is None or before not in self._places:
            return whole, _NOTHING
        links = self.chain(before)
        if len(links) > _SHORTEST_CHAIN + links[-1][0] % _SPREAD:
            return whole, _NOTHING
        try:
            changed = _deflate(content, self.read(before))
        except BackupDamaged:
            return whole, _NOTHING
        return (changed, before) if len(changed) < len(whole) * _WORTH_IT else (whole, _NOTHING)

    def keep_only(self, needed: Iterable[bytes], disk: Disk) -> None:
        """Remove packs without needed blocks; rewrite those with few."""
        alive = {each for key in needed for each in self.chain(key)}
        if all(key in self._places for key in alive):
            for pack in list(self.damaged_packs):
                self._drop(pack)
                del self.damaged_packs[pack]
        for pack in list(self._packs):
            entries = dict(_entries(self._folder / pack))
            kept = {
                key: place
                for key, place in entries.items()
                if key in alive and self._places[key].pack == pack
            }
            held = sum(place.length for place in entries.values())
            if sum(place.length for place in kept.values()) * 2 >= held and kept:
                continue
            if kept:
                writer = PackWriter(self, self._folder, disk)
                for key, place in kept.items():
                    writer.put(key, place.base or _NOTHING, self._read_packed(place))
                for path in writer.finish():
                    self.learn(path)
            self._drop(pack)

    def _drop(self, pack: str) -> None:
        file = self._open.pop(pack, None)
        if file is not None:
            file.close()
        (self._folder / pack).unlink(missing_ok=True)
        for key in self._packs.pop(pack, []):
            if key in self._places and self._places[key].pack == pack:
                del self._places[key]


class PackWriter:
    """New blocks in, packs out. A pack has its name when all of it is on the disk."""

    def __init__(self, blocks: Blocks, folder: Path, disk: Disk) -> None:
        self._blocks = blocks
        self._folder = folder
        self._disk = disk
        self._file: BinaryIO | None = None
        self._path = folder
        self._entries: list[tuple[bytes, bytes, int, int]] = []
        self._written: set[bytes] = set()
        self._finished: list[Path] = []

    def add(self, content: bytes, before: bytes | None) -> bytes:
        """Keep a block that was preceded by another one in its place; its hash."""
        key = hash_of(content)
        if key not in self._blocks and key not in self._written:
            packed, base = self._blocks.packed(content, before)
            self.put(key, base, packed)
        return key

    def put(self, key: bytes, base: bytes, packed: bytes) -> None:
        if self._file is None:
            self._path = self._folder / f".{uuid.uuid4().hex}"
            self._file = self._disk.create(self._path)
            self._file.write(_MAGIC)
        self._entries.append((key, base, self._file.tell(), len(packed)))
        self._written.add(key)
        self._disk.write(self._file, packed)
        if self._file.tell() >= _PACK_BYTES:
            self._end_pack()

    def finish(self) -> list[Path]:
        """End the last pack, and give all of them their names."""
        self._end_pack()
        found, self._finished = self._finished, []
        # In order of time, since what is in several packs is read from the latest.
        last = max((_number(path) for path in self._folder.glob("*.pack")), default=0)
        named = []
        for number, path in enumerate(found, last + 1):
            named.append(self._folder / f"{number:08}.pack")
            path.rename(named[-1])
        sync(self._folder)
        return named

    def give_up(self) -> None:
        if self._file is not None:
            self._file.close()
            self._finished.append(self._path)
        for path in self._finished:
            with suppress(OSError):
                path.unlink()

    def _end_pack(self) -> None:
        if self._file is None:
            return
        listed = b"".join(_ENTRY.pack(*entry) for entry in self._entries)
        place = self._file.tell()
        self._disk.write(self._file, listed)
        digest = hashlib.sha256(listed).digest()
        self._disk.write(self._file, _FOOTER.pack(place, len(self._entries), digest))
        self._disk.finish(self._file)
        self._finished.append(self._path)
        self._file, self._entries = None, []


def _number(path: Path) -> int:
    return int(path.stem) if path.stem.isdigit() else 0


def _deflate(content: bytes, before: bytes) -> bytes:
    """With something to compare with it pays to look closely, else speed counts."""
    deflate = zlib.compressobj(6 if before else 1, zlib.DEFLATED, -zlib.MAX_WBITS, zdict=before)
    return deflate.compress(content) + deflate.flush()


def _entries_of(path: Path) -> list[tuple[bytes, _Place]]:
    """The contents of a pack. A failed read is tried once more."""
    try:
        return list(_entries(path))
    except OSError:
        return list(_entries(path))


def _entries(path: Path) -> Iterator[tuple[bytes, _Place]]:
    with path.open("rb") as file:
        if file.read(len(_MAGIC)) != _MAGIC:
            raise BackupDamaged("it does not begin as a pack of blocks does")
        end = file.seek(0, os.SEEK_END) - _FOOTER.size
        file.seek(max(0, end))
        footer = file.read(_FOOTER.size)
        if len(footer) < _FOOTER.size:
            raise BackupDamaged("it is cut short")
        place, count, digest = _FOOTER.unpack(footer)
        if place + count * _ENTRY.size != end:
            raise BackupDamaged("it is cut short")
        file.seek(place)
        listed = file.read(count * _ENTRY.size)
    if hashlib.sha256(listed).digest() != digest:
        raise BackupDamaged("its list of blocks has changed")
    for key, base, offset, length in _ENTRY.iter_unpack(listed):
        yield key, _Place(path.name, offset, length, None if base == _NOTHING else base)
