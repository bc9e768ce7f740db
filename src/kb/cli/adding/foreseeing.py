"""Asks the engine, before a file is sent, what would come of it."""

import hashlib
from pathlib import Path
from typing import Any

import anyio.to_thread

from kb.client import EngineClient, Json


class Foreseeing:
    """Leaves out files that need not be sent: the engine has them, or has refused them before.

    An engine that has neither files nor failed jobs is not asked: then nothing has to be hashed.
    """

    def __init__(self, client: EngineClient, status: Json, fields: dict[str, Any]) -> None:
        counts = status["counts"]
        self._client = client
        self._fields = fields
        self._may_know = counts["documents"] > counts["notes"] or status["queue"]["failed"] > 0

    async def outcome(self, path: Path, filename: str, source_path: str | None) -> Json | None:
        """What is known to come of it; None where it has to be sent."""
        if not self._may_know:
            return None
        content_hash = await anyio.to_thread.run_sync(_sha256, path)
        foreseen = await self._client.check_file(
            filename,
            content_hash,
            path.stat().st_size,
            source_path=source_path,
            from_here=source_path is not None,
            **self._fields,
        )
        return foreseen if foreseen["outcome"] else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
