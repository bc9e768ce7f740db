"""`kb export`: everything in the knowledge base as files that a person can read."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import click
import httpx

from kb.cli.adding.waiting import patiently
from kb.cli.concurrently import in_turns
from kb.cli.export.folder import ExportFolder
from kb.cli.export.names import Names
from kb.cli.failure import FAILED, OK
from kb.cli.many import bar_of
from kb.cli.options import with_engine
from kb.cli.session import Session
from kb.cli.terminal.safe_text import count, one_line
from kb.cli.terminal.say import print_json, warn
from kb.client import EngineClient, Json, problem

_AT_ONCE = 8
_ATTEMPTS = 3
_LISTED = 100


@click.command("export")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@with_engine
def export_command(session: Session, folder: Path) -> int:
    """Write everything into a folder, as files that a person can read.

    Notes are Markdown files, originals keep their bytes, names and folders, and everything else is
    in JSON files beside them. DIR must be new or empty. "kb import" reads all of it back, into
    this store or another.
    """
    with ExportFolder(folder) as target:
        export = _Export(target)
        about = session.run(export.run)
    for problem_ in export.problems:
        warn(f"document {problem_['document_id']}: {one_line(problem_['message'])}")
    if export.under_way:
        what = "what it brings" if export.under_way == 1 else "what they bring"
        warn(f"{count(export.under_way, 'job')} had not ended: {what} is not in here")
    if export.changed:
        warn(
            f"{count(len(export.changed), 'document')} came or changed while this ran: export "
            f"again to have {'it' if len(export.changed) == 1 else 'them'}"
        )
    if session.as_json:
        told = {"problems": export.problems, "changed": export.changed}
        print_json({"path": str(folder), **about, "jobs_under_way": export.under_way, **told})
    else:
        click.echo(
            f"exported {count(about['documents'], 'document')} "
            f"({count(about['passages'], 'passage')}) to {folder}"
        )
    return FAILED if export.problems else OK


class _Gone(Exception):
    """A document was deleted while it was exported."""


class _Export:
    """One run. `problems` are documents whose file is missing or damaged."""

    def __init__(self, target: ExportFolder) -> None:
        self._target = target
        self._names = Names()
        self._written: dict[int, str] = {}
        self.problems: list[Json] = []
        self.changed: list[int] = []
        self.under_way = 0

    async def run(self, client: EngineClient) -> Json:
        state = await client.export_state()
        with bar_of("documents") as bar:
            task = bar.add_task("", total=state["documents"])
            after: int | None = 0
            while after is not None:
                page = await patiently(lambda start=after: client.export_documents(start))  # type: ignore[misc]
                await self._take(client, page["documents"], lambda: bar.advance(task))
                after = page["next"]
        state = await client.export_state()
        self.under_way = state["jobs_under_way"]
        await self._look_for_changes(client)
        return self._target.finish(state["numbering"], state["last_ids"])

    async def _take(
        self, client: EngineClient, records: list[Json], done: Callable[[], object]
    ) -> None:
        """Write some documents: their files at once, then their records in order."""
        ready: dict[int, tuple[Json, str | None, str | None]] = {}

        async def take(record: Json) -> None:
            path = None
            if record["has_file"] or record["doc_type"] == "note":
                path = self._names.path(record)
            try:
                if path is not None and record["has_file"]:
                    ready[record["id"]] = await self._file(client, record, path)
                else:
                    if path is not None:
                        self._target.put_note(record, path)
                    ready[record["id"]] = (record, path, None)
            except _Gone:
                self.changed.append(record["id"])
            done()

        lost = await in_turns(records, take, _AT_ONCE)
        if lost is not None:
            raise lost
        for record_id in sorted(ready):
            record, path_, sha256 = ready[record_id]
            self._target.put_record(record, path_, sha256)
            self._written[record_id] = record["updated_at"] or record["created_at"]

    async def _file(
        self, client: EngineClient, record: Json, path: str
    ) -> tuple[Json, str | None, str | None]:
        """A document's original, and the record of the document with exactly these bytes."""
        for _ in range(_ATTEMPTS):
            sha256 = await self._download(client, record, path)
            if sha256 is None:
                return record, None, None
            if sha256 == record["content_hash"] or not _is_of_bytes(record):
                return record, path, sha256
            fresh = await _fresh(client, record["id"])
            if fresh["content_hash"] == record["content_hash"]:  # so it is the file that changed
                self._problem(record, "its original is not what was added: check it with kb verify")
                return record, path, sha256
            record = fresh
        self._problem(record, "it changes all the time: export again")
        return record, path, sha256

    async def _download(self, client: EngineClient, record: Json, path: str) -> str | None:
        """Save the original; its hash, or None where there is none."""
        target = self._target.room_for(path)

        async def save() -> str:
            digest = hashlib.sha256()
            with target.open("wb") as file:
                async for piece in client.document_bytes(record["id"]):
                    digest.update(piece)
                    file.write(piece)
            return digest.hexdigest()

        try:
            return await patiently(save)
        except httpx.HTTPStatusError as error:
            target.unlink(missing_ok=True)
            said = problem(error)
            if said["error"] == "document_not_found":
                raise _Gone from None
            if error.response.status_code >= 500 and said["error"] != "files_inaccessible":
                raise
            self._problem(record, said["message"])
            return None

    def _problem(self, record: Json, message: str) -> None:
        self.problems.append(
            {"document_id": record["id"], "document_uid": record["uid"], "message": message}
        )

    async def _look_for_changes(self, client: EngineClient) -> None:
        """Which documents are not as they were written, as far as their times tell."""
        offset, found = 0, True
        while found:
            newest = await client.documents(sort="updated", limit=_LISTED, offset=offset)
            others = [
                document["id"]
                for document in newest["documents"]
                if self._written.get(document["id"])
                != (document["updated_at"] or document["created_at"])
            ]
            self.changed += others
            found, offset = len(others) == _LISTED, offset + _LISTED
        self.changed.sort()


def _is_of_bytes(record: Json) -> bool:
    """Whether a document's hash is one of its file: of v2's documents nobody knows."""
    return any(job["content_hash"] == record["content_hash"] for job in record["jobs"])


async def _fresh(client: EngineClient, document_id: int) -> Json:
    try:
        return await client.export_document(document_id)
    except httpx.HTTPStatusError as error:
        if error.response.status_code == 404:
            raise _Gone from None
        raise
