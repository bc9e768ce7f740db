"""GET /events: a live stream of what happens."""

import json
from collections.abc import AsyncIterator

from fastapi import APIRouter, Request
from fastapi.responses import StreamingResponse

from kb.engine.api.context import EngineDep, StrictRoute
from kb.engine.api.errors import PEER, responses
from kb.engine.errors import TooManyListeners
from kb.engine.events import ALL_LISTENERS, MOST_LISTENERS, Events

router = APIRouter(tags=["events"], route_class=StrictRoute)

HEARTBEAT = 15.0


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={
        200: {"content": {"text/event-stream": {}}, "description": "Server-sent events"},
        **responses(TooManyListeners),
    },
)
async def events(request: Request, engine: EngineDep) -> StreamingResponse:
    """Server-sent events: `job`, `document.added`, `document.changed`, `document.deleted`,
    `documents.cleared`."""
    peer = request.scope.get(PEER, "")
    if engine.events.full(peer):
        raise TooManyListeners(
            f"{MOST_LISTENERS} listeners of this address, or {ALL_LISTENERS} in all, are connected"
            " already: close one, or try again later"
        )
    return StreamingResponse(_stream(engine.events, peer), media_type="text/event-stream")


async def _stream(events: Events, peer: str) -> AsyncIterator[bytes]:
    async for event in events.listen(HEARTBEAT, peer):
        if event is None:
            yield b": all quiet\n\n"
        else:
            data = json.dumps(event.data, ensure_ascii=True)
            yield f"id: {event.id}\nevent: {event.kind}\ndata: {data}\n\n".encode()
