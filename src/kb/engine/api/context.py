"""A request in, the parts of the engine it needs out."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Path, Request

from kb.engine.api.metrics import Metrics
from kb.engine.embed import BackgroundEmbedder
from kb.engine.errors import DocumentNotFound, InvalidRequest, JobNotFound
from kb.engine.events import Events
from kb.engine.files import FileStore
from kb.engine.ingest.inbox import Inbox
from kb.engine.ingest.library import Library
from kb.engine.ingest.pipeline import Pipeline
from kb.engine.ingest.progress import Board
from kb.engine.ingest.worker import Worker
from kb.engine.search import Searcher
from kb.engine.settings import Settings
from kb.engine.store import Store

LARGEST_ID = 2**63 - 1
KEY_PATTERN = (
    r"^([1-9][0-9]{0,18}|[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})$"
)


@dataclass(frozen=True, slots=True)
class Engine:
    """Everything that app.py has built."""

    settings: Settings
    store: Store
    files: FileStore
    embedder: BackgroundEmbedder
    board: Board
    pipeline: Pipeline
    worker: Worker
    inbox: Inbox
    library: Library
    searcher: Searcher
    events: Events
    metrics: Metrics
    started: float


# Coroutines although they wait for nothing: FastAPI would run a plain function in a thread.


async def _engine(request: Request) -> Engine:
    engine: Engine = request.app.state.engine
    return engine


async def refuse_unknown_parameters(request: Request) -> None:
    """For the address what `Body` is for bodies: a typo is not a silent default."""
    if not request.url.query:
        return
    known = {parameter.alias for parameter in request.scope["route"].dependant.query_params}
    unknown = [name[:64] for name in request.query_params if name not in known]
    if unknown:
        raise InvalidRequest(
            f"{unknown[0]}: There is no such parameter",
            fields=[{"field": name, "message": "There is no such parameter"} for name in unknown],
        )


EngineDep = Annotated[Engine, Depends(_engine)]
Key = Annotated[str, Path(pattern=KEY_PATTERN, description="An id or a uid")]


async def _document_key(document_id: Key) -> int | str:
    return _parsed(document_id, DocumentNotFound)


async def _job_key(job_id: Key) -> int | str:
    return _parsed(job_id, JobNotFound)


def _parsed(key: str, missing: type[DocumentNotFound] | type[JobNotFound]) -> int | str:
    if not key.isdigit():
        return key
    if int(key) > LARGEST_ID:
        raise missing(key)
    return int(key)


DocumentKey = Annotated[int | str, Depends(_document_key)]
JobKey = Annotated[int | str, Depends(_job_key)]
