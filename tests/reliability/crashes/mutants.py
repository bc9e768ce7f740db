"""Planted bugs: each breaks one promise on purpose, to show that the crash run would notice.

They live in a forked test engine only. Each holds its window open for a moment, since a proof
that waits for luck proves little.
"""

import os
import threading
import time
from collections.abc import Sequence
from typing import Any

from kb.engine.data_folder.lost_originals import LostFiles
from kb.engine.ingest.inbox import Inbox
from kb.engine.ingest.library import Library
from kb.engine.store.documents import Documents
from kb.engine.store.file import database
from kb.engine.store.file.database import Database, _Group
from kb.engine.store.file.stamp import Mark, Stamp
from kb.engine.store.jobs import Finished, Jobs, _end
from kb.engine.store.rows.document_rows import found
from kb.engine.values import Chunk, Deleted, Draft, Job, TakenJob, Vectors, WholeDocument

_WINDOW = 0.03


def _plant(owner: object, name: str, bug: object) -> None:
    setattr(owner, name, bug)


def answer_before_commit() -> None:
    """`transaction()` returns at once; the commit comes later, if it still comes."""
    end_turn = Database._end_turn

    def later(self: Database, group: _Group) -> None:
        if threading.current_thread() is threading.main_thread():  # the start must work
            end_turn(self, group)
        else:
            threading.Thread(target=delayed, args=(self, group), daemon=True).start()

    def delayed(self: Database, group: _Group) -> None:
        time.sleep(_WINDOW)
        end_turn(self, group)

    _plant(Database, "_end_turn", later)


def job_ends_in_a_second_transaction() -> None:
    """A kill between the two leaves a document whose job runs again."""

    def finish(
        self: Jobs,
        taken: TakenJob,
        draft: Draft,
        chunks: Sequence[Chunk],
        vectors: Vectors,
        _message: str = "",
    ) -> Finished:
        with self._database.transaction() as query:
            prepared = self._documents.chunks.prepare(chunks, vectors)
            document_id = self._documents.insert(query, draft, prepared)
        time.sleep(_WINDOW)
        with self._database.transaction() as query:
            return Finished(_end(query, taken, "added", found(query, document_id)), None)

    _plant(Jobs, "finish", finish)


def note_is_replaced_in_two_transactions() -> None:
    """A kill between the two leaves a note without its passages."""
    replace_text = Documents.replace_text

    def replaced(self: Documents, document_id: int, *values: Any) -> WholeDocument:
        with self._database.transaction() as query:
            document = found(query, document_id)
            self.rows.chunks.delete(query, document)
        time.sleep(_WINDOW)
        return replace_text(self, document_id, *values)

    _plant(Documents, "replace_text", replaced)


def file_is_unlinked_before_the_commit() -> None:
    """A kill between the two leaves a document whose original is gone."""
    delete = Library.delete

    def unlinked_first(self: Library, key: int | str) -> Deleted:
        document_id = self._id(key)
        with self._store.database.reading() as query:
            rows = query("SELECT stored_name FROM documents WHERE id = :id", id=document_id)
        for name in (name for (name,) in rows if name):  # `delete` would keep what a row names
            self._files.path(name).unlink(missing_ok=True)
        time.sleep(_WINDOW)
        return delete(self, key)

    _plant(Library, "delete", unlinked_first)


def what_a_failed_job_holds_stays() -> None:
    """A deletion that is said and not done."""
    cancel = Inbox.cancel

    def said(self: Inbox, key: int | str) -> Job:
        job = self._store.jobs.get(key)
        return job if job.status == "failed" else cancel(self, key)

    _plant(Inbox, "cancel", said)


def a_cancelled_job_goes_on() -> None:
    """A cancellation that is said and not done."""

    def said(self: Inbox, key: int | str) -> Job:
        return self._store.jobs.get(key)

    _plant(Inbox, "cancel", said)


def no_sweep_at_start() -> None:
    """What a kill left in store-files stays there for good."""
    _plant(LostFiles, "sweep", lambda *_: 0)


def no_recovery_of_jobs_at_start() -> None:
    """A job that was running when the engine died stays so for good."""
    _plant(Jobs, "recover", lambda *_, **__: None)


def commits_are_not_synced() -> None:
    """As fast as can be, until the power goes. Nor are they counted: the engine would notice."""
    _plant(Stamp, "count", lambda *_: None)
    pragmas = (pragma.replace("= FULL", "= NORMAL") for pragma in database._WRITER_PRAGMAS)
    _plant(database, "_WRITER_PRAGMAS", tuple(pragmas))


def files_are_not_synced() -> None:
    """Neither the bytes of an original nor its name; SQLite's own syncs go on.

    So do those of the mark on the folder: an engine that finds half of one does not start.
    """
    fsync, write = os.fsync, Stamp.write

    def forget_to(_: object) -> None:
        pass

    def write_durably(self: Stamp, mark: Mark) -> None:
        _plant(os, "fsync", fsync)
        write(self, mark)
        _plant(os, "fsync", forget_to)

    _plant(Stamp, "write", write_durably)
    _plant(os, "fsync", forget_to)
