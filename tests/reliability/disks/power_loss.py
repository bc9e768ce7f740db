"""A number of power losses in, what was lost out: the crash run on a disk that forgets."""

import itertools
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from ..crashes.crash import CrashRun, Report
from ..engine_process import PATIENCE, Gone, Zygote
from .disk import POWER_LOSS, Disk

_MOMENT = 2.0  # seconds
CALLS = 40  # on files, at most, from the decision to the loss


class PowerLossRun(CrashRun):
    """A crash run in which the power goes instead of the process alone."""

    def __init__(
        self, zygote: Zygote, folder: Path, seed: int, disk: Disk, plants: Sequence[str] = ()
    ) -> None:
        super().__init__(zygote, folder, seed, plants)
        self._disk = disk

    def lose_power(self, losses: int, until: str | None = None, writes: int = 0) -> Report:
        began = time.monotonic()
        self._disk.be_well(remembering=True)
        self.engine.start()
        try:
            for number in itertools.count(1):
                self.crash(self._power_goes)
                self._disk.be_well(remembering=True)
                self._lose()
                self.restart()
                self.verify_now_and_then()
                if self.is_enough(number >= losses, until, writes):
                    break
            self.verify()
        finally:
            self.engine.kill()
        self.report.seconds = time.monotonic() - began
        return self.report

    def _lose(self) -> None:
        """To undo takes room, too: a disk that is full is so again afterwards."""
        was_full = self.keeper.is_full
        self.keeper.make_room(self.oracles)
        self._disk.lose_what_was_not_synced(self.random)
        if was_full:
            self.keeper.fill(self.oracles)

    def die_at_start(self) -> None:
        """With the next call on the disk, unless there is none any more."""
        self._disk.fail(POWER_LOSS)
        if self.engine.exit_code(_MOMENT) is None:
            self.engine.kill()
        self._disk.be_well(remembering=True)
        self._lose()

    def interrupt(self, pid: int) -> None:
        self._disk.fail(POWER_LOSS, after=self.random.randrange(1, 5 * CALLS))
        code = self.zygote.wait(pid, PATIENCE)
        self._disk.be_well(remembering=True)
        if code != 0:
            self._lose()

    def _power_goes(self) -> None:
        self.some_time_passes()
        self._disk.fail(POWER_LOSS, after=self.random.randrange(1, CALLS))
        if self.engine.exit_code(_MOMENT) is not None:
            return
        with suppress(Gone):  # it has nothing to do any more: then with what a check writes
            self._disk.fail(POWER_LOSS)
            self.engine.send("POST", "/api/v1/verify", {})
        assert self.engine.exit_code() is not None
