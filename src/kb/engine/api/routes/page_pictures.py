"""/documents/{id}/pages: a page as a picture, and the position of a passage on it."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from kb.engine import errors
from kb.engine.api.context import LARGEST_ID, DocumentKey, Engine, EngineDep, StrictRoute
from kb.engine.api.errors import responses
from kb.engine.ingest.render import DRAWN, Drawn
from kb.engine.ingest.render.match import places
from kb.engine.pages import Box
from kb.engine.values import Document

router = APIRouter(tags=["documents"], route_class=StrictRoute)

_RAISED = responses(
    errors.ContentTooLarge,
    errors.DamagedFile,
    errors.DocumentNotFound,
    errors.ExtractionFailed,
    errors.FileMissing,
    errors.FileNotStored,
    errors.FilesInaccessible,
    errors.NestedTooDeep,
    errors.NoSuchPage,
    errors.PasswordNeeded,
    errors.SandboxMissing,
    errors.TookTooLong,
)
PageNumber = Annotated[int, Path(ge=1, le=1_000_000)]


@dataclass(frozen=True, slots=True)
class PageView:
    """A page and the places of a passage on it; sides are shares of its width and height."""

    page: int
    pages: int
    width: int
    height: int
    boxes: list[Box]


@router.get(
    "/documents/{document_id}/pages/{page}.png",
    response_class=Response,
    responses={200: {"content": {"image/png": {}}, "description": "The page"}, **_RAISED},
)
def get_page_picture(key: DocumentKey, page: PageNumber, engine: EngineDep) -> Response:
    """A page of a PDF or an image as a picture, drawn in the sandbox."""
    _, drawn = _drawn(engine, key, page)
    return Response(drawn.path.read_bytes(), media_type="image/png")


@router.get("/documents/{document_id}/pages/{page}", responses=_RAISED)
def get_page(
    key: DocumentKey,
    page: PageNumber,
    engine: EngineDep,
    chunk: Annotated[int | None, Query(ge=1, le=LARGEST_ID)] = None,
) -> PageView:
    """How large the picture of a page is, how many there are, and where on it a chunk stands."""
    document, drawn = _drawn(engine, key, page)
    boxes: list[Box] = []
    if chunk is not None:
        # What was recognised comes behind the page's own text, as it does in the passages.
        words = [*drawn.words, *engine.store.documents.placed_words(document.id, page)]
        boxes = places(engine.store.documents.passage(document.id, chunk), words)
    return PageView(page, drawn.pages, drawn.width, drawn.height, boxes)


def _drawn(engine: Engine, key: int | str, page: int) -> tuple[Document, Drawn]:
    document, name = engine.store.documents.stored_file(key)
    if document.format not in DRAWN:
        raise errors.NoSuchPage(document.filename or document.title, page)
    filename = document.filename or document.title
    engine.files.original(name, filename)
    return document, engine.pictures.picture(name, filename, page)
