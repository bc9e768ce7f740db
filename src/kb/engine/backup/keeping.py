"""Deletes backups beyond the number to keep, and what only they needed."""

import logging
from contextlib import closing

from kb.engine.backup.disk import Disk
from kb.engine.backup.manifest import read_contents
from kb.engine.backup.shelf import Shelf
from kb.engine.errors import BackupDamaged

logger = logging.getLogger(__name__)


def keep_newest(shelf: Shelf, keep: int | None, disk: Disk) -> None:
    """Called when a new backup has been verified, so the newest is a good one.

    One that cannot be read does not count, or it would push a good one out. Where one of those that
    stay cannot be read, nothing is cleared away: nobody knows what it needs, and a later kb or a
    mended disk may.
    """
    if keep is not None and (kept := shelf.kept()):
        oldest = kept[-max(1, keep) :][0].folder
        for folder in shelf.names():
            if folder.name < oldest.name:
                shelf.remove(folder)
    needed: set[bytes] = set()
    originals: set[str] = set()
    try:
        for folder in shelf.names():
            contents = read_contents(folder)
            needed.update(contents.blocks)
            originals.update(each.sha256 for each in contents.originals)
    except BackupDamaged as error:
        logger.warning("older parts of backups stay, since one cannot be read: %s", error.message)
        return
    with closing(shelf.blocks()) as blocks:
        blocks.keep_only(needed, disk)
    shelf.remove_originals_but(originals)
