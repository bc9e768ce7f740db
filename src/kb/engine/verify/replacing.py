"""Puts a new database in the place of a damaged one, even if a kill comes in between.

`store-rebuilt.db` is complete when `store-rebuilt.json` exists. From then on, whoever opens the
folder makes or continues the exchange: the damaged file and its log get other names, then the new
file gets theirs. No log is ever beside a database that is not its own.
"""

import json
import logging
import os
from pathlib import Path

from kb.engine.data_folder.older_stores import DAMAGED
from kb.engine.store.file.damage import forget
from kb.platform import sync

logger = logging.getLogger(__name__)

_DATABASE, _NEW, PLAN = "store.db", "store-rebuilt.db", "store-rebuilt.json"
_ENDINGS = ("-shm", "-wal", "")


def new_database(folder: Path) -> Path:
    """Where it is to be made; nothing of an earlier try is left there."""
    for ending in _ENDINGS:
        (folder / f"{_NEW}{ending}").unlink(missing_ok=True)
    return folder / _NEW


def put_in_place(folder: Path, time: str) -> Path:
    """Exchange the two; where the damaged one is from now on."""
    sync(folder / _NEW)
    begun = folder / f"{PLAN}.new"
    begun.write_text(json.dumps({"damaged": f"{DAMAGED}{time}.db"}))
    sync(begun)
    os.replace(begun, folder / PLAN)
    sync(folder)
    damaged = finish(folder)
    assert damaged is not None
    return damaged


def finish(folder: Path) -> Path | None:
    """Continue an exchange that was begun; None if there was none."""
    try:
        plan = json.loads((folder / PLAN).read_text())
    except FileNotFoundError:
        return None
    damaged = folder / str(plan["damaged"])
    if (folder / _NEW).exists():
        for ending in _ENDINGS:
            old = folder / f"{_DATABASE}{ending}"
            if old.exists():
                os.rename(old, damaged.with_name(damaged.name + ending))
        sync(folder)
        os.rename(folder / _NEW, folder / _DATABASE)
        sync(folder)
    new_database(folder)  # its log was empty, and stays behind where the disk stumbled
    forget(folder / _DATABASE)
    (folder / PLAN).unlink()
    sync(folder)
    logger.info("a rebuilt database is in place; the damaged one is %s", damaged.name)
    return damaged
