"""`python -m kb.engine.restore`: a backup and a data folder in, the store in place out.

One line of JSON for each step, and one for the end: `kb restore` shows them to people.
"""

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from kb.engine.backup.lines import Lines, running
from kb.engine.backup.restoring import chosen, restore, verified
from kb.engine.backup.shelf import shelves


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m kb.engine.restore", description=__doc__)
    parser.add_argument("backup", type=Path)
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--replace", action="store_true")
    parser.add_argument("--as-of")
    parser.add_argument("--list", action="store_true", dest="only_list")
    parser.add_argument("--dry-run", action="store_true")
    options = parser.parse_args()
    sys.exit(running(lambda lines: _run(options, lines)))


def _run(options: argparse.Namespace, lines: Lines) -> None:
    if options.only_list:
        found = [each for shelf in shelves(options.backup) for each in shelf.kept()]
        lines.end([{"folder": str(each.folder), **asdict(each.manifest)} for each in found])
        return
    kept = chosen(options.backup, options.as_of)
    if options.dry_run:
        verified(kept, lines.tell)
        lines.end({"folder": str(kept.folder), **asdict(kept.manifest)})
        return
    if options.data_dir is None:
        raise SystemExit("--data-dir is missing")
    lines.end(asdict(restore(kept, options.data_dir, options.replace, lines.tell)))


if __name__ == "__main__":
    main()
