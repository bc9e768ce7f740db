"""The REST API as Python methods that return parsed JSON.

The command line and the MCP server know the engine only through this class. A method is named after
its route's noun, returns the engine's answer, and raises `httpx.HTTPStatusError` if that was not a
success; `problem` turns such an error into the engine's own words.
"""

import io
import json
import os
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import anyio
import httpx

from kb.connection import CONNECT, PATIENCE, Connection, EngineTooOld, Json, problem
from kb.source_path import has_namesake, readable

__all__ = ["ENDED", "EngineClient", "EngineTooOld", "Json", "problem"]

ENDED = frozenset({"done", "failed", "cancelled"})

_FIRST_POLL, _SLOWEST_POLL, _POLL_GROWTH = 0.05, 1.0, 1.4
# What a file is the engine tells from its bytes. Unless a type is given, httpx guesses one from the
# name, by tables that take half a megabyte.
_ANY_BYTES = "application/octet-stream"
_LARGEST_JSON = 64 * 2**10  # bytes; what is larger is sent as a part of several


class EngineClient:
    """The engine at `base_url`; use it as an async context manager, then it closes itself.

    `origin` is a lasting name of this machine, sent with the paths of its files.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str | None = None,
        *,
        origin: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.origin = origin
        self._connection = Connection(base_url, api_key, transport)
        self._call = self._connection.call

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._connection.close()

    # Searching

    async def search(self, query: str, **options: Any) -> Json:
        """Find passages. `options` are the fields of POST /search; None leaves one out."""
        body = {"query": query} | _given(options)
        return await self._call("POST", "search", changes=False, json=body)

    # Adding

    async def add_note(
        self,
        text: str,
        tags: Iterable[str] | None = None,
        *,
        title: str | None = None,
        source_path: str | None = None,
        metadata: Json | None = None,
        idempotency_key: str | None = None,
        batch: str | None = None,
    ) -> Json:
        """Queue a note and return its job; the same `idempotency_key` gives the same job.

        What is sent with the same `batch` takes turns with the batches of others.
        """
        body = _given(
            {
                "text": text,
                "tags": list(tags) if tags is not None else None,
                "title": title,
                "source_path": source_path,
                "metadata": metadata,
            }
        )
        headers = _job_headers(idempotency_key, batch)
        return await self._call("POST", "jobs", repeatable=True, json=body, headers=headers)

    async def add_file(
        self,
        path: Path | int,
        tags: Iterable[str] = (),
        *,
        filename: str | None = None,
        title: str | None = None,
        source_path: str | None = None,
        from_here: bool = False,
        metadata: Json | None = None,
        force_ocr: bool | None = None,
        idempotency_key: str | None = None,
        batch: str | None = None,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> Json:
        """Queue a file, streamed from disk, and return its job.

        An open descriptor takes the place of a path where it matters that it is this very file; it
        needs a `filename`, and is closed here.
        `on_progress(sent, total)` is called as bytes leave. Nothing but what is given is sent: an
        upload has a source path only if its caller says so, and `from_here` says that it is one
        of this machine.
        """
        fields = _given(
            {
                "tags": list(tags),
                "title": title,
                **self._place(source_path, from_here),
                "metadata": json.dumps(metadata) if metadata is not None else None,
                "force_ocr": force_ocr,
            }
        )
        headers = _job_headers(idempotency_key, batch)
        name = filename or (readable(path.name) if isinstance(path, Path) else "file")
        with _Upload(path, on_progress) as file:
            return await self._call(
                "POST",
                "jobs",
                repeatable=True,
                data=fields,
                files={"file": (name, file, _ANY_BYTES)},
                headers=headers,
            )

    async def check_file(
        self,
        filename: str,
        content_hash: str,
        size_bytes: int,
        *,
        source_path: str | None = None,
        from_here: bool = False,
        **fields: Any,
    ) -> Json:
        """What sending a file would do, by its SHA-256; its `outcome` is null if it must be sent.
        `fields` are those of `add_file`."""
        known = {"filename": filename, "content_hash": content_hash, "size_bytes": size_bytes}
        body = known | _given(self._place(source_path, from_here) | fields)
        return await self._call("POST", "jobs/check", changes=False, json=body)

    def _place(self, source_path: str | None, from_here: bool) -> Json:
        return {
            "source_path": source_path,
            "exact_path": (from_here and has_namesake(source_path or "")) or None,
            "origin": self.origin if from_here else None,
        }

    # Jobs

    async def jobs(self, **options: Any) -> Json:
        """One page of jobs, newest first: `status`, `limit`, `offset`."""
        return await self._call("GET", "jobs", params=_given(options))

    async def job(self, job_id: int | str) -> Json:
        return await self._call("GET", _path("jobs", job_id))

    async def queue(self, limit: int | None = None) -> Json:
        """Running jobs, the next ones and the last ended ones, with the number of each."""
        return await self._call("GET", "queue", params=_given({"limit": limit}))

    async def cancel_job(self, job_id: int | str) -> Json:
        """Cancel a job that has not ended."""
        return await self._call("DELETE", _path("jobs", job_id))

    async def retry_job(self, job_id: int | str) -> Json:
        return await self._call("POST", _path("jobs", job_id, "retry"))

    # Checking

    async def verify(self) -> Json:
        """The check of everything that runs, or the last one."""
        return await self._call("GET", "verify")

    async def start_verify(self, *, repair: bool = False) -> Json:
        """Check everything, and if asked make again what can be made."""
        return await self._call("POST", "verify", json={"repair": repair})

    async def cancel_verify(self) -> Json:
        return await self._call("DELETE", "verify")

    async def wait_for_job(
        self, job_id: int | str, on_progress: Callable[[Json], object] | None = None
    ) -> Json:
        async for job in self.watch_job(job_id):
            if on_progress is not None:
                on_progress(job)
        return job

    async def watch_job(
        self, job_id: int | str, slowest: float = _SLOWEST_POLL
    ) -> AsyncIterator[Json]:
        """The job, again and again, until it has ended. Asks often at first, then once a second,
        or every `slowest` seconds.

        A job far back in the queue is asked for less often still: where many wait, the asking
        itself would take the engine's time.
        """
        pause = _FIRST_POLL
        while True:
            job = await self.job(job_id)
            yield job
            if job["status"] in ENDED:
                return
            turn = job.get("remaining_seconds") or 0.0 if job["status"] == "queued" else 0.0
            await anyio.sleep(max(pause, min(turn / 3, 2 * slowest)))
            pause = min(pause * _POLL_GROWTH, slowest)

    # Documents

    async def documents(self, **options: Any) -> Json:
        """One page of documents; `options` are the route's parameters, `tag` a list."""
        return await self._call("GET", "documents", params=_given(options))

    async def document(self, doc_id: int | str, **options: Any) -> Json:
        """One document with its passages; with `chunks=False`, without."""
        return await self._call("GET", _path("documents", doc_id), params=_given(options))

    async def update_document(self, doc_id: int | str, **changes: Any) -> Json:
        """Change a document's `title` or `metadata`, `add_tags`, `remove_tags`; with
        `if_updated_at`, only if nobody changed it since."""
        return await self._call("PATCH", _path("documents", doc_id), json=changes)

    def document_bytes(self, doc_id: int | str) -> AsyncGenerator[bytes, None]:
        """The original file, piece by piece; closed by who stops reading, as `events` are."""
        return self._connection.pieces(_path("documents", doc_id, "file"))

    async def document_file(
        self,
        doc_id: int | str,
        path: Path,
        on_progress: Callable[[int], object] | None = None,
    ) -> Json:
        """Save the original file as `path`; it appears there whole or not at all."""
        part = path.with_name(f".{path.name}.{uuid.uuid4().hex[:8]}.part")
        size = 0
        try:
            with part.open("xb") as file:
                async for piece in self.document_bytes(doc_id):
                    size += file.write(piece)
                    if on_progress is not None:
                        on_progress(size)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        return {"path": str(path), "size_bytes": size}

    async def delete_document(self, doc_id: int | str) -> Json:
        return await self._call("DELETE", _path("documents", doc_id))

    async def doubles(self, **options: Any) -> Json:
        """One page of paths that several file documents have: `limit`, `offset`."""
        return await self._call("GET", "doubles", params=_given(options))

    async def join_doubles(self, ids: Iterable[int], if_updated_at: str | None = None) -> Json:
        """Make one document of the doubles of one path, if they are as they were listed."""
        body = _given({"ids": list(ids), "if_updated_at": if_updated_at})
        return await self._call("POST", "doubles/join", json=body)

    async def copies(self, **options: Any) -> Json:
        """One page of contents that documents of several paths have: `limit`, `offset`."""
        return await self._call("GET", "copies", params=_given(options))

    async def clear(self, confirm: str) -> Json:
        """Delete everything; `confirm` must be DELETE ALL."""
        return await self._call("DELETE", "documents", json={"confirm": confirm})

    # Export and import

    async def export_state(self) -> Json:
        """How much there is to export, and by which numbering it has its ids."""
        return await self._call("GET", "export")

    async def export_documents(self, after: int = 0, limit: int | None = None) -> Json:
        """Everything that is known of some documents whose ids are greater than `after`."""
        params = _given({"after": after, "limit": limit})
        return await self._call("GET", "export/documents", params=params)

    async def export_document(self, doc_id: int | str) -> Json:
        """Everything that is known of one document."""
        return await self._call("GET", _path("export", "documents", doc_id))

    async def check_import(self, items: Iterable[Json]) -> Json:
        """What importing these documents would do."""
        body = {"items": list(items)}
        return await self._call("POST", "import/check", changes=False, json=body)

    async def import_document(
        self, document: Json, file: Path | None = None, batch: str | None = None
    ) -> Json:
        """Take in one document from elsewhere, with its file, if it has one."""
        body = json.dumps(document, ensure_ascii=False).encode()
        request: dict[str, Any] = {
            "repeatable": True,
            "headers": {} if batch is None else {"batch-id": batch},
            # The words of a hundred thousand passages take a while to be put into their index.
            "timeout": httpx.Timeout(PATIENCE, connect=CONNECT, read=PATIENCE + len(body) / 10**5),
        }
        if file is None and len(body) < _LARGEST_JSON:
            request["headers"]["content-type"] = "application/json"
            return await self._call("POST", "import", content=body, **request)
        parts: dict[str, Any] = {"document": ("document.json", body, "application/json")}
        if file is None:
            return await self._call("POST", "import", files=parts, **request)
        with _Upload(file, None) as content:
            parts["file"] = ("file", content, _ANY_BYTES)
            return await self._call("POST", "import", files=parts, **request)

    # Tags

    async def tags(self) -> Json:
        """Every tag with its count."""
        return await self._call("GET", "tags")

    async def kinds(self) -> Json:
        """Every kind of document, with the words that stand for it."""
        return await self._call("GET", "kinds")

    async def stats(self, **options: Any) -> Json:
        """How many documents by day, type and tag; `options` as in `documents`."""
        return await self._call("GET", "stats", params=_given(options))

    async def replace_tags(self, doc_id: int | str, tags: Iterable[str]) -> Json:
        """Give a document exactly these tags; returns the document."""
        return await self._change_tags("PUT", doc_id, tags)

    async def add_tags(self, doc_id: int | str, tags: Iterable[str]) -> Json:
        """Add tags to a document; returns the document."""
        return await self._change_tags("POST", doc_id, tags)

    async def remove_tags(self, doc_id: int | str, tags: Iterable[str]) -> Json:
        """Take tags off a document; returns the document."""
        return await self._change_tags("DELETE", doc_id, tags)

    async def _change_tags(self, method: str, doc_id: int | str, tags: Iterable[str]) -> Json:
        path = _path("documents", doc_id, "tags")
        return await self._call(method, path, repeatable=True, json={"tags": list(tags)})

    # Notes

    async def update_note(
        self,
        doc_id: int | str,
        text: str,
        *,
        title: str | None = None,
        add_tags: Iterable[str] | None = None,
        remove_tags: Iterable[str] | None = None,
        if_updated_at: str | None = None,
    ) -> Json:
        """Replace a note's text; with `if_updated_at`, only if nobody changed it since.

        The engine answers when all of it has its vectors, which takes minutes for the longest.
        """
        body = _given(
            {
                "text": text,
                "title": title,
                "add_tags": None if add_tags is None else list(add_tags),
                "remove_tags": None if remove_tags is None else list(remove_tags),
                "if_updated_at": if_updated_at,
            }
        )
        patience = httpx.Timeout(PATIENCE, connect=CONNECT, read=PATIENCE + len(text) / 500)
        return await self._call("PATCH", _path("notes", doc_id), json=body, timeout=patience)

    # The engine

    async def status(self) -> Json:
        """Version, model, counts, queue, store and health."""
        return await self._call("GET", "status")

    async def models(self) -> Json:
        """The installed models, the one in use, and the progress of a change."""
        return await self._call("GET", "models")

    async def use_model(self, name: str) -> Json:
        """Change over to another model, in the background; the same answer as `models`."""
        return await self._call("PUT", "model", repeatable=True, json={"name": name})

    async def begin_backup(self, folder: str | None = None, keep: int | None = None) -> Json:
        """Start a backup into a folder of the engine's machine; `backups` shows its progress."""
        return await self._call("POST", "backups", json=_given({"folder": folder, "keep": keep}))

    async def backups(self) -> Json:
        """How far a backup is, when the last good one was made, and which there are."""
        return await self._call("GET", "backups")

    def events(self, last_event_id: str | None = None) -> AsyncGenerator[Json, None]:
        """What happens in the engine, as it happens: `{event, id, data}` without end.

        Who stops listening closes it (`contextlib.aclosing`), and with it the connection.
        """
        return self._connection.events("events", last_event_id)


class _Upload(io.FileIO):
    """A file that tells how much of it was read, and ends where it ended when it was opened.

    The length is announced before the bytes: a log file that grows meanwhile must not break it.
    """

    def __init__(self, path: Path | int, on_progress: Callable[[int, int], object] | None) -> None:
        super().__init__(path, "rb")
        self._size = os.fstat(self.fileno()).st_size
        self._on_progress = on_progress

    def read(self, size: int | None = -1, /) -> bytes:
        left = max(self._size - self.tell(), 0)
        piece = super().read(left if size is None or size < 0 else min(size, left)) or b""
        if self._on_progress is not None:
            self._on_progress(self.tell(), self._size)
        return piece


def _given(options: Json) -> Json:
    return {name: value for name, value in options.items() if value is not None}


def _job_headers(idempotency_key: str | None, batch: str | None) -> dict[str, str]:
    headers = {"idempotency-key": idempotency_key or str(uuid.uuid4())}
    return headers if batch is None else headers | {"batch-id": batch}


def _path(*parts: int | str) -> str:
    """A path of the API. Dots are escaped too: an id of `..` must not become another route."""
    return "/".join(quote(str(part), safe="").replace(".", "%2E") for part in parts)
