"""/backups: starts a backup, shows its progress, and lists backups."""

from typing import Annotated

from fastapi import APIRouter
from pydantic import Field

from kb.engine.api.bodies.fields import Body
from kb.engine.api.context import EngineDep, StrictRoute
from kb.engine.api.errors import responses
from kb.engine.backup.service import BackupList, BackupRun
from kb.engine.errors import BackupFolderRefused, BackupRunning

router = APIRouter(tags=["backups"], route_class=StrictRoute)

MOST_KEPT = 1000


class BackupRequest(Body):
    """The folder of the backup on the engine's machine, and how many of this store to keep."""

    folder: Annotated[str, Field(min_length=1, max_length=4096)] | None = None
    keep: Annotated[int, Field(ge=1, le=MOST_KEPT)] | None = None


@router.post("/backups", status_code=202, responses=responses(BackupFolderRefused, BackupRunning))
def begin_backup(request: BackupRequest, engine: EngineDep) -> BackupRun:
    """Begin a backup of everything as it is now; writing and searching go on meanwhile."""
    return engine.backups.begin(request.folder, request.keep)


@router.get("/backups")
def list_backups(engine: EngineDep) -> BackupList:
    """How far a backup is, when the last good one was made, and which there are."""
    return engine.backups.listed()
