"""Builds the engine from its settings; the only module that knows every concrete class."""

import logging
import math
import sys
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass

from fastapi import FastAPI

from kb import __version__
from kb.engine.api import errors
from kb.engine.api.context import Engine
from kb.engine.api.guard import PREFIX, Guard
from kb.engine.api.metrics import Metrics
from kb.engine.api.routes import (
    backups,
    documents,
    doubles,
    events,
    jobs,
    models,
    page_pictures,
    search,
    stats,
    status,
    transfer,
    verify,
    web_page,
)
from kb.engine.api.search_desk import SearchDesk
from kb.engine.backup.service import BackupPlan, Backups
from kb.engine.data_folder.folder import DataFolder
from kb.engine.data_folder.lost_originals import LostFiles
from kb.engine.data_folder.older_stores import StoresAside
from kb.engine.data_folder.originals import FileStore
from kb.engine.embed import Embedders, ModelsAtHand
from kb.engine.errors import StartupError, StorageFailed, StorageFull, StoreDamaged
from kb.engine.events import Events
from kb.engine.ingest import ocr
from kb.engine.ingest.expiry import Expiry
from kb.engine.ingest.extract.extraction import Ocr
from kb.engine.ingest.imports import Imports
from kb.engine.ingest.inbox import Inbox
from kb.engine.ingest.library import Library
from kb.engine.ingest.pace import Pace
from kb.engine.ingest.pipeline import Pipeline
from kb.engine.ingest.progress import Board
from kb.engine.ingest.render import LIMITS, READER, PagePictures
from kb.engine.ingest.sandbox import Sandbox
from kb.engine.ingest.seen_jobs import SeenJobs
from kb.engine.ingest.worker import Worker
from kb.engine.model_change.choice import ModelChoice, settle
from kb.engine.model_change.renewal import Renewal
from kb.engine.search.searcher import Searcher
from kb.engine.settings import Settings
from kb.engine.store import SEARCHERS, Store, refuse_to_start_empty
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.values import Job, seconds_since
from kb.engine.verify.background import BackgroundCheck
from kb.engine.verify.online import OnlineRepair
from kb.engine.verify.quick import quick_check
from kb.engine.verify.replacing import finish as finish_repair
from kb.engine.verify.subject import Subject
from kb.engine.verify.verification import Verification

logger = logging.getLogger(__name__)

# How long a thread may keep the interpreter from one that waits: ingest must not delay searches.
_SWITCH_SECONDS = 0.001
_STOP_SECONDS = 8.0
_LOAD_AFTER_SECONDS = 0.1


def build_engine(settings: Settings, folder: DataFolder, sandbox: Sandbox | None = None) -> Engine:
    """Open the store and connect the parts. Nothing runs yet."""
    at_hand = ModelsAtHand.find(settings.model, only_hashes=settings.embedder == "hash")
    bus, metrics = Events(), Metrics()
    try:
        kept = _open(settings, folder, at_hand.fixed or at_hand.default, metrics)
        store, board, check, files = kept.store, kept.board, kept.check, kept.files
        at_hand = settle(at_hand, store)
    except (StorageFull, StorageFailed) as error:
        raise StartupError(f"The engine cannot start. {error.message}") from error
    jobs = SeenJobs(store, board)
    plan = BackupPlan(settings.backup_dir, settings.backup_every, settings.backup_keep)
    sandbox = sandbox or Sandbox(mode=settings.sandbox)
    reading = _ocr(settings)
    embedders = Embedders({name: model.load for name, model in at_hand.installed.items()})
    pipeline = Pipeline(store, files, sandbox, embedders, board, _at_each_step(bus, jobs), reading)
    worker = Worker(store, pipeline, board, _at_each_end(bus, metrics), kept.expire)
    renewal = Renewal(store, pipeline, embedders, board.is_busy)
    inbox = Inbox(store, files, jobs, board.pace, worker, bus, ocr=reading.engine != "off")
    wake = _waking(renewal.wake, worker.wake)
    mender = OnlineRepair(store, files, kept.lost, settings.backup_dir, TERMS_VERSION, wake)
    engine = Engine(
        settings=settings,
        store=store,
        files=files,
        lost=kept.lost,
        aside=StoresAside(folder.path),
        sandbox=sandbox,
        pictures=kept.pictures,
        embedders=embedders,
        board=board,
        pipeline=pipeline,
        worker=worker,
        renewal=renewal,
        choice=ModelChoice(store, embedders, at_hand, renewal),
        inbox=inbox,
        jobs=jobs,
        library=Library(store, files, pipeline, bus),
        imports=Imports(store, files, inbox, bus, renewal.wake),
        searcher=Searcher(store, embedders, seconds=settings.search_seconds),
        desk=SearchDesk(SEARCHERS),
        backups=Backups(folder.path, store, files, plan),
        events=bus,
        metrics=metrics,
        verification=Verification(kept.subject, check.take_in, mender.repair),
        check=check,
        started=time.monotonic(),
    )
    _watch(engine)
    return engine


def _at_each_step(bus: Events, jobs: SeenJobs) -> Callable[[int], None]:
    def step(job_id: int) -> None:
        if bus.heard():  # else two looks into the store, at every step of every job
            bus.publish("job", asdict(jobs.get(job_id)))

    return step


def _at_each_end(bus: Events, metrics: Metrics) -> Callable[[Job], None]:
    def ended(job: Job) -> None:
        metrics.job_ended(job.status)
        if job.outcome in ("added", "updated") and job.changed != ["tags"]:
            metrics.chunks_embedded(job.chunk_count or 0)
        bus.publish("job", asdict(job))
        if job.outcome == "added":
            bus.publish("document.added", {"document_id": job.document_id})
        elif job.outcome == "updated":
            bus.publish("document.changed", {"document_id": job.document_id})

    return ended


def _ocr(settings: Settings) -> Ocr:
    inside = settings.ocr_inside == "on"
    wanted = Ocr(settings.ocr_engine, settings.ocr_languages, inside=inside)
    if wanted.engine == "tesseract":  # else what is there is used
        ocr.check(wanted)
    return wanted


def _waking(*parts: Callable[[], None]) -> Callable[[], None]:
    def wake() -> None:
        for part in parts:
            part()

    return wake


@dataclass(frozen=True, slots=True)
class _Kept:
    """The store, the files beside it on the disk, and what takes care of both."""

    store: Store
    subject: Subject
    board: Board
    check: BackgroundCheck
    pictures: PagePictures
    files: FileStore
    lost: LostFiles
    expiry: Expiry

    def expire(self) -> None:
        """Delete what has been kept for long enough, unless another engine is at it."""
        with self.store.sweeping.turn() as is_ours:
            self.expiry.expire(is_ours)
            if is_ours():
                self.lost.expire()


def _open(settings: Settings, folder: DataFolder, model: str, metrics: Metrics) -> _Kept:
    """The store, after repairing what a crash or an older kb left. A damaged store is opened as it
    is, to be read."""
    finish_repair(folder.path)
    folder.files.mkdir(mode=0o700, exist_ok=True)
    drawing = Sandbox(limits=LIMITS, reader=READER, mode=settings.sandbox)
    pictures = PagePictures(folder.pictures, folder.files, drawing)

    def opened() -> Store:
        return Store(
            folder.database, terms, TERMS_VERSION, model, settings.reserve_mb * 2**20, folder.files
        )

    refuse_to_start_empty(folder.database, folder.files)
    folder.hold_database()
    try:
        store = opened()
        quick_check(store.database)
        kept = _with_its_files(store, settings, folder, pictures, metrics)
        if store.health.damage is None:
            _put_right(kept, folder)
        return kept
    except StoreDamaged:  # which is noted, so that the store opens to be read alone
        return _with_its_files(opened(), settings, folder, pictures, metrics)


def _with_its_files(
    store: Store,
    settings: Settings,
    folder: DataFolder,
    pictures: PagePictures,
    metrics: Metrics,
) -> _Kept:
    subject = Subject(store.database, folder.files, terms)
    board = Board(Pace(store.jobs.paces()))
    check = BackgroundCheck(subject, store, settings.check_every, _busy(board, metrics))

    def gone(name: str) -> None:
        store.originals.is_gone(name)
        pictures.forget(name)

    max_bytes = settings.max_file_mb * 2**20
    files = FileStore(folder.files, max_bytes, store.originals.needed, gone, check.look_at)
    lost = LostFiles(folder.lost, files, settings.lost_days)
    expiry = Expiry(store, files, settings.failed_days)
    return _Kept(store, subject, board, check, pictures, files, lost, expiry)


def _put_right(kept: _Kept, folder: DataFolder) -> None:
    store = kept.store
    try:
        newest = store.upkeep.newest_change()
        _settle_jobs(kept)
        if store.upkeep.take_over_v2(folder.v2_database, kept.files.adopt):
            newest = store.upkeep.newest_change()
        _sweep(kept, newest)
    except BaseException:
        store.close()
        raise


def _sweep(kept: _Kept, newest: str | None) -> None:
    with kept.store.sweeping.turn() as is_ours:
        try:
            kept.expiry.expire(is_ours)
        except StorageFull as error:
            logger.warning("what failed jobs hold is kept: %s", error.message)
        needed = kept.store.originals.names()
        kept.pictures.sweep(needed)  # which are this engine's own
        if is_ours():
            _settle_files(kept, needed, newest)


def _settle_files(kept: _Kept, needed: set[str], newest: str | None) -> None:
    """Unlink what was given up on request, and have everything else where it belongs."""
    store, lost = kept.store, kept.lost
    given_up = store.originals.given_up()
    kept.files.delete(given_up - needed)
    for name in given_up & needed:
        store.originals.is_gone(name)  # from the list of what is to be unlinked
    belonging = store.health.belonging
    try:
        lost.take_back(needed)
        if belonging is not None and belonging.is_sure:
            lost.sweep(needed | given_up, newest)
        lost.expire()
    except OSError as error:
        logger.warning("files that no row names stay where they are: %s", error)
    if belonging is None or not belonging.issues():  # which say it of most of them
        kept.check.miss(lost.missing)


def _settle_jobs(kept: _Kept) -> None:
    """On a full disk the engine starts nevertheless, and the worker comes back to this."""
    try:
        # Whoever holds the folder's lock works alone: no need to wait until leases are over.
        kept.store.jobs.recover(alone=True)
    except StorageFull as error:
        logger.warning("jobs are as they were: %s", error.message)


def build_app(engine: Engine) -> FastAPI:

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        start(engine)
        yield
        stop(engine)

    app = FastAPI(
        title="kb",
        version=__version__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,  # the usual pages load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # an address is right or it is not there
        lifespan=lifespan,
    )
    # Not by way of a router for all of them: every level of routers builds each route once more.
    # Routes are tried in turn, so those that are asked most come first.
    modules = (search, status, jobs, documents, page_pictures, stats, events, models, doubles)
    for module in (*modules, transfer, backups, verify):
        app.include_router(module.router, prefix=PREFIX, responses=errors.RESPONSES)
    app.include_router(status.health_router)
    app.include_router(web_page.router)
    errors.install(app)
    app.state.engine = engine
    return app


def guarded(engine: Engine) -> Guard:
    settings = engine.settings
    return Guard(
        build_app(engine),
        api_key=settings.api_key,
        allowed_hosts=frozenset(settings.allowed_hosts),
        host=settings.host,
        version=__version__,
        metrics=engine.metrics,
        max_upload_bytes=settings.max_file_mb * 2**20,
        page_paths=web_page.paths(),
        trusted_proxies=settings.trusted_proxies,
    )


def start(engine: Engine) -> None:
    """Work, and load the model and the vectors behind the first requests."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    engine.worker.start()
    engine.backups.start()
    threading.Thread(target=_load, args=(engine,), name="load", daemon=True).start()


def _load(engine: Engine) -> None:
    """Words are asked for first: a moment's rest lets them have their answer undisturbed."""
    time.sleep(_LOAD_AFTER_SECONDS)
    engine.embedder.start()
    _load_vectors(engine.store)
    engine.embedders.of(engine.store.models.wanted).start()
    engine.renewal.start()
    engine.aside.measure()
    engine.check.start()


def _busy(board: Board, metrics: Metrics) -> Callable[[], bool]:
    """Whether jobs run, or requests came since this was last asked."""
    seen = 0

    def busy() -> bool:
        nonlocal seen
        before, seen = seen, metrics.requests()
        return board.is_busy() or seen != before

    return busy


def _load_vectors(store: Store) -> None:
    try:
        store.models.load_vectors()
    except Exception:
        logger.exception("the vectors could not be loaded: searches go by words until a restart")


def stop(engine: Engine) -> None:
    """Let go of the work and close the store."""
    engine.events.close()
    engine.check.let_go()
    engine.verification.cancel()
    engine.renewal.let_go()
    engine.backups.let_go()
    engine.worker.stop(_STOP_SECONDS)
    engine.backups.stop(_STOP_SECONDS / 4)
    engine.renewal.stop(_STOP_SECONDS / 4)
    engine.check.stop(_STOP_SECONDS / 4)
    engine.sandbox.close()
    engine.pictures.close()
    engine.store.close()


def _watch(engine: Engine) -> None:
    """Have metrics look at what they cannot be told of."""

    def queue_length() -> int:
        totals = engine.store.totals.current()
        return totals.queued + totals.running

    engine.metrics.watch_store(
        documents=lambda: engine.store.totals.current().documents,
        chunks=lambda: engine.store.totals.current().chunks,
        queue_length=queue_length,
    )

    def renewed() -> float:
        change = engine.choice.change()
        return 1.0 if change is None else change.done / max(1, change.total)

    def since_check() -> float:
        finished = engine.check.result.finished_at
        return seconds_since(finished) if finished else math.nan

    engine.metrics.watch(
        "check_age_seconds", "Time since the last complete check; NaN: never", since_check
    )
    engine.metrics.watch(
        "check_findings",
        "Problems that the last check of the store found",
        lambda: engine.check.result.findings,
    )
    engine.metrics.watch(
        "backup_age_seconds",
        "Age of the last good backup; NaN: there is none",
        lambda: math.nan if (age := engine.backups.age_seconds()) is None else age,
    )
    engine.metrics.watch(
        "backup_failed",
        "1 if the last backup failed",
        lambda: float(engine.backups.failure() is not None),
    )
    engine.metrics.watch(
        "model_change", "Progress of the change to another model, 0 to 1; 1: there is none", renewed
    )
