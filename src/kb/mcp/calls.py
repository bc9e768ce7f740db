"""What a tool may use while it runs: progress, questions, the client's wishes.

This depends on what the client declared: whether its user can be asked, whether it hears of work
after the answer, whether it knows the protocol's tasks. A tool need not know the protocol's
version.
"""

from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

import mcp_types as types
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from kb.mcp.contract import Call, Instead, Json, Reply, Watch
from kb.mcp.engine import EngineClient
from kb.mcp.sdk import (
    MCPError,
    NoBackChannelError,
    ServerRequestContext,
    progress_token_from_params,
)
from kb.mcp.uploads.open_uploads import Uploads
from kb.settings import Risk

Context = ServerRequestContext[Any, Any]
Work = Callable[[], Coroutine[Any, Any, None]]
Send = Callable[[float, float | None, str | None], Awaitable[None]]

TASKS = "io.modelcontextprotocol/tasks"
_QUESTION = "confirmation"


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks, by a fingerprint of the token and from where (`peer`), and under which address.

    `after` takes work that goes on once the request is answered, for as long as someone listens;
    where the connection outlasts requests (`duplex`), what it tells belongs to none of them. `risk`
    is what is wrong with the key of that address.
    """

    caller: str = ""
    base_url: str = ""
    after: Callable[[Work], object] | None = None
    duplex: bool = False
    risk: Risk | None = None
    peer: str = ""


class Calls:
    """Makes the calls of one server."""

    def __init__(self, engine: EngineClient, uploads: Uploads) -> None:
        self._engine = engine
        self._uploads = uploads

    def call(
        self, context: Context, params: types.CallToolRequestParams | None = None
    ) -> "OngoingCall":
        """What the request in `context` may use; `params` if it calls a tool."""
        asker = context.request if isinstance(context.request, Asker) else Asker()
        progress = _Progress(context, asker)
        call = Call(
            self._engine,
            self._uploads,
            asker.caller,
            asker.base_url,
            progress.report,
            partial(_ask, context, params),
            progress.follow,
            _takes_tasks(context),
            asker.risk,
            f"{asker.caller} {asker.peer}",
        )
        return OngoingCall(call, progress)


class OngoingCall:
    """A call, and what is left to tell when it has been answered."""

    def __init__(self, call: Call, progress: "_Progress") -> None:
        self.call = call
        self._progress = progress

    async def done(self) -> None:
        """All of it is done, unless something goes on behind the answer."""
        if not self._progress.goes_on:
            await self._progress.report(1.0, "")


class _Progress:
    """From 0 to 1, only rising, as the protocol demands; sent if it was asked for."""

    def __init__(self, context: Context, asker: Asker) -> None:
        self._context = context
        self._asker = asker
        self._last = -1.0
        self.goes_on = False

    async def report(self, progress: float, message: str) -> None:
        await self._rise(self._context.session.report_progress, progress, message)

    async def report_late(self, progress: float, message: str) -> None:
        """The request's own channel is closed by now where there is another."""
        send = self._notify if self._asker.duplex else self._context.session.report_progress
        await self._rise(send, progress, message)

    def follow(self, watch: Watch) -> None:
        self.goes_on = True
        token = progress_token_from_params(self._context.params)
        if token is not None and self._asker.after is not None:
            self._asker.after(partial(watch, self.report_late))

    async def _rise(self, send: Send, progress: float, message: str) -> None:
        if self._last < progress <= 1.0:
            self._last = progress
            await send(progress, 1.0, message or None)

    async def _notify(self, progress: float, total: float | None, message: str | None) -> None:
        token = progress_token_from_params(self._context.params)
        assert token is not None
        told = types.ProgressNotificationParams(
            progress_token=token, progress=progress, total=total, message=message
        )
        await self._context.session.send_notification(types.ProgressNotification(params=told))


def _takes_tasks(context: Context) -> bool:
    """Declared with the request itself; clients of the handshake era cannot take them."""
    declared = context.session.client_capabilities
    modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return modern and declared is not None and TASKS in (declared.extensions or {})


async def _ask(
    context: Context, params: types.CallToolRequestParams | None, message: str, schema: Json
) -> Reply | None:
    """Put a form to the user, in the way of the client's era.

    Today's clients get the question as an answer and call again with what the user said; older ones
    are asked while their request waits, if they can be.
    """
    if not _fills_in_forms(context.session.client_capabilities):
        return None
    if context.protocol_version in MODERN_PROTOCOL_VERSIONS:
        replies = (params.input_responses if params is not None else None) or {}
        if _QUESTION not in replies:
            raise Instead(_question(message, schema))
        return _reply(replies[_QUESTION])
    if not context.session.can_send_request:
        return None
    try:
        return _reply(await context.session.elicit_form(message, schema, context.request_id))
    except (MCPError, NoBackChannelError, ValidationError):  # then confirming is the agent's
        return None


def _fills_in_forms(declared: types.ClientCapabilities | None) -> bool:
    """An empty declaration means forms, which is all there was at first."""
    if declared is None or declared.elicitation is None:
        return False
    return declared.elicitation.form is not None or declared.elicitation.url is None


def _question(message: str, schema: Json) -> Json:
    asked = {
        "method": "elicitation/create",
        "params": {"mode": "form", "message": message, "requestedSchema": schema},
    }
    return {"resultType": "input_required", "inputRequests": {_QUESTION: asked}}


def _reply(said: object) -> Reply:
    """What cannot be understood is not agreement."""
    if not isinstance(said, types.ElicitResult) or said.action != "accept":
        return Reply(False, {})
    return Reply(True, dict(said.content or {}))
