"""Counts and a seed in, what was lost out: kills or power losses for as long as one likes.

What befalls the engine includes backups, restores, checks, repairs, exports, imports, a change of
the model, deletions on a full disk and everything that it does by itself.

`cd tests && python -m reliability.campaign kills 100 --seed 11`, or `losses` instead of `kills`.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from . import store_check
from .crashes.crash import CrashRun, Report
from .disks.disk import Disk
from .disks.power_loss import PowerLossRun
from .engine_process import Zygote

_TOLD_EVERY = 30.0  # seconds
_SETTLE_SECONDS = 60.0
_DISK_MEGABYTES = 256
_PATIENCE = 180.0
_VERIFIED = 0.4  # the share of deaths after which everything is looked at


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("kills", "losses"))
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    store_check.settle_seconds = _SETTLE_SECONDS
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        run = _killed if options.what == "kills" else _without_power
        report = run(Path(folder), options.count, options.seed)
    print(f"seed {options.seed}: {options.what}: {report}", *report.violations, sep="\n")
    sys.exit(bool(report.violations))


def _killed(folder: Path, count: int, seed: int) -> Report:
    zygote = Zygote()
    try:
        with _small_disk(folder / "disk") as below:
            run = CrashRun(zygote, below / "data", seed)
            run.verified, run.patience = _VERIFIED, _PATIENCE
            _tell(run.report)
            return run.run(count)
    finally:
        zygote.close()


def _without_power(folder: Path, count: int, seed: int) -> Report:
    disk = Disk(folder)
    zygote = Zygote(disk.environment)
    try:
        with _small_disk(disk.below) as below:
            run = PowerLossRun(zygote, below / "data", seed, disk)
            run.verified, run.patience = _VERIFIED, _PATIENCE
            _tell(run.report)
            return run.lose_power(count)
    finally:
        zygote.close()
        disk.close()


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path]:
    """One that can be filled, where we may mount one. In memory: a kill loses nothing of it, and
    what a power loss loses is what was not synced, whatever a sync costs."""
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={_DISK_MEGABYTES}m", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(command).returncode == 0
    try:
        yield folder
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)


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
