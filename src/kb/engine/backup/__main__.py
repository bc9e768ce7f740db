"""`python -m kb.engine.backup`: backs up a data folder.

It prints one line of JSON for each step and one at the end. `kb backup` shows them to people. A
running engine starts it as a separate process (`--held`) and passes them on to callers.
"""

import argparse
import logging
import os
import sys
import threading
from dataclasses import asdict, replace
from pathlib import Path

from kb.engine.backup.checking import check_backup
from kb.engine.backup.lines import Lines, running
from kb.engine.backup.making import Source, make_backup, usable_target
from kb.engine.backup.shelf import shelves
from kb.engine.data_folder.at_rest import held, is_writable, only_read
from kb.engine.data_folder.folder import refuse_linked
from kb.engine.data_folder.store_exchange import RESTORING
from kb.engine.errors import BackupDamaged, BackupFailed
from kb.engine.store.file.belonging import refuse_to_start_empty
from kb.engine.store.file.damage import noted
from kb.platform import go_behind_others

_NICENESS = 10
_ORPHANED = 3


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m kb.engine.backup", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--keep", type=int)
    parser.add_argument("--check", action="store_true", help="read all backups in the folder")
    parser.add_argument("--must-exist", action="store_true", help="do not make the folder")
    parser.add_argument("--held", action="store_true", help="for an engine that holds the data")
    options = parser.parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(message)s")
    os.umask(0o077)
    sys.exit(
        running(lambda lines: _check(options, lines) if options.check else _make(options, lines))
    )


def _make(options: argparse.Namespace, lines: Lines) -> None:
    data: Path = options.data_dir
    source = Source(data, data / "store.db", data / "store-files")
    if options.held:
        go_behind_others(_NICENESS)
        threading.Thread(target=_end_with_the_engine, daemon=True).start()
        target = usable_target(options.folder, data, create=not options.must_exist)
        kept = make_backup(source, target, options.keep, lines.tell)
    else:
        refuse_linked(source.database)
        refuse_to_start_empty(source.database, source.files)
        if not source.database.is_file():
            raise BackupFailed(f"There is no store in {data}")
        target = usable_target(options.folder, data, create=not options.must_exist)
        if (data / RESTORING).exists() and not is_writable(data):
            raise only_read(data)
        with held(data, room=target) as folder:
            damage = noted(folder.database)
            if damage is not None:
                raise damage.error()  # it would push better ones out
            kept = make_backup(
                replace(source, database=folder.database), target, options.keep, lines.tell
            )
    lines.end({"folder": str(kept.folder), **asdict(kept.manifest)})


def _check(options: argparse.Namespace, lines: Lines) -> None:
    found = [folder for shelf in shelves(options.folder) for folder in shelf.names()]
    if not found:
        raise BackupFailed(f"There is no finished backup in {options.folder}")
    answer = []
    for folder in found:
        trouble = [str(each) for each in check_backup(folder, lines.tell)]
        answer.append({"folder": str(folder), "trouble": trouble})
    lines.end(answer)
    damaged = [each for each in answer if each["trouble"]]
    if damaged:
        raise BackupDamaged(f"{len(damaged)} of {len(answer)} backups are damaged")


def _end_with_the_engine() -> None:
    """Standard input ends when the engine does, however it ends: nobody holds the files then."""
    while os.read(0, 1):  # not by sys.stdin, which an end of our own would find locked
        pass
    os._exit(_ORPHANED)


if __name__ == "__main__":
    main()
