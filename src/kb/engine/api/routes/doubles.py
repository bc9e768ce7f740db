"""/doubles and /copies: what is stored more than once, and joining doubles into one."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import Field

from kb.engine.api.bodies.fields import Body, Moment
from kb.engine.api.context import LARGEST_ID, EngineDep, StrictRoute
from kb.engine.api.errors import responses
from kb.engine.errors import Conflict
from kb.engine.store.doubles import MOST_IN_GROUP, CopiesPage, DoublesPage, Joined

router = APIRouter(tags=["documents"], route_class=StrictRoute)

Limit = Annotated[int, Query(ge=1, le=200)]
Offset = Annotated[int, Query(ge=0, le=10**9)]
Id = Annotated[int, Field(ge=1, le=LARGEST_ID)]


class Join(Body):
    """The ids of one group, and its `updated_at`, so that only what you saw is joined."""

    ids: Annotated[list[Id], Field(min_length=2, max_length=MOST_IN_GROUP)]
    if_updated_at: Moment | None = None


@router.get("/doubles")
def list_doubles(engine: EngineDep, limit: Limit = 50, offset: Offset = 0) -> DoublesPage:
    """Paths that several file documents have, with what joining them would make."""
    return engine.store.doubles.listing(limit, offset)


@router.post("/doubles/join", responses=responses(Conflict))
def join_doubles(join: Join, engine: EngineDep) -> Joined:
    """Make one document of the doubles of one path: the oldest, with the newest content."""
    return engine.library.join(join.ids, join.if_updated_at)


@router.get("/copies")
def list_copies(engine: EngineDep, limit: Limit = 50, offset: Offset = 0) -> CopiesPage:
    """Documents with the same content under several paths; each is a document of its own."""
    return engine.store.doubles.copies(limit, offset)
