"""GET /stats: what has come in, by day, type and tag."""

from typing import Annotated

from fastapi import APIRouter, Query

from kb.engine.api.bodies.fields import After, Before, Kind, SourcePath, Tag, doc_types
from kb.engine.api.context import EngineDep, StrictRoute
from kb.engine.values import Filter, Statistics

router = APIRouter(tags=["status"], route_class=StrictRoute)


@router.get("/stats")
def stats(
    engine: EngineDep,
    tag: Annotated[list[Tag], Query(max_length=100)] = [],  # noqa: B006 - FastAPI copies it
    doc_type: Kind | None = None,
    path_prefix: SourcePath | None = None,
    created_after: After | None = None,
    created_before: Before | None = None,
) -> Statistics:
    """The documents that are there now, by the day they were added, their type and their tags."""
    filter_ = Filter(
        tags=tuple(tag),
        doc_types=doc_types(doc_type),
        path_prefix=path_prefix,
        created_after=created_after,
        created_before=created_before,
    )
    return engine.store.documents.statistics(filter_)
