"""The answers that say what is wrong with a request."""

from mcp_types import ErrorData
from pydantic_core import to_json

from kb.client import Json
from kb.mcp.transport.messages import write_error
from kb.serving.exchange import Headers, Refusal


class Refused(Exception):
    """Not served. Raise it before anything was sent; the guard sends the refusal."""

    def __init__(self, refusal: Refusal, why: str) -> None:
        super().__init__(why)
        self.refusal = refusal


def rpc(
    status: int,
    code: int,
    message: str,
    headers: Headers | None = None,
    data: Json | None = None,
) -> Refused:
    """A refusal that clients of the protocol understand: an error that answers no request."""
    body = write_error(None, ErrorData(code=code, message=message, data=data))
    return Refused(Refusal(status, body, headers or []), message)


def plain(status: int, problem: Json, headers: Headers | None = None) -> Refused:
    """A refusal for everyone else, in the same words as the engine's: `error` and `message`."""
    return Refused(Refusal(status, to_json(problem), headers or []), problem["message"])
