"""What callers may do with documents; keeps the store and the files consistent."""

from collections.abc import Sequence
from typing import Any

from kb.engine.data_folder.originals import FileStore
from kb.engine.events import Events
from kb.engine.ingest.pipeline import Pipeline
from kb.engine.store import Store
from kb.engine.store.doubles import Joined
from kb.engine.values import SAME_TAGS, Cleared, Deleted, Document, TagChange, WholeDocument


class Library:
    """What callers may do with documents. A file is unlinked after its row is gone; where files
    cannot be reached, nothing is deleted."""

    def __init__(self, store: Store, files: FileStore, pipeline: Pipeline, events: Events) -> None:
        self._store = store
        self._files = files
        self._pipeline = pipeline
        self._events = events

    def update(
        self,
        key: int | str,
        title: str | None,
        metadata: dict[str, Any] | None,
        if_updated_at: str | None,
        tags: TagChange = SAME_TAGS,
    ) -> Document:
        return self._changed(
            self._store.documents.update(self._id(key), title, metadata, if_updated_at, tags)
        )

    def revise_note(
        self,
        key: int | str,
        text: str,
        title: str | None,
        if_updated_at: str | None,
        tags: TagChange = SAME_TAGS,
    ) -> WholeDocument:
        document = self._pipeline.revise_note(self._id(key), text, title, if_updated_at, tags)
        self._changed(document)
        return document

    def set_tags(self, key: int | str, tags: Sequence[str]) -> Document:
        return self._changed(self._store.documents.set_tags(self._id(key), tags))

    def add_tags(self, key: int | str, tags: Sequence[str]) -> Document:
        return self._changed(self._store.documents.add_tags(self._id(key), tags))

    def remove_tags(self, key: int | str, tags: Sequence[str]) -> Document:
        return self._changed(self._store.documents.remove_tags(self._id(key), tags))

    def delete(self, key: int | str) -> Deleted:
        self._files.check()
        deleted, stored_name = self._store.documents.delete(self._id(key))
        self._files.delete([stored_name])
        self._events.publish("document.deleted", {"document_id": deleted.document_id})
        return deleted

    def join(self, ids: Sequence[int], if_updated_at: str | None) -> Joined:
        """Make one document of doubles."""
        joined, stored_names = self._store.doubles.join(ids, if_updated_at)
        self._files.delete(stored_names)
        self._changed(joined.document)
        for document_id in joined.removed:
            self._events.publish("document.deleted", {"document_id": document_id})
        return joined

    def clear(self) -> Cleared:
        self._files.check()
        cleared, stored_names = self._store.upkeep.clear()
        self._files.delete(stored_names)
        self._events.publish("documents.cleared", {"documents_removed": cleared.documents_removed})
        return cleared

    def _id(self, key: int | str) -> int:
        return key if isinstance(key, int) else self._store.documents.id_of(key)

    def _changed(self, document: Document) -> Document:
        self._events.publish("document.changed", {"document_id": document.id})
        return document
