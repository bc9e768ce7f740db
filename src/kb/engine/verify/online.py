"""What a check found in, what can be made again while the engine runs made again out."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kb.engine.backup.rescue import Rescue, last_good
from kb.engine.store import Store
from kb.engine.verify.mending import mend
from kb.engine.verify.putting_back import put_back
from kb.engine.verify.report import Report


class OnlineRepair:
    """`wake` has the missing vectors made; `backups` is the folder that backups are made into."""

    def __init__(
        self,
        store: Store,
        files: Path,
        backups: Path | None,
        terms_version: int,
        wake: Callable[[], None],
    ) -> None:
        self._store = store
        self._files = files
        self._backups = backups
        self._terms_version = terms_version
        self._wake = wake

    def repair(self, report: Report) -> tuple[list[str], list[str]]:
        """What was done, and what is lost, both in words.

        A damaged database is put right only while no engine uses it, as its finding says.
        """
        if self._store.damage is not None or report.of_kind("database"):
            return [], []
        with self._store.database.transaction() as query:
            done = mend(query, report.of_kind("index"), self._terms_version)
        self._store.look_for_renewal()
        self._wake()
        originals = report.of_kind("original")
        if not originals:
            return done, []
        with last_backup(self._backups, self._store.store_id) as backup:
            back, lost = put_back(self._store.database, self._files, originals, backup)
        return done + back, lost


@contextmanager
def last_backup(backups: Path | None, store_id: str | None) -> Iterator[Rescue | None]:
    """The last backup that is whole; None where there is no such one."""
    if backups is None or store_id is None or not backups.is_dir():
        yield None
        return
    with last_good(backups, store_id) as rescue:
        yield rescue
