"""Jobs: requests to ingest, and their progress."""

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import Any

from kb import __version__
from kb.engine import errors
from kb.engine.records import PastJob
from kb.engine.store.facts import put_fact
from kb.engine.store.file.database import Database, Query, Row
from kb.engine.store.file.reserve import may_use_reserve
from kb.engine.store.leases import Leases, check_lease
from kb.engine.store.queue import (
    IN_TURN,
    MOST_IN_HAND,
    Place,
    Which,
    last_in_line,
    next_job,
    next_turn,
    note_taken,
    places,
)
from kb.engine.store.rows import page_words, pictures_inside
from kb.engine.store.rows.chunk_rows import VectorsOfModels
from kb.engine.store.rows.document_rows import DocumentRows, found, retag
from kb.engine.store.rows.identity import changes, kept_path, known_document, twin
from kb.engine.store.transfer.arrivals import conflict, decide
from kb.engine.store.transfer.numbering import kept_id
from kb.engine.store.transfer.record_rows import put_jobs
from kb.engine.values import (
    Arrival,
    Change,
    Chunk,
    Document,
    Draft,
    Foreseen,
    Imported,
    Job,
    JobCounts,
    JobError,
    JobPage,
    JobQueue,
    NewJob,
    Numbered,
    Outcome,
    PicturesRead,
    TakenJob,
    now,
)

MOST_ATTEMPTS = 3
_REFUSED_SINCE = "refused_since"
# What stays true of the same bytes, whatever is set or installed.
_OF_THE_FILE = ("unsupported_format", "damaged_file", "password_needed", "nested_too_deep")
_COLUMNS = (
    "id, uid, status, created_at, started_at, finished_at, attempts, filename, "
    "iif(has_text OR stored_name IS NOT NULL, size_bytes, 0), outcome, "
    "changed, document_id, document_uid, chunk_count, duplicate_of, processing_method, "
    "error_code, error_message"
)
_TEXT = "(SELECT text FROM job_texts WHERE job_id = jobs.id)"
_REQUEST = (
    "kind, content_hash, size_bytes, stored_name, filename, title, source_path, tags, "
    "metadata, force_ocr, origin, batch, pictures, expected, arrival, document_id"
)
_PACES = "paces"
_EXPIRED_AT_ONCE = 200
# What a job holds only until it ends.
_EMPTIED = (
    "has_text = 0, stored_name = NULL, title = NULL, source_path = NULL, tags = NULL, "
    "metadata = NULL, origin = NULL, arrival = NULL, lease = NULL"
)


@dataclass(frozen=True, slots=True)
class Finished:
    """A job's end, and the file that is no longer needed because of it."""

    job: Job
    unneeded_file: str | None


class Jobs:
    """The part of the store that is about jobs."""

    def __init__(self, database: Database, documents: DocumentRows, leases: Leases) -> None:
        self._database = database
        self._documents = documents
        self._leases = leases
        self._must_recover = False

    def add(self, new: NewJob) -> tuple[Job, bool]:
        """Queue a job. The same idempotency key gives the same job; True when it is a new one."""
        with self._database.transaction() as query:
            if new.idempotency_key is not None:
                rows = query(
                    f"SELECT fingerprint, {_COLUMNS} FROM jobs WHERE idempotency_key = :key",
                    key=new.idempotency_key,
                )
                if rows:
                    known, *row = rows[0]
                    if known not in (None, new.fingerprint()):
                        raise errors.IdempotencyConflict(row[0])
                    return _job(tuple(row)), False
            query(
                "INSERT INTO jobs (uid, status, kind, has_text, stored_name, filename, title, "
                "source_path, tags, metadata, force_ocr, origin, content_hash, size_bytes, "
                "idempotency_key, fingerprint, batch, turn, pictures, expected, arrival, "
                "created_at) VALUES (:uid, 'queued', :kind, :has_text, :stored_name, :filename, "
                ":title, :source_path, :tags, :metadata, :force_ocr, :origin, :hash, :size, :key, "
                ":fingerprint, :batch, :turn, :pictures, :expected, :arrival, :now)",
                uid=str(uuid.uuid4()),
                kind=new.kind,
                has_text=new.text is not None,
                stored_name=new.stored_name,
                filename=new.filename,
                title=new.title,
                source_path=kept_path(query, new),
                tags=None if new.tags is None else json.dumps(new.tags),
                metadata=json.dumps(new.metadata),
                force_ocr=new.force_ocr,
                origin=new.origin,
                hash=new.content_hash,
                size=new.size_bytes,
                key=new.idempotency_key,
                fingerprint=None if new.idempotency_key is None else new.fingerprint(),
                batch=new.batch,
                turn=next_turn(query, new.batch, new.pictures),
                pictures=new.pictures,
                expected=new.expected,
                arrival=None if new.arrival is None else json.dumps(asdict(new.arrival)),
                now=now(),
            )
            job_id = query.inserted_id()
            if new.text is not None:
                query("INSERT INTO job_texts VALUES (:id, :text)", id=job_id, text=new.text)
            return _found_job(query, job_id), True

    def get(self, key: int | str) -> Job:
        with self._database.reading() as query:
            return _found_job(query, key)

    def listing(
        self, status: str | None, limit: int, offset: int, document_id: int | None = None
    ) -> JobPage:
        """Newest first."""
        wanted = {"status": status, "document_id": document_id}
        values = {name: value for name, value in wanted.items() if value is not None}
        condition = " AND ".join(["TRUE", *(f"{name} = :{name}" for name in values)])
        with self._database.reading() as query:
            [(total,)] = query(f"SELECT count(*) FROM jobs WHERE {condition}", **values)
            rows = query(
                f"SELECT {_COLUMNS} FROM jobs WHERE {condition} "
                "ORDER BY id DESC LIMIT :limit OFFSET :offset",
                limit=limit,
                offset=offset,
                **values,
            )
        return JobPage([_job(row) for row in rows], total, limit, offset)

    def foresee(self, request: NewJob) -> Foreseen:
        """What a file would come to that is not here yet, as far as that needs no reading."""
        with self._database.reading() as query:
            request = replace(request, source_path=kept_path(query, request))
            document = known_document(query, request)
            if document is None or changes(request, document):
                return _refusal(query, request) or Foreseen()
            # By sending it once more, the document's machine becomes known.
            if _is_waited_for(query, request) or (request.origin and not document.origin):
                return Foreseen()
            return Foreseen("unchanged", document.id, document.uid, document.chunk_count)

    def queue(self, limit: int) -> JobQueue:
        """At most `limit` of each kind: what runs, what runs next, what ended last."""
        with self._database.reading() as query:

            def jobs(condition: str) -> list[Job]:
                rows = query(
                    f"SELECT {_COLUMNS} FROM jobs WHERE {condition} LIMIT :limit", limit=limit
                )
                return [_job(row) for row in rows]

            return JobQueue(
                running=jobs("status = 'running' ORDER BY started_at, id"),
                queued=jobs(IN_TURN),
                ended=jobs(
                    "status IN ('done', 'failed', 'cancelled') ORDER BY finished_at DESC, id DESC"
                ),
                counts=JobCounts(
                    **dict(query("SELECT status, count(*) FROM jobs GROUP BY status"))
                ),
            )

    def last_in_line(self) -> list[Job]:
        """The last job of each line, if there is one: when they are done, all is."""
        with self._database.reading() as query:
            return [_found_job(query, job_id) for job_id in last_in_line(query)]

    def places(self, job_ids: Sequence[int]) -> dict[int, Place]:
        """The places of these jobs in their queues, for those that wait."""
        if not job_ids:
            return {}
        with self._database.reading() as query:
            return places(query, job_ids)

    def take(self, which: Which = "next") -> TakenJob | None:
        """The queued job whose turn it is, under a new lease, its attempt counted.

        One with pictures comes first, as long as not too many of those are in hand; it is never
        `small`. Only one of a batch is in hand: they recognise in turns, and the others wait here.
        What a worker left that has not been heard of for so long is taken back first.
        """
        columns = f"id, uid, attempts, {_TEXT}, {_REQUEST}"
        if self._must_recover:
            self.recover()
        with self._database.transaction() as query:
            _take_back(query, self._leases.over(query))
            running = query("SELECT pictures, attempts FROM jobs WHERE status = 'running'")
            if any(attempts > 2 for _, attempts in running):
                return None
            in_hand = sum(pictures for pictures, _ in running)
            lines = [False] if which == "small" or in_hand >= MOST_IN_HAND else [True, False]
            heads = (next_job(query, columns, line, which, in_hand) for line in lines)
            row = next((head for head in heads if head is not None), None)
            if row is None:
                return None
            job_id, uid, attempts, text, *request = row
            lease = str(uuid.uuid4())
            query(
                "UPDATE jobs SET status = 'running', attempts = attempts + 1, started_at = :now "
                "WHERE id = :id",
                id=job_id,
                now=now(),
            )
            self._leases.give(query, job_id, lease)
            note_taken(query, job_id)
        return TakenJob(job_id, uid, lease, attempts + 1, _request(text, request))

    def holds(self, taken: TakenJob) -> bool:
        """Whether the worker may go on: a job that was cancelled, or that another has taken, is
        not its own any more."""
        with self._database.reading() as query:
            rows = query("SELECT lease FROM jobs WHERE id = :id", id=taken.id)
        return rows == [(taken.lease,)]

    def keep(self, taken: Sequence[TakenJob]) -> None:
        """Have the leases of these jobs end later, where some of their time is over. One that was
        lost stays lost."""
        with self._database.reading() as query:
            due = self._leases.due(query, taken)
        if due:
            with self._database.transaction(adds=False) as query:
                self._leases.put_off(query, due)

    def finish_unread(self, taken: TakenJob) -> Finished | None:
        """End a job whose very bytes are here already; None if they have to be read."""
        with self._database.transaction() as query:
            check_lease(query, taken)
            if taken.request.document_id is not None:
                found(query, taken.request.document_id)
                return None
            return self._end_unread(query, taken, _known(query, taken.request))

    def finish(
        self,
        taken: TakenJob,
        draft: Draft,
        chunks: Sequence[Chunk],
        vectors: VectorsOfModels,
        message: str = "",
    ) -> Finished:
        """Store the document and end the job, in one transaction. `message` stays on the job.

        What the draft says of pictures that wait becomes a job of its own.
        """
        prepared = self._documents.chunks.prepare(chunks, vectors)
        with self._database.transaction() as query:
            check_lease(query, taken)
            if taken.request.document_id is not None:
                document = self._documents.read_again(
                    query, taken.request.document_id, draft, prepared, taken.request.metadata
                )
                job = _end(query, taken, "updated", document, ("content",), message)
                _queue_pictures(query, taken, draft, document)
                return Finished(job, taken.request.stored_name)
            target = _known(query, taken.request)
            if finished := self._end_unread(query, taken, target):
                return finished
            unneeded = None
            if target is None:
                document_id = self._documents.insert(
                    query, draft, prepared, kept_id(query, draft.arrival)
                )
                document = found(query, document_id)
                _put_history(query, document, draft.arrival)
                job = _end(query, taken, "added", document, message=message)
            else:
                changed = changes(taken.request, target)
                rows = self._documents
                put = rows.update_in_place if draft.arrival is None else rows.replace
                unneeded = put(query, target, draft, prepared)
                _put_history(query, target, draft.arrival)
                document = found(query, target.id)
                job = _end(query, taken, "updated", document, changed, message)
            _queue_pictures(query, taken, draft, document)
        if unneeded:
            self._database.checkpoint()
        return Finished(job, unneeded)

    def add_pictures(
        self,
        taken: TakenJob,
        read: PicturesRead,
        chunks: Sequence[Chunk],
        vectors: VectorsOfModels,
        message: str = "",
    ) -> Finished:
        """Store what was recognised in a document, behind what it has, and end the job.

        Where the document has new bytes by now, the pictures are not its own any more.
        """
        prepared = self._documents.chunks.prepare(chunks, vectors)
        with self._database.transaction() as query:
            check_lease(query, taken)
            document = found(query, taken.request.document_id or 0)
            if document.content_hash != taken.request.content_hash:
                return Finished(_end(query, taken, "unchanged", document), None)
            if chunks:
                self._documents.chunks.append(query, document, prepared)
            words = sum(len(chunk.text.split()) for chunk in chunks)
            page_words.add(query, document.id, read.words)
            pictures_inside.note(query, document, read, words)
            self._documents.call_as_before(query, found(query, document.id), taken.request.metadata)
            outcome: Outcome = "updated" if chunks else "unchanged"
            changed: tuple[Change, ...] = ("content",) if chunks else ()
            after = found(query, document.id)
            return Finished(_end(query, taken, outcome, after, changed, message), None)

    def _end_unread(
        self, query: Query, taken: TakenJob, target: Document | None
    ) -> Finished | None:
        """What can be done about a request without reading its bytes: nothing, or add tags."""
        if target is None:
            return None
        request = taken.request
        if request.arrival is not None:
            if decide(query, request.arrival)[0] != "unchanged":
                return None
            return Finished(_end(query, taken, "unchanged", target), request.stored_name)
        changed = changes(request, target)
        if changed not in ((), ("tags",)):
            return None
        if request.origin and target.origin is None:
            query(
                "UPDATE documents SET origin = :origin WHERE id = :id",
                id=target.id,
                origin=request.origin,
            )
        if changed:
            retag(query, target, {*target.tags, *(request.tags or ())})
            job = _end(query, taken, "updated", found(query, target.id), changed, "Tags added")
        else:
            job = _end(query, taken, "unchanged", target)
        return Finished(job, request.stored_name)

    def fail(self, taken: TakenJob, code: str, message: str) -> Job:
        """End a job with the reason. Its bytes stay, for a retry."""
        with self._database.transaction(adds=False) as query:
            check_lease(query, taken)
            if code in _OF_THE_FILE:
                _note_version(query)
            _fail(query, taken.id, code, message)
            if taken.request.kind == "pictures":
                _note_unread(query, taken.id, message)
            return _found_job(query, taken.id)

    def needs_pictures(self, taken: TakenJob, count: int) -> None:
        """Record that a job has this many pictures to recognise: it moves to that queue."""
        with self._database.transaction() as query:
            check_lease(query, taken)
            query(
                "UPDATE jobs SET pictures = 1, expected = :count, turn = :turn WHERE id = :id",
                id=taken.id,
                count=count,
                turn=next_turn(query, taken.request.batch, pictures=True),
            )

    def release(self, taken: TakenJob) -> None:
        """Put a job back as if it had not been taken: the engine stops, or the disk is full."""
        with self._database.transaction(adds=False) as query:
            check_lease(query, taken)
            query(
                "UPDATE jobs SET status = 'queued', lease = NULL, attempts = attempts - 1, "
                "started_at = NULL WHERE id = :id",
                id=taken.id,
            )

    @may_use_reserve
    def cancel(self, key: int | str) -> Finished:
        """End a job that is queued or running; of one that has failed, delete what it holds."""
        with self._database.transaction(adds=False) as query:
            job = _found_job(query, key)
            is_failed = job.status == "failed"
            if job.status in ("done", "cancelled") or (is_failed and not job.held_bytes):
                raise errors.JobEnded(
                    f"Job {job.id} has ended already: {job.status}"
                    + (". What was sent with it is not kept any more" if is_failed else ""),
                    job_id=job.id,
                    status=job.status,
                )
            [(stored_name,)] = query("SELECT stored_name FROM jobs WHERE id = :id", id=job.id)
            query(f"UPDATE jobs SET {_EMPTIED} WHERE id = :id", id=job.id)
            _delete_text(query, job.id)
            if not is_failed:
                _note_unread(query, job.id, "it was cancelled")
                query(
                    "UPDATE jobs SET status = 'cancelled', finished_at = :now WHERE id = :id",
                    id=job.id,
                    now=now(),
                )
            cancelled = _found_job(query, job.id)
        self._database.empty_log_soon()
        return Finished(cancelled, stored_name)

    @may_use_reserve
    def expire_failed(self, before: str) -> tuple[int, list[str]]:
        """Let go of what jobs hold that failed before this time; some at once, the rest later.

        How many jobs those were, and the names of their files, which are the caller's to unlink.
        """
        with self._database.transaction(adds=False) as query:
            rows = query(
                "SELECT id, stored_name FROM jobs "
                "WHERE status = 'failed' AND finished_at < :before "
                "AND (has_text OR stored_name IS NOT NULL) ORDER BY id LIMIT :limit",
                before=before,
                limit=_EXPIRED_AT_ONCE,
            )
            for job_id, _ in rows:
                query("UPDATE jobs SET has_text = 0, stored_name = NULL WHERE id = :id", id=job_id)
                _delete_text(query, job_id)
        if rows:
            self._database.empty_log_soon()
        return len(rows), [name for _, name in rows if name]

    def retry(self, key: int | str) -> Job:
        """Queue a failed job again, with a fresh count of attempts."""
        with self._database.transaction() as query:
            job = _found_job(query, key)
            [(has_text, stored_name, batch, pictures)] = query(
                "SELECT has_text, stored_name, batch, pictures FROM jobs WHERE id = :id", id=job.id
            )
            if job.status != "failed" or not (has_text or stored_name):
                raise errors.JobNotRetryable(
                    f"Job {job.id} is {job.status} and what was sent with it is not kept any more "
                    "(it was deleted, or is older than KB_FAILED_DAYS): add it again"
                    if job.status in ("failed", "cancelled")
                    else f"Job {job.id} is {job.status}; only a failed job can be retried",
                    job_id=job.id,
                    status=job.status,
                )
            query(
                "UPDATE jobs SET status = 'queued', attempts = 0, error_code = NULL, turn = :turn, "
                "error_message = NULL, started_at = NULL, finished_at = NULL WHERE id = :id",
                id=job.id,
                turn=next_turn(query, batch, pictures),
            )
            return _found_job(query, job.id)

    def paces(self) -> dict[str, float]:
        """How fast which kind of work was, when that was last remembered."""
        rows = self._database.read_if_whole(
            "SELECT value FROM facts WHERE name = :name", name=_PACES
        )
        return json.loads(rows[0][0]) if rows else {}

    def remember_paces(self, paces: Mapping[str, float]) -> None:
        with self._database.transaction() as query:
            put_fact(query, _PACES, json.dumps(dict(paces)))

    def recover(self, *, alone: bool = False) -> None:
        """Queue jobs again whose lease is over, or give them up.

        All that are running, where the caller knows that it is `alone`: then nobody works on them.
        Where the disk is full that is done before the first job is taken.
        """
        self._must_recover = self._must_recover or alone
        with self._database.transaction(adds=False) as query:
            _take_back(query, _running(query) if self._must_recover else self._leases.over(query))
        self._must_recover = False


def _running(query: Query) -> list[int]:
    return [job_id for (job_id,) in query("SELECT id FROM jobs WHERE status = 'running'")]


def _take_back(query: Query, job_ids: Iterable[int]) -> None:
    """Queue jobs of workers that are gone again, or give up what took too many of them along."""
    for job_id in job_ids:
        [(attempts,)] = query("SELECT attempts FROM jobs WHERE id = :id", id=job_id)
        if attempts >= MOST_ATTEMPTS:
            message = (
                f"The engine died {attempts} times while working on this; "
                "it was given up so that the others can go on"
            )
            _fail(query, job_id, errors.WorkerKilled.code, message)
            _note_unread(query, job_id, message)
        else:
            query(
                "UPDATE jobs SET status = 'queued', lease = NULL, started_at = NULL WHERE id = :id",
                id=job_id,
            )


def _queue_pictures(query: Query, taken: TakenJob, draft: Draft, document: Document) -> None:
    waiting = draft.how_read.pictures_waiting if draft.how_read else 0
    if waiting:
        had = taken.request.metadata if taken.request.document_id is not None else {}
        pictures_inside.queue(query, document, taken.request.batch, waiting, had)


def _note_unread(query: Query, job_id: int, why: str) -> None:
    """A document says of itself that its pictures were not read, if that is what the job was."""
    rows = query(
        "SELECT documents.id FROM jobs JOIN documents ON documents.id = document_id "
        "WHERE jobs.id = :id AND kind = 'pictures'",
        id=job_id,
    )
    for (document_id,) in rows:
        warning = f"the pictures inside were not read: {why}"
        pictures_inside.note(query, found(query, document_id), PicturesRead(0, warnings=(warning,)))


def _known(query: Query, request: NewJob) -> Document | None:
    """The document that a job is about, if it is here already. Raises Conflict where an import
    would take something newer away."""
    if request.arrival is None:
        return known_document(query, request)
    fate, document = decide(query, request.arrival)
    if fate == "conflict" and document is not None:
        raise conflict(document)
    return document


def _put_history(query: Query, document: Document, arrival: Arrival | None) -> None:
    """What happened to an imported document in another store before it was changed there."""
    if arrival is not None and arrival.history:
        put_jobs(query, document, arrival.numbered, [PastJob(**job) for job in arrival.history])


def _arrival(text: str | None) -> Arrival | None:
    if text is None:
        return None
    values = json.loads(text)
    imported, numbered = values.pop("imported"), values.pop("numbered")
    return Arrival(
        **values | {name: tuple(values.get(name, ())) for name in ("given_tags", "history")},
        imported=imported and Imported(**imported | {"tags": tuple(imported.get("tags", ()))}),
        numbered=numbered and Numbered(**numbered),
    )


def _request(text: str | None, row: list[Any]) -> NewJob:
    values = dict(zip(_REQUEST.split(", "), row, strict=True))
    values["text"] = text
    values["tags"] = None if values["tags"] is None else tuple(json.loads(values["tags"]))
    values["metadata"] = json.loads(values["metadata"])
    values["force_ocr"] = bool(values["force_ocr"])
    values["pictures"] = bool(values["pictures"])
    values["arrival"] = _arrival(values["arrival"])
    return NewJob(**values)


def _found_job(query: Query, key: int | str) -> Job:
    column = "id" if isinstance(key, int) else "uid"
    rows = query(f"SELECT {_COLUMNS} FROM jobs WHERE {column} = :key", key=key)
    if not rows:
        raise errors.JobNotFound(key)
    return _job(rows[0])


def _job(row: Row) -> Job:
    (id_, uid, status, created, started, finished, attempts, filename, held, *result) = row
    *result, code, message = result
    ended = status in ("done", "failed", "cancelled")
    return Job(
        id=id_,
        uid=uid,
        status=status,
        progress=1.0 if status == "done" else 0.0,
        step=status,
        steps_done=1 if status == "done" else 0,
        steps_total=1,
        message=message or "",
        created_at=created,
        started_at=started,
        finished_at=finished,
        elapsed_seconds=_seconds(started, finished or now()) if started else 0.0,
        remaining_seconds=0.0 if ended else None,
        attempts=attempts,
        filename=filename,
        held_bytes=held,
        outcome=result[0],
        changed=json.loads(result[1]) if result[1] else None,
        document_id=result[2],
        document_uid=result[3],
        chunk_count=result[4],
        duplicate_of=result[5],
        processing_method=result[6],
        error=JobError(code, message) if code else None,
    )


def _seconds(start: str, end: str) -> float:
    span = datetime.fromisoformat(end) - datetime.fromisoformat(start)
    return max(0.0, span.total_seconds())


def _end(
    query: Query,
    taken: TakenJob,
    outcome: Outcome,
    document: Document,
    changed: Sequence[Change] = (),
    message: str = "",
) -> Job:
    """A job that has changed nothing names no twin: it brought no content in."""
    query(
        f"UPDATE jobs SET status = 'done', outcome = :outcome, changed = :changed, "
        f"document_id = :document_id, document_uid = :uid, chunk_count = :chunks, "
        f"duplicate_of = :twin, finished_at = :now, processing_method = :method, "
        f"error_message = :message, {_EMPTIED} WHERE id = :id",
        id=taken.id,
        outcome=outcome,
        changed=json.dumps(changed) if changed else None,
        document_id=document.id,
        uid=document.uid,
        chunks=document.chunk_count,
        twin=None if outcome == "unchanged" else twin(query, document),
        method=document.processing_method,
        message=message or None,
        now=now(),
    )
    _delete_text(query, taken.id)
    return _found_job(query, taken.id)


def _delete_text(query: Query, job_id: int) -> None:
    query("DELETE FROM job_texts WHERE job_id = :id", id=job_id)


def _is_waited_for(query: Query, request: NewJob) -> bool:
    """Whether a file is in the queue that may be the same document, in another version."""
    column = "content_hash" if request.source_path is None else "source_path"
    rows = query(
        "SELECT 1 FROM jobs WHERE status IN ('queued', 'running') AND kind = 'file' "
        f"AND {column} = :value LIMIT 1",
        value=request.source_path or request.content_hash,
    )
    return bool(rows)


def _refusal(query: Query, request: NewJob) -> Foreseen | None:
    """How the same bytes under this name failed for what they are, with this version of kb."""
    since = _refused_since(query)
    if since is None or request.force_ocr:
        return None
    rows = query(
        "SELECT id, error_code, error_message FROM jobs WHERE status = 'failed' "
        "AND size_bytes = :size AND content_hash = :hash AND filename IS :filename "
        f"AND kind = 'file' AND finished_at >= :since AND error_code IN {_OF_THE_FILE} "
        "ORDER BY id DESC LIMIT 1",
        size=request.size_bytes,
        hash=request.content_hash,
        filename=request.filename,
        since=since,
    )
    return Foreseen("failed", job_id=rows[0][0], error=JobError(*rows[0][1:])) if rows else None


def _refused_since(query: Query) -> str | None:
    """Since when files were refused by this version of kb: another may read what this cannot."""
    rows = query("SELECT value FROM facts WHERE name = :name", name=_REFUSED_SINCE)
    version, _, since = rows[0][0].partition(" ") if rows else ("", "", "")
    return since if version == __version__ else None


def _note_version(query: Query) -> None:
    if _refused_since(query) is None:
        put_fact(query, _REFUSED_SINCE, f"{__version__} {now()}")


def _fail(query: Query, job_id: int, code: str, message: str) -> None:
    query(
        "UPDATE jobs SET status = 'failed', error_code = :code, error_message = :message, "
        "lease = NULL, finished_at = :now WHERE id = :id",
        id=job_id,
        code=code,
        message=message,
        now=now(),
    )
