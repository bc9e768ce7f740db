"""What callers may import: documents from elsewhere become documents or jobs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from kb.engine.data_folder.originals import FileStore
from kb.engine.errors import may_be_done
from kb.engine.events import Events
from kb.engine.ingest.inbox import Inbox
from kb.engine.records import Fate, Passage, PastJob
from kb.engine.store import Store
from kb.engine.store.transfer.arrivals import conflict
from kb.engine.values import Arrival, Document, Draft, NewJob

ImportOutcome = Literal["added", "updated", "unchanged", "queued"]


@dataclass(frozen=True, slots=True)
class Taken:
    """The outcome of an import. A `queued` one has a job, and a document only if it was here."""

    outcome: ImportOutcome
    document_id: int | None
    document_uid: str | None
    job_id: int | None = None


@dataclass(frozen=True, slots=True)
class Expected:
    """What an import would come to."""

    outcome: Fate
    document_id: int | None
    document_uid: str | None


class Imports:
    """The one door for whatever was a document before: what it took is on disk when it answers.
    `made` is called when passages have come in that lack their vectors."""

    def __init__(
        self,
        store: Store,
        files: FileStore,
        inbox: Inbox,
        events: Events,
        made: Callable[[], None],
    ) -> None:
        self._store = store
        self._files = files
        self._inbox = inbox
        self._events = events
        self._made = made

    def check(self, arrivals: Sequence[Arrival]) -> list[Expected]:
        """What importing these would come to; nothing is changed."""
        return [
            Expected(fate, *_known(document))
            for fate, document in self._store.transfers.fates(arrivals)
        ]

    def put(self, draft: Draft, passages: Sequence[Passage], jobs: Sequence[PastJob]) -> Taken:
        """Take a document in as it was; its file, if it has one, is stored already."""
        try:
            put = self._store.transfers.put(draft, passages, jobs)
        except BaseException as error:
            if not may_be_done(error):
                self._files.delete([draft.stored_name])
            raise
        self._files.delete([put.unneeded_file])
        document = put.document
        if put.fate == "unchanged":
            return Taken("unchanged", document.id, document.uid)
        self._made()
        is_new = put.fate == "new"
        self._events.publish(
            "document.added" if is_new else "document.changed", {"document_id": document.id}
        )
        return Taken("added" if is_new else "updated", document.id, document.uid)

    def read(self, new: NewJob, batch: str | None) -> Taken:
        """Queue what has to be read or cut first, unless it is here already."""
        assert new.arrival is not None
        [(fate, document)] = self._store.transfers.fates([new.arrival])
        if fate in ("unchanged", "conflict"):
            self._files.delete([new.stored_name])
        if document is not None and fate == "conflict":
            raise conflict(document)
        if fate == "unchanged":
            return Taken("unchanged", *_known(document))
        if new.arrival.numbered is not None:
            self._store.transfers.take_over_numbering(new.arrival.numbered)
        return Taken("queued", *_known(document), self._inbox.take(replace(new, batch=batch)).id)


def _known(document: Document | None) -> tuple[int | None, str | None]:
    return (None, None) if document is None else (document.id, document.uid)
