"""Finds the older stores that a repair or a restore left in a data folder."""

import os
from pathlib import Path

from kb.engine.data_folder.store_exchange import ASIDE

DAMAGED = "store-damaged-"


class StoresAside:
    """They are counted whenever that is asked, and measured once: nothing grows in them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._bytes: dict[str, int] = {}

    def measure(self) -> None:
        """May take a while: a whole store with all its originals may be among them."""
        self._bytes = {name: _size(self._folder / name) for name in self._names()}

    def count_and_bytes(self) -> tuple[int, int]:
        names = self._names()
        stores = [name for name in names if name.startswith(ASIDE) or name.endswith(".db")]
        return len(stores), sum(self._bytes.get(name, 0) for name in names)

    def _names(self) -> list[str]:
        """Of a damaged database its log, too."""
        try:
            found = os.listdir(self._folder)
        except OSError:  # a folder that is gone is told elsewhere
            return []
        return [name for name in found if name.startswith((ASIDE, DAMAGED))]


def _size(path: Path) -> int:
    paths = [path, *path.rglob("*")] if path.is_dir() else [path]
    try:
        return sum(each.lstat().st_size for each in paths if each.is_file())
    except OSError:  # it is being deleted just now
        return 0
