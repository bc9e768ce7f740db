"""Hands each request the parts of the engine it needs."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import Depends, Path, Request, Response
from fastapi.routing import APIRoute

from kb.engine.api.bodies.json_body import loads
from kb.engine.api.metrics import Metrics
from kb.engine.api.search_desk import SearchDesk
from kb.engine.backup.service import Backups
from kb.engine.data_folder.lost_originals import LostFiles
from kb.engine.data_folder.older_stores import StoresAside
from kb.engine.data_folder.originals import FileStore
from kb.engine.embed import BackgroundEmbedder, Embedders
from kb.engine.errors import DocumentNotFound, InvalidRequest, JobNotFound
from kb.engine.events import Events
from kb.engine.ingest.imports import Imports
from kb.engine.ingest.inbox import Inbox
from kb.engine.ingest.library import Library
from kb.engine.ingest.pipeline import Pipeline
from kb.engine.ingest.progress import Board
from kb.engine.ingest.render import PagePictures
from kb.engine.ingest.sandbox import Sandbox
from kb.engine.ingest.seen_jobs import SeenJobs
from kb.engine.ingest.worker import Worker
from kb.engine.model_change.choice import ModelChoice
from kb.engine.model_change.renewal import Renewal
from kb.engine.search.searcher import Searcher
from kb.engine.settings import Settings
from kb.engine.store import Store
from kb.engine.verify.background import BackgroundCheck
from kb.engine.verify.verification import Verification
from kb.serving.shape import MOST_VALUES, is_overgrown

LARGEST_ID = 2**63 - 1
# Any UUID, although ours are of one version: another is well asked for, and not found.
KEY_PATTERN = r"^([1-9][0-9]{0,18}|[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})$"


@dataclass(frozen=True, slots=True)
class Engine:
    """Everything that app.py has built."""

    settings: Settings
    store: Store
    files: FileStore
    lost: LostFiles
    aside: StoresAside
    sandbox: Sandbox
    pictures: PagePictures
    embedders: Embedders
    board: Board
    pipeline: Pipeline
    worker: Worker
    renewal: Renewal
    choice: ModelChoice
    inbox: Inbox
    jobs: SeenJobs
    library: Library
    imports: Imports
    searcher: Searcher
    desk: SearchDesk
    backups: Backups
    events: Events
    metrics: Metrics
    verification: Verification
    check: BackgroundCheck
    started: float

    @property
    def embedder(self) -> BackgroundEmbedder:
        """That of the vectors that are searched."""
        return self.embedders.of(self.store.models.searched)


_WITH_BODY = ("POST", "PUT", "PATCH", "DELETE")


class _StrictRequest(Request):
    """Its JSON names nothing twice: one of the two values would be lost."""

    async def json(self) -> Any:
        return loads(await self.body())


class StrictRoute(APIRoute):
    """For the address what `Body` is for bodies: a typo is not a silent default.

    Not a dependency: FastAPI takes longer to solve one than most routes take to answer.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        answer = super().get_route_handler()

        async def check_and_answer(request: Request) -> Response:
            if request.method in _WITH_BODY:
                request = _StrictRequest(request.scope, request.receive)
            if request.scope["query_string"]:
                self._refuse_unknown_parameters(request)
            if _may_be_overgrown(request) and is_overgrown(await request.body()):
                raise InvalidRequest(
                    f"The body holds more than {MOST_VALUES:,} values: send fewer, in several "
                    "requests if need be"
                )
            return await answer(request)

        return check_and_answer

    def _refuse_unknown_parameters(self, request: Request) -> None:
        known = {parameter.alias for parameter in self.dependant.query_params}
        unknown = [name[:64] for name in request.query_params if name not in known]
        if unknown:
            message = "There is no such parameter"
            raise InvalidRequest(
                f"{unknown[0]}: {message}",
                fields=[{"field": name, "message": message} for name in unknown],
            )


def _may_be_overgrown(request: Request) -> bool:
    """Files are read piece by piece, and most bodies have fewer bytes than values are allowed."""
    kind = request.headers.get("content-type", "").lower()
    length = request.headers.get("content-length", "")
    return "json" in kind and not (length.isdigit() and int(length[:20]) <= MOST_VALUES)


# Coroutines although they wait for nothing: FastAPI would run a plain function in a thread.


async def _engine(request: Request) -> Engine:
    return engine_of(request)


def engine_of(request: Request) -> Engine:
    """The same as `EngineDep`, for routes so busy that a dependency costs too much."""
    engine: Engine = request.app.state.engine
    return engine


EngineDep = Annotated[Engine, Depends(_engine)]
Key = Annotated[str, Path(pattern=KEY_PATTERN, description="An id or a uid")]


async def _document_key(document_id: Key) -> int | str:
    return _parsed(document_id, DocumentNotFound)


async def _job_key(job_id: Key) -> int | str:
    return _parsed(job_id, JobNotFound)


def _parsed(key: str, missing: type[DocumentNotFound] | type[JobNotFound]) -> int | str:
    if not key.isdigit():
        return key.lower()
    if int(key) > LARGEST_ID:
        raise missing(key)
    return int(key)


DocumentKey = Annotated[int | str, Depends(_document_key)]
JobKey = Annotated[int | str, Depends(_job_key)]
