"""Repairs what a check found, as far as the running engine can."""

from collections.abc import Callable
from pathlib import Path

from kb.engine.backup.rescue import Whereabouts
from kb.engine.data_folder.lost_originals import LostFiles
from kb.engine.data_folder.originals import FileStore
from kb.engine.store import Store
from kb.engine.verify.mending import mend
from kb.engine.verify.putting_back import Sources, put_back
from kb.engine.verify.report import Report
from kb.engine.verify.verification import Repaired


class OnlineRepair:
    """`wake` has missing vectors made and jobs done; `backups` is where backups are made into."""

    def __init__(
        self,
        store: Store,
        files: FileStore,
        lost: LostFiles,
        backups: Path | None,
        terms_version: int,
        wake: Callable[[], None],
    ) -> None:
        self._store = store
        self._files = files
        self._lost = lost
        self._backups = backups
        self._terms_version = terms_version
        self._wake = wake

    def repair(self, report: Report) -> Repaired:
        """A damaged database is repaired only while no engine uses it, as its finding says."""
        if self._store.health.damage is not None or report.of_kind("database"):
            return Repaired()
        with self._store.database.transaction() as query:
            repaired = Repaired(mend(query, report.of_kind("index"), self._terms_version))
        self._store.upkeep.look_for_renewal()
        originals = report.of_kind("original")
        if report.of_kind("original", "text"):
            where = Whereabouts(
                self._store.facts.store_id, self._backups, self._store.facts.last_backup()
            )
            sources = Sources(self._files, self._lost, where)
            done = put_back(self._store.database, sources, originals)
            repaired.done += done.back
            repaired.lost += done.lost
            repaired.hint = where.hint(bool(done.lost))
        self._wake()
        return repaired
