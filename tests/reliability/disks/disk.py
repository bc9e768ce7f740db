"""A wish in, a failing disk out: what a test tells faults.c, and what a power loss leaves."""

import mmap
import os
import random
import shutil
import struct
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("faults.c")
NONE, POWER_LOSS, NO_SPACE, SYNC_FAILS = range(4)
_CONTROL = struct.Struct("3I")
_PATH = 512
_HEAD = struct.Struct(f"=I{_PATH}s{_PATH}s4q")
_SECTOR = 512

COMPILER = shutil.which("gcc") or shutil.which("cc")


class Disk:
    """The disk below one folder, as the engines see it that are started in `environment`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._control_path = folder / "control"
        self._control_path.write_bytes(bytes(mmap.PAGESIZE))
        self._file = self._control_path.open("r+b")
        self._control = mmap.mmap(self._file.fileno(), mmap.PAGESIZE)
        library = folder / "faults.so"
        assert COMPILER is not None
        subprocess.run(
            [COMPILER, "-O1", "-shared", "-fPIC", "-o", library, SOURCE, "-ldl"], check=True
        )
        self.below = folder / "disk"
        self.below.mkdir()
        self.environment = {
            "LD_PRELOAD": str(library),
            "FAULTS_FOLDER": str(self.below),
            "FAULTS_CONTROL": str(self._control_path),
        }

    def fail(self, fault: int, after: int = 1) -> None:
        """From this many calls on the disk fails, until it is well again."""
        self._control[: _CONTROL.size] = _CONTROL.pack(fault, after, 0)

    def be_well(self, remembering: bool = False) -> None:
        """No faults; `remembering` what is not synced, for a power loss later on."""
        self._control[: _CONTROL.size] = _CONTROL.pack(POWER_LOSS if remembering else NONE, 0, 0)

    def lose_what_was_not_synced(self, chance: random.Random) -> int:
        """After a power loss: undo what a real disk may not have kept; how many changes."""
        changes = 0
        for undo in sorted(self._control_path.parent.glob("control.undo.[0-9]*")):
            changes += self._undo(undo.read_bytes(), chance)
            undo.unlink()
        return changes

    @staticmethod
    def _undo(content: bytes, chance: random.Random) -> int:
        place = changes = 0
        while place < len(content):
            is_rename, path, old_path, *numbers = _HEAD.unpack_from(content, place)
            place += _HEAD.size
            kept = numbers[3]
            old, place = content[place : place + kept], place + kept
            changes += 1
            if is_rename:
                _undo_rename(_name(path), _name(old_path))
            elif _name(path).exists():
                _undo_write(_name(path), numbers, old, chance)
        return changes

    def close(self) -> None:
        self._control.close()
        self._file.close()


def _name(path: bytes) -> Path:
    return Path(os.fsdecode(path.partition(b"\0")[0]))


def _undo_rename(path: Path, old_path: Path) -> None:
    if path.exists():
        path.rename(old_path)


def _undo_write(path: Path, numbers: list[int], old: bytes, chance: random.Random) -> None:
    """Each sector got to the disk or did not. New ones that did not are zeros, or not there."""
    offset, length, old_size, _ = numbers
    with path.open("r+b") as file:
        for start in range(0, len(old), _SECTOR):
            if chance.random() < 0.5:
                file.seek(offset + start)
                file.write(old[start : start + _SECTOR])
        end = offset + length
        if end <= old_size:
            return
        if chance.random() < 0.5:
            file.truncate(old_size)
            return
        for start in range(max(offset, old_size), end, _SECTOR):
            if chance.random() < 0.5:
                file.seek(start)
                file.write(bytes(min(_SECTOR, end - start)))
