"""/models and /model: the models that turn text into vectors, and the choice of one."""

from fastapi import APIRouter
from pydantic import Field

from kb.engine.api.bodies.fields import Body
from kb.engine.api.context import EngineDep, StrictRoute
from kb.engine.api.errors import responses
from kb.engine.errors import ModelNotFound, ModelSet
from kb.engine.model_change.choice import Models

router = APIRouter(tags=["models"], route_class=StrictRoute)


class ModelRequest(Body):
    """Which model to use."""

    name: str = Field(min_length=1, max_length=100)


@router.get("/models")
def models(engine: EngineDep) -> Models:
    """The installed models, the one in use, and the progress of a change."""
    return engine.choice.models()


@router.put("/model", responses=responses(ModelNotFound, ModelSet))
def use_model(request: ModelRequest, engine: EngineDep) -> Models:
    """Change over to another model, behind everything else; searches go on meanwhile."""
    return engine.choice.use(request.name)
