"""GET /stats: what has come in, by day and by type."""

from fastapi import APIRouter

from kb.engine.api.context import EngineDep, StrictRoute
from kb.engine.models import Statistics

router = APIRouter(tags=["status"], route_class=StrictRoute)


@router.get("/stats")
def stats(engine: EngineDep) -> Statistics:
    """The documents that are there now, by the day they were added and by their type."""
    return engine.store.statistics()
