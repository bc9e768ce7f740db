"""The routes beside the endpoint: uploads and health."""

from collections.abc import AsyncIterator

from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from kb import __version__
from kb.mcp.contract import Json, ToolFailed
from kb.mcp.server import Asker
from kb.mcp.transport.guard import UPLOADS
from kb.mcp.transport.refusal import Refused, plain
from kb.mcp.uploads.open_uploads import HTTP_STATUS, Uploads


class UploadRoute:
    """`PUT /uploads/{token}`: the token is all the proof it needs, and good for one file."""

    def __init__(self, uploads: Uploads) -> None:
        self._uploads = uploads

    async def __call__(self, _asker: Asker, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] != "PUT":
            raise _wrong_method("PUT the bytes of the file here", "PUT")
        token = scope["path"].removeprefix(UPLOADS)
        try:
            taken = await self._uploads.receive(token, _length(scope), _pieces(receive))
        except ToolFailed as failed:
            problem = {"error": failed.code, "message": failed.message, **failed.details}
            raise plain(HTTP_STATUS.get(failed.code, 400), problem) from failed
        except ConnectionError:
            return  # nobody is left to be told
        await _send(send, taken)


async def health(_asker: Asker, scope: Scope, _receive: Receive, send: Send) -> None:
    """This process lives. Whether the engine does is for the tools to say."""
    if scope["method"] not in ("GET", "HEAD"):
        raise _wrong_method("GET this", "GET, HEAD")
    await _send(send, {"status": "ok", "version": __version__})


def _wrong_method(message: str, allowed: str) -> Refused:
    problem = {"error": "method_not_allowed", "message": message}
    return plain(405, problem, [(b"allow", allowed.encode())])


def _length(scope: Scope) -> int | None:
    length = dict(scope["headers"]).get(b"content-length")
    return int(length[:20]) if length is not None and length.isdigit() else None


async def _pieces(receive: Receive) -> AsyncIterator[bytes]:
    """The body as it arrives; half a body is not a short one."""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise ConnectionError("the client went away in the middle of its upload")
        if piece := message.get("body"):
            yield piece
        if not message.get("more_body"):
            return


async def _send(send: Send, content: Json) -> None:
    body = to_json(content)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
