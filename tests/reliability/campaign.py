"""Counts and a seed in, what was lost out: kills or power losses for as long as one likes.

`cd tests && python -m reliability.campaign kills 100 --seed 11`, or `losses` instead of `kills`.
"""

import argparse
import sys
import tempfile
import threading
import time
from pathlib import Path

from .crash import CrashRun, Report
from .disk import Disk
from .engine_process import Zygote
from .power_loss import PowerLossRun

_TOLD_EVERY = 30.0  # seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("kills", "losses"))
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = _killed if options.what == "kills" else _without_power
        report = run(Path(folder), options.count, options.seed)
    print(f"seed {options.seed}: {options.what}: {report}", *report.violations, sep="\n")
    sys.exit(bool(report.violations))


def _killed(folder: Path, count: int, seed: int) -> Report:
    zygote = Zygote()
    try:
        run = CrashRun(zygote, folder / "data", seed)
        _tell(run.report)
        return run.run(count)
    finally:
        zygote.close()


def _without_power(folder: Path, count: int, seed: int) -> Report:
    disk = Disk(folder)
    zygote = Zygote(disk.environment)
    try:
        run = PowerLossRun(zygote, disk.below / "data", seed, disk)
        _tell(run.report)
        return run.lose_power(count)
    finally:
        zygote.close()
        disk.close()


def _tell(report: Report) -> None:
    """Say now and then how far it is, and every violation."""
    began = time.monotonic()

    def tell() -> None:
        told = 0
        while True:
            time.sleep(_TOLD_EVERY)
            report.seconds = time.monotonic() - began
            print(report, *report.violations[told:], sep="\n", flush=True)
            told = len(report.violations)

    threading.Thread(target=tell, daemon=True).start()


if __name__ == "__main__":
    main()
