"""/verify: starts, follows and ends a check of everything that is stored."""

from dataclasses import dataclass
from typing import Literal

from fastapi import APIRouter

from kb.engine.api.bodies.fields import Body
from kb.engine.api.context import EngineDep, StrictRoute
from kb.engine.api.errors import responses
from kb.engine.errors import VerifyRunning
from kb.engine.verify.report import Finding
from kb.engine.verify.verification import Run

router = APIRouter(tags=["verify"], route_class=StrictRoute)


class VerifyRequest(Body):
    """What to do."""

    repair: bool = False


@dataclass(frozen=True, slots=True)
class Verify:
    """How far a check is, and what it has found. `whole` is null until it has ended.

    After a repair `left` is what is still wrong, and `hint` says where what is lost may be.
    """

    state: Literal["never", "running", "done", "cancelled", "failed"]
    repair: bool = False
    step: str = ""
    progress: float = 0.0
    started_at: str | None = None
    finished_at: str | None = None
    whole: bool | None = None
    checked: dict[str, int] | None = None
    findings_total: int = 0
    findings: list[Finding] | None = None
    repaired: list[str] | None = None
    lost: list[str] | None = None
    left: list[Finding] | None = None
    hint: str | None = None
    failure: str | None = None


@router.post("/verify", status_code=202, responses=responses(VerifyRunning))
def start_verify(engine: EngineDep, request: VerifyRequest) -> Verify:
    """Check everything, and if asked make again what can be made while the engine runs."""
    return _answer(engine.verification.start(request.repair))


@router.get("/verify")
def verify(engine: EngineDep) -> Verify:
    """The check that runs, or the last one of this run of the engine."""
    return _answer(engine.verification.last)


@router.delete("/verify")
def cancel_verify(engine: EngineDep) -> Verify:
    """End the check that runs; what it has found so far stays."""
    return _answer(engine.verification.cancel())


def _answer(run: Run | None) -> Verify:
    if run is None:
        return Verify("never")
    report = run.report
    return Verify(
        state=run.state,
        repair=run.repair,
        step=run.step,
        progress=round(run.progress, 4),
        started_at=report.started_at,
        finished_at=report.finished_at,
        whole=report.is_whole if run.state == "done" else None,
        checked=dict(report.checked),
        findings_total=sum(report.found.values()),
        findings=list(report.findings),
        repaired=list(run.repaired),
        lost=list(run.lost),
        left=list(run.after.findings) if run.after else None,
        hint=run.hint,
        failure=run.failure,
    )
