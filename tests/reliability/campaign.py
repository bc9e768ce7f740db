"""Counts and a seed in, what was lost out: kills or power losses for as long as one likes.

`cd tests && python -m reliability.campaign kills 100 --seed 11`, or `losses` instead of `kills`.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

from .crash import CrashRun, Report
from .disk import Disk
from .engine_process import Zygote
from .power_loss import PowerLossRun


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("kills", "losses"))
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        run = _killed if options.what == "kills" else _without_power
        report = run(Path(folder), options.count, options.seed)
    report.seconds = time.monotonic() - began
    print(f"seed {options.seed}: {options.what}: {report}")
    print(*report.violations, sep="\n")
    sys.exit(bool(report.violations))


def _killed(folder: Path, count: int, seed: int) -> Report:
    zygote = Zygote()
    try:
        return CrashRun(zygote, folder / "data", seed).run(count)
    finally:
        zygote.close()


def _without_power(folder: Path, count: int, seed: int) -> Report:
    disk = Disk(folder)
    zygote = Zygote(disk.environment)
    try:
        return PowerLossRun(zygote, disk.below / "data", seed, disk).lose_power(count)
    finally:
        zygote.close()
        disk.close()


if __name__ == "__main__":
    main()
