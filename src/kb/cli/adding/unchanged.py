"""A file in, the document that it is already out, or why it failed before: what has not changed
need not be sent."""

import hashlib
from pathlib import Path
from typing import Any

import anyio.to_thread
import httpx

from kb.client import EngineClient, Json
from kb.source_path import has_namesake


class Known:
    """Decides as the engine would: the same path and bytes, and no tag that is new.

    Only where that is beyond doubt: one document of this machine has the path, and the engine has
    nothing to do (a newer version of the file may wait in its queue).
    """

    def __init__(self, client: EngineClient, status: Json, fields: dict[str, Any]) -> None:
        queue, counts = status["queue"], status["counts"]
        is_idle = not queue["queued"] and not queue["running"]
        only_tags = all(value is None for name, value in fields.items() if name != "tags")
        self._client = client
        self._tags = set(fields.get("tags") or ())
        self._may_know = is_idle and only_tags and counts["documents"] > counts["notes"]
        self._may_have_failed = is_idle and only_tags and queue["failed"] > 0
        self._refused: dict[tuple[str, int], list[Json]] = {}

    async def look_at_refused(self) -> None:
        """Ask once which files the engine refused: there are few, and for most nothing to hash."""
        if not self._may_have_failed:
            return
        try:
            files = (await self._client.refused())["files"]
        except httpx.HTTPStatusError as error:
            if error.response.status_code != 404:  # an engine that does not know
                raise
            return
        for file in files:
            key = file["filename"], file["size_bytes"]
            self._refused.setdefault(key, []).append(file)

    async def refusal(self, path: Path, filename: str) -> Json | None:
        """Why the same bytes under this name were refused, by the engine as it is now."""
        files = self._refused.get((filename, path.stat().st_size), [])
        if not files:
            return None
        content_hash = await anyio.to_thread.run_sync(_sha256, path)
        return next((file for file in files if file["content_hash"] == content_hash), None)

    async def document(self, path: Path, source_path: str | None) -> Json | None:
        """The document that the file is, byte for byte."""
        if not self._may_know or source_path is None:
            return None
        found = (await self._client.documents(source_path=source_path))["documents"]
        files = [document for document in found if self._is_of_here(document)]
        if len(files) != 1 or not self._tags <= set(files[0]["tags"]):
            return None
        [document] = files
        if document["source_path"] != source_path and has_namesake(source_path):
            return None  # it is the other one
        if document["size_bytes"] != path.stat().st_size:
            return None
        same = await anyio.to_thread.run_sync(_sha256, path) == document["content_hash"]
        return document if same else None

    def _is_of_here(self, document: Json) -> bool:
        """One whose machine is not known yet is sent once more, then it is."""
        of_here = self._client.origin in (None, document["origin"])
        return of_here and document["doc_type"] != "note"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
