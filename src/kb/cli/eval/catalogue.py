"""Finds the documents that a person may mean by a name."""

import difflib
import os
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from kb.client import Json

_MOST_COMPARED = 5_000  # names; to look for a likely one among more would take seconds


class Catalogue:
    """Documents by everything that people call them."""

    def __init__(self, documents: Iterable[Json]) -> None:
        self._documents = {document["id"]: document for document in documents}
        everything = self._documents.values()
        self._ids = _index(everything, lambda document: str(document["id"]))
        self._uids = _index(everything, lambda document: document["uid"])
        self._paths = _index(everything, lambda document: document["source_path"])
        self._names = _index(everything, lambda document: _folded(document["filename"]))
        self._titles = _index(everything, lambda document: _folded(document["title"]))
        self._stems = _index(
            everything, lambda document: PurePosixPath(_folded(document["filename"])).stem
        )

    def document(self, document_id: int) -> Json:
        return self._documents[document_id]

    def named(self, reference: str) -> list[int]:
        """The ids of the documents that are called so, by the first way that finds any.

        A path may be given from this folder, or by its last parts alone: a file of questions is
        then as good on another machine.
        """
        reference = unicodedata.normalize("NFC", reference)
        folded = reference.casefold()
        return (
            self._ids.get(reference)
            or self._uids.get(folded)
            or self._paths.get(reference)
            or self._paths.get(os.path.abspath(reference))
            or self._names.get(folded)
            or self._ending(reference)
            or self._titles.get(folded)
            or self._stems.get(folded)
            or []
        )

    def _ending(self, reference: str) -> list[int]:
        tail = f"/{reference.removeprefix('./').lstrip('/')}"
        if "/" not in reference or tail == "/":
            return []
        return [found for path, ids in self._paths.items() if path.endswith(tail) for found in ids]

    def near(self, reference: str) -> str | None:
        """A name that was perhaps meant."""
        known = self._titles | self._names
        if len(known) > _MOST_COMPARED:
            return None
        name = PurePosixPath(_folded(reference)).name
        close = difflib.get_close_matches(name, known, n=1, cutoff=0.8)
        if not close:
            return None
        document = self._documents[known[close[0]][0]]
        return str(document["filename" if close[0] in self._names else "title"])


def _index(documents: Iterable[Json], name: Callable[[Json], str | None]) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for document in documents:
        key = name(document)
        if key:
            found.setdefault(key, []).append(document["id"])
    return found


def _folded(name: str | None) -> str:
    return unicodedata.normalize("NFC", name or "").casefold()


def name_of(document: Json) -> str:
    return str(document["filename"] or document["title"])
