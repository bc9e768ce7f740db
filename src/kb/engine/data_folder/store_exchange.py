"""Exchanges the present store for one that lies ready, even if a kill comes in between.

The new store is in `store-restoring/`. Once `ready.json` is there, all of it is on the disk and the
exchange begins: the present store is moved aside, name by name, then the new one moves in. After a
kill, the next program that opens the folder continues.
"""

import json
import logging
import os
import shutil
from pathlib import Path

from kb.platform import sync

logger = logging.getLogger(__name__)

RESTORING, ASIDE = "store-restoring", "store-before-restore-"
_READY, _CLEARED = "ready.json", "cleared"
_STAYS = ("store.lock", "store-reserve", "store-incoming", RESTORING)


def staging(folder: Path) -> Path:
    """A new, empty folder for the store that is to come."""
    unstage(folder)
    path = folder / RESTORING
    path.mkdir(mode=0o700)
    return path


def unstage(folder: Path) -> None:
    shutil.rmtree(folder / RESTORING, ignore_errors=True)


def holds_a_store(folder: Path) -> bool:
    """Whether there is a database, or an original."""
    files = folder / "store-files"
    return (folder / "store.db").exists() or (files.is_dir() and any(files.iterdir()))


def exchange(folder: Path, time: str) -> Path | None:
    """Put the staged store in place; returns where the previous store is, if there was one."""
    names = sorted(
        path.name
        for path in folder.iterdir()
        if path.name.startswith("store")
        and path.name not in _STAYS
        and not path.name.startswith(ASIDE)
    )
    aside = f"{ASIDE}{time}" if names else None
    _write(folder / RESTORING / _READY, json.dumps({"aside": aside, "names": names}))
    finish_exchange(folder)
    return folder / aside if aside else None


def is_begun(folder: Path) -> bool:
    """Whether the staged store is complete, so that it will take its place."""
    return (folder / RESTORING / _READY).exists()


def finish_exchange(folder: Path) -> None:
    """Continue an exchange that was begun; discard one that was not ready."""
    staged = folder / RESTORING
    if not staged.is_dir():
        return
    if not (staged / _READY).exists():
        unstage(folder)
        return
    plan = json.loads((staged / _READY).read_text())
    if not (staged / _CLEARED).exists():
        if plan["aside"]:
            _move(plan["names"], folder, folder / plan["aside"])
        _write(staged / _CLEARED, "")
    arriving = [path.name for path in staged.iterdir() if path.name.startswith("store")]
    _move(arriving, staged, folder)
    logger.info("the restored store is in place in %s", folder)
    shutil.rmtree(staged)
    sync(folder)


def _move(names: list[str], source: Path, target: Path) -> None:
    target.mkdir(mode=0o700, exist_ok=True)
    for name in names:
        if os.path.lexists(source / name):
            os.rename(source / name, target / name)
    for folder in (source, target):
        sync(folder)


def _write(path: Path, text: str) -> None:
    """It is there whole or not at all."""
    begun = path.with_name(f".{path.name}")
    begun.write_text(text)
    sync(begun)
    begun.rename(path)
    sync(path.parent)
