"""A number of power losses in, what was lost out: the crash run on a disk that forgets."""

import time
from collections.abc import Sequence
from pathlib import Path

from .crash import CrashRun, Report
from .disk import POWER_LOSS, Disk
from .engine_process import Zygote

CALLS = 40  # on files, at most, from the decision to the loss


class PowerLossRun(CrashRun):
    """A crash run in which the power goes instead of the process alone."""

    def __init__(
        self, zygote: Zygote, folder: Path, seed: int, disk: Disk, plants: Sequence[str] = ()
    ) -> None:
        super().__init__(zygote, folder, seed, plants)
        self._disk = disk

    def lose_power(self, losses: int, until: str | None = None) -> Report:
        began = time.monotonic()
        self._disk.be_well(remembering=True)
        self.engine.start()
        try:
            for _ in range(losses):
                self.crash(self._power_goes)
                self._disk.be_well(remembering=True)
                self._disk.lose_what_was_not_synced(self.random)
                self.meddle()
                self.engine.start()
                self.verify()
                if until and any(until in violation for violation in self.report.violations):
                    break
        finally:
            self.engine.kill()
        self.report.seconds = time.monotonic() - began
        return self.report

    def interrupt(self, pid: int) -> None:
        self._disk.fail(POWER_LOSS, after=self.random.randrange(1, 5 * CALLS))
        code = self.zygote.wait(pid, 60)
        self._disk.be_well(remembering=True)
        if code != 0:
            self._disk.lose_what_was_not_synced(self.random)

    def _power_goes(self) -> None:
        self.some_time_passes()
        self._disk.fail(POWER_LOSS, after=self.random.randrange(1, CALLS))
        assert self.engine.exit_code(30) is not None
