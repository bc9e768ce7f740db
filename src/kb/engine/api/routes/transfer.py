"""/export and /import: documents with everything that belongs to them, out and in again."""

from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import TypeAdapter

from kb.engine.api.bodies.imported_document import OPENAPI_BODY, Check, DeliveryDep
from kb.engine.api.context import LARGEST_ID, DocumentKey, EngineDep, StrictRoute
from kb.engine.api.errors import responses
from kb.engine.api.routes.jobs import BatchId
from kb.engine.errors import Conflict, DocumentNotFound, FilesInaccessible, FileTooLarge
from kb.engine.ingest.imports import Expected, Taken
from kb.engine.records import LastIds, Record

router = APIRouter(tags=["transfer"], route_class=StrictRoute)


@dataclass(frozen=True, slots=True)
class ExportState:
    """A summary of the export. `jobs_under_way` will still add or change something."""

    numbering: str
    last_ids: LastIds
    documents: int
    jobs_under_way: int


@dataclass(frozen=True, slots=True)
class ExportPage:
    """Documents in order of their ids; ask again with `after` set to `next`, until that is null."""

    documents: list[Record]
    next: int | None


@dataclass(frozen=True, slots=True)
class Checked:
    items: list[Expected]


@cache  # and not before the first is asked for: the engine starts sooner
def _writer(kind: type) -> TypeAdapter[Any]:
    """Our own values need not be checked once more, passage by passage."""
    return TypeAdapter(kind)


@router.get("/export")
def export_state(engine: EngineDep) -> ExportState:
    """How much there is, and by which numbering it has its ids."""
    numbering, last_ids = engine.store.transfers.numbering()
    totals = engine.store.totals.current()
    return ExportState(numbering, last_ids, totals.documents, totals.queued + totals.running)


@router.get("/export/documents", response_model=ExportPage)
def export_documents(
    engine: EngineDep,
    after: Annotated[int, Query(ge=0, le=LARGEST_ID)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Everything that is known of some documents: passages, words on pages, and history.

    All in one answer are of one moment. Where documents are long, there are fewer in it.
    """
    page = ExportPage(*engine.store.transfers.records(after, limit))
    return Response(_writer(ExportPage).dump_json(page), media_type="application/json")


@router.get(
    "/export/documents/{document_id}",
    response_model=Record,
    responses=responses(DocumentNotFound),
)
def export_document(key: DocumentKey, engine: EngineDep) -> Response:
    """Everything that is known of one document."""
    return Response(
        _writer(Record).dump_json(engine.store.transfers.record(key)), media_type="application/json"
    )


@router.post("/import/check")
def check_import(check: Check, engine: EngineDep) -> Checked:
    """What importing these documents would do; nothing is changed."""
    return Checked(engine.imports.check([item.arrival() for item in check.items]))


@router.post(
    "/import",
    openapi_extra=OPENAPI_BODY,
    responses=responses(Conflict, FileTooLarge, FilesInaccessible),
)
def import_document(delivery: DeliveryDep, engine: EngineDep, batch_id: BatchId = None) -> Taken:
    """Take in a document from elsewhere. The same document again changes nothing.

    One of another kb, with its passages, is there as it was when this answers. Any other is read,
    cut and embedded by a job.
    """
    return delivery.take(engine.imports, engine.files, batch_id)
