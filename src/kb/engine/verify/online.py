"""What a check found in, what can be made again while the engine runs made again out."""

from collections.abc import Callable

from kb.engine.store import Store
from kb.engine.verify.mending import mend
from kb.engine.verify.report import Report

_AT_REST = (
    "The database itself is damaged, and is rebuilt only while no engine uses it: stop kb, then "
    "run `kb verify --repair`"
)


class OnlineRepair:
    """`wake` has the missing vectors made."""

    def __init__(self, store: Store, terms_version: int, wake: Callable[[], None]) -> None:
        self._store = store
        self._terms_version = terms_version
        self._wake = wake

    def repair(self, report: Report) -> list[str]:
        """What was done, in words."""
        if self._store.damage is not None or report.of_kind("database"):
            return [_AT_REST]
        with self._store.database.transaction() as query:
            done = mend(query, report.of_kind("index"), self._terms_version)
        self._store.look_for_renewal()
        self._wake()
        return done
