"""/status for people and programs; /healthz, /readyz and /metrics for monitoring."""

import shutil
import time
from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool

from kb import __version__
from kb.engine.api.context import Engine, EngineDep, StrictRoute, engine_of
from kb.engine.api.errors import responses
from kb.engine.api.json_answer import as_json
from kb.engine.backup.service import BackupState
from kb.engine.data_folder.folder import open_to_others
from kb.engine.embed import DIMENSIONS
from kb.engine.errors import NotReady, StorageFailed
from kb.engine.ingest.passages.chunk import CHUNK_TOKENS
from kb.engine.model_change.choice import Change
from kb.engine.store.rows.unproven_texts import MissingText
from kb.engine.values import Issue, Totals
from kb.engine.verify.background import in_words

router = APIRouter(tags=["status"], route_class=StrictRoute)
health_router = APIRouter(tags=["health"])

_LOW_DISK = 200 * 2**20
_FULL_DISK = 2**20


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    public_name: str
    dimensions: int
    device: str
    state: Literal["loading", "ready", "failed"]
    change: Change | None


@dataclass(frozen=True, slots=True)
class Counts:
    documents: int
    notes: int
    chunks: int
    tags: int
    vectors_missing: int
    words_outdated: int


@dataclass(frozen=True, slots=True)
class Queue:
    queued: int
    running: int
    failed: int


@dataclass(frozen=True, slots=True)
class Storage:
    path: str
    files_path: str
    size_bytes: int
    files_bytes: int
    free_bytes: int
    reserve_bytes: int
    failed_bytes: int
    lost_files: int
    lost_bytes: int
    aside_stores: int
    aside_bytes: int


@dataclass(frozen=True, slots=True)
class SandboxLocks:
    """What locks in the reader of a file, on this system."""

    mode: Literal["auto", "strict"]
    landlock: int
    seccomp: bool
    limits: bool
    network_closed: bool
    complete: bool
    reads_files: bool


@dataclass(frozen=True, slots=True)
class Health:
    status: Literal["healthy", "degraded", "failed"]
    issues: list[Issue]


@dataclass(frozen=True, slots=True)
class CheckState:
    """The check of everything that is stored, in the background."""

    state: Literal["never", "running", "done"]
    finished_at: str | None
    findings: int


@dataclass(frozen=True, slots=True)
class Status:
    version: str
    model: Model
    counts: Counts
    queue: Queue
    store: Storage
    sandbox: SandboxLocks
    backup: BackupState
    health: Health
    check: CheckState
    max_file_mb: int
    chunk_tokens: int
    uptime_seconds: float


@dataclass(frozen=True, slots=True)
class Alive:
    status: Literal["ok"] = "ok"


@router.get("/status", response_model=Status)
async def status(request: Request) -> Response:
    """The contents of the store, the work in progress, and problems."""
    # Watched by pages, agents and scripts: without a thread where there is nothing to wait for.
    engine = engine_of(request)
    totals, failure = engine.store.totals.if_known(), engine.store.health.failure
    if totals is None:
        try:
            totals = await run_in_threadpool(engine.store.totals.current)
        except StorageFailed as error:  # that is told here, where people look for what is wrong
            totals, failure = engine.store.totals.last_read(), failure or error
    return as_json(_status(engine, totals, failure))


def _status(engine: Engine, totals: Totals, failure: StorageFailed | None) -> Status:
    free = _free_bytes(engine)
    return Status(
        version=__version__,
        model=_model(engine),
        counts=Counts(
            totals.documents,
            totals.notes,
            totals.chunks,
            totals.tags,
            totals.chunks - totals.vectors,
            totals.words_outdated,
        ),
        queue=Queue(totals.queued, totals.running, totals.failed),
        store=Storage(
            str(engine.store.path),
            str(engine.files.folder),
            totals.size_bytes,
            totals.file_bytes,
            free,
            engine.store.health.reserve.bytes,
            totals.failed_bytes,
            engine.lost.files,
            engine.lost.bytes,
            *engine.aside.count_and_bytes(),
        ),
        sandbox=_sandbox(engine),
        backup=engine.backups.state(),
        health=_health(engine, failure, free),
        check=_check(engine),
        max_file_mb=engine.settings.max_file_mb,
        chunk_tokens=CHUNK_TOKENS,
        uptime_seconds=round(time.monotonic() - engine.started, 3),
    )


@health_router.get("/healthz")
async def healthz() -> Alive:
    """The process lives."""
    return Alive()


@health_router.get("/readyz", responses=responses(NotReady))
def readyz(engine: EngineDep) -> Alive:
    """Words can be searched and jobs are accepted."""
    try:
        engine.store.totals.read()
        failure = engine.store.health.failure
    except StorageFailed as error:
        failure = error
    if failure:
        raise NotReady(f"Not ready: {failure.message}")
    return Alive()


@health_router.get("/metrics", response_class=Response)
def metrics(engine: EngineDep) -> Response:
    """For Prometheus."""
    return Response(engine.metrics.render(), media_type="text/plain; version=0.0.4; charset=utf-8")


def _free_bytes(engine: Engine) -> int:
    """Nothing, where the folder is gone: its files' folder is too, and that is told."""
    try:
        return shutil.disk_usage(engine.settings.data_dir).free
    except OSError:
        return 0


def _sandbox(engine: Engine) -> SandboxLocks:
    state = engine.sandbox.state
    return SandboxLocks(
        mode=state.mode,
        landlock=state.landlock,
        seccomp=state.seccomp,
        limits=state.limits,
        network_closed=state.seccomp,  # Landlock knows TCP alone
        complete=state.complete,
        reads_files=state.reads_files,
    )


def _model(engine: Engine) -> Model:
    ready = engine.embedder.current() is not None and engine.store.models.vectors_loaded
    state: Literal["loading", "ready", "failed"] = "ready" if ready else "loading"
    unreadable = engine.store.health.damage is not None and not engine.store.models.vectors_loaded
    if engine.embedder.failure or unreadable:
        state = "failed"
    name = engine.store.models.searched
    public_name = engine.choice.public_name(name)
    return Model(name, public_name, DIMENSIONS, "cpu", state, engine.choice.change())


def _model_issues(engine: Engine) -> Iterator[Issue]:
    failure, change = engine.embedder.failure, engine.choice.change()
    if failure:
        until = f", until all passages have vectors of {change.name}" if change else ""
        yield Issue(
            "model_failed",
            f"The embedding model did not load: {failure}. Searches go by words{until}",
        )
    if change and change.failure:
        yield Issue(
            "model_failed",
            f"The model to change to did not load: {change.failure}. "
            f"{engine.store.models.searched} stays",
        )
    if engine.choice.lacking:
        yield Issue(
            "model_not_installed",
            f"The chosen model {engine.choice.lacking} is not installed, "
            f"{engine.store.models.wanted} is used instead: install it and restart the engine, or "
            "choose another with `kb model use`",
        )


def _room_issue(free_bytes: int, has_reserve: bool) -> Issue:
    if free_bytes < _FULL_DISK:
        what = "documents, which still works, or other files" if has_reserve else "other files"
        return Issue(
            "disk_full",
            f"The disk of the store is full: delete {what} of this disk; no restart is needed",
        )
    return Issue("disk_low", f"Only {free_bytes // 2**20} MB are free on the disk of the store")


def _check(engine: Engine) -> CheckState:
    result = engine.check.result
    state: Literal["never", "running", "done"] = "done" if result.finished_at else "never"
    return CheckState(
        "running" if engine.check.is_running else state, result.finished_at, result.findings
    )


def _check_issues(engine: Engine) -> Iterator[Issue]:
    """Known problems that do not keep anyone from writing."""
    result, unread = engine.check.known, engine.store.upkeep.missing_texts()
    if unread:
        yield Issue(
            "texts_missing",
            f"The text of {_so_many(unread, 'document', 'documents')} is missing, or not whole: "
            f"{in_words([text.title for text in unread])}; {_about_texts(unread)}",
        )
    if result.missing:
        without_text = {text.id for text in unread}.intersection(result.missing_ids)
        its = _of(result.missing, "its", "their")
        yield Issue(
            "originals_missing",
            f"{_so_many(result.missing, 'original is', 'originals are')} missing: "
            f"{in_words(result.missing)}. Put store-files back from a backup or run `kb verify "
            f"--repair`{'' if without_text else f'; {its} text is there'}",
        )
    if result.changed:
        yield Issue(
            "originals_changed",
            f"{_so_many(result.changed, 'original has', 'originals have')} other bytes than were "
            "added: "
            f"{in_words(result.changed)}. Put {_of(result.changed, 'it', 'them')} back from a "
            "backup or run `kb verify --repair`",
        )
    if result.index and engine.store.health.damage is None:  # else that explains it
        yield Issue(
            "index_wrong",
            f"the search index does not fit the passages (findings: {result.index}): run "
            "`kb verify --repair`",
        )


def _about_texts(unread: Sequence[MissingText]) -> str:
    """What is being done about missing texts, or has to be done."""
    if all(text.job_id is not None for text in unread):
        return "jobs wait to read it again"
    if any(text.stored_name and text.job_id is None for text in unread):
        return "run `kb verify --repair`"
    return f"write {_of(unread, 'it', 'them')} anew, or delete {_of(unread, 'it', 'them')}"


def _so_many(things: Sized, one: str, many: str) -> str:
    return f"{len(things)} {_of(things, one, many)}"


def _of(things: Sized, one: str, many: str) -> str:
    return one if len(things) == 1 else many


def _health(engine: Engine, failure: StorageFailed | None, free_bytes: int) -> Health:
    issues = []
    if failure:
        issues.append(Issue(failure.code, failure.message))
    issues += engine.store.health.issues()
    issues += open_to_others(engine.settings.data_dir)
    issues += _check_issues(engine)
    issues += _model_issues(engine)
    refused = engine.files.refused()
    if refused:
        issues.append(Issue("files_inaccessible", f"Storage directory not accessible: {refused}"))
    elif engine.store.health.reserve.lacking:
        issues.append(Issue("reserve_used", engine.store.health.reserve.why_lacking().message))
    elif free_bytes < _LOW_DISK:
        issues.append(_room_issue(free_bytes, engine.store.health.reserve.bytes > 0))
    if not engine.sandbox.state.reads_files:
        issues.append(Issue("sandbox_missing", f"No file is read: {engine.sandbox.state.problem}"))
    failed = engine.backups.failure()
    if failed:
        issues.append(Issue("backup_failed", failed))
    risk = engine.settings.key_risk
    if risk:
        issues.append(Issue(risk.code, risk.message))
    return Health("failed" if failure else "degraded" if issues else "healthy", issues)
