"""`python -m kb.engine.restore`: puts a backup in place as a data folder's store.

It prints one line of JSON for each step and one at the end; `kb restore` shows them to people.
"""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

from kb.engine.backup.lines import Lines, running
from kb.engine.backup.manifest import Manifest
from kb.engine.backup.restoring import chosen, restore, verified
from kb.engine.backup.shelf import Kept, Unreadable, shelves


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m kb.engine.restore", description=__doc__)
    parser.add_argument("backup", type=Path)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--as-of")
    parser.add_argument("--list", action="store_true", dest="only_list")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--without-damaged", action="store_true")
    options = parser.parse_args()
    sys.exit(running(lambda lines: _run(options, lines)))


def _run(options: argparse.Namespace, lines: Lines) -> None:
    if options.only_list:
        lines.end([_listed(each) for shelf in shelves(options.backup) for each in shelf.finished()])
        return
    kept = chosen(options.backup, options.as_of)
    if options.dry_run:
        there = verified(kept, lines.tell, options.without_damaged).originals
        left_out = kept.manifest.originals - len(there)
        about = {**asdict(kept.manifest), "left_out": left_out}
        lines.end({"folder": str(kept.folder), **about})
        return
    if options.data_dir is None:
        raise SystemExit("--data-dir is missing")
    wishes = options.replace, lines.tell, options.without_damaged
    lines.end(asdict(restore(kept, options.data_dir, *wishes)))


def _listed(backup: Kept | Unreadable) -> dict[str, Any]:
    """One that cannot be read is in the list, too, with nothing known of it but why."""
    about: dict[str, Any] = dict.fromkeys(Manifest.__slots__)
    if isinstance(backup, Kept):
        about = asdict(backup.manifest)
    why = backup.why if isinstance(backup, Unreadable) else None
    return {"folder": str(backup.folder), **about, "unreadable": why}


if __name__ == "__main__":
    main()
