"""Bytes in, one JSON-RPC message out; a result or an error in, bytes out."""

import json
from typing import Any

from mcp_types import (
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCRequest,
    JSONRPCResponse,
    RequestId,
)
from mcp_types.jsonrpc import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

Message = JSONRPCRequest | JSONRPCNotification
Response = JSONRPCResponse | JSONRPCError

_ERROR_TYPES = {
    PARSE_ERROR: "parse_error",
    INVALID_REQUEST: "invalid_request",
    METHOD_NOT_FOUND: "method_not_found",
    INVALID_PARAMS: "invalid_params",
    INTERNAL_ERROR: "internal_error",
}


class BadMessage(Exception):
    """What was sent is no JSON-RPC message; `request_id` where at least that could be read."""

    def __init__(self, code: int, message: str, request_id: RequestId | None = None) -> None:
        super().__init__(message)
        self.error = ErrorData(code=code, message=message)
        self.request_id = request_id


def read_any(body: bytes | str) -> Message | Response:
    """The message in a body, or the answer to something that we asked.

    The presence of an id decides what it is, not what happens to fit: a request whose id is
    malformed is owed an error, and as a notification it would get none.
    """
    try:
        decoded = from_json(body, allow_inf_nan=False, cache_strings="keys")
    except ValueError:
        raise BadMessage(PARSE_ERROR, "Parse error: this is not JSON") from None
    if not isinstance(decoded, dict):
        raise BadMessage(INVALID_REQUEST, "Invalid request: send one JSON-RPC 2.0 object")
    kind: type[Message | Response]
    if "method" not in decoded and ("result" in decoded or "error" in decoded):
        kind = JSONRPCResponse if "result" in decoded else JSONRPCError
    else:
        kind = JSONRPCRequest if "id" in decoded else JSONRPCNotification
    try:
        return kind.model_validate(decoded)
    except ValidationError:
        request_id = decoded.get("id")
        readable = isinstance(request_id, int | str) and not isinstance(request_id, bool)
        raise BadMessage(
            INVALID_REQUEST,
            "Invalid request: this is not a JSON-RPC 2.0 message",
            request_id if readable else None,
        ) from None


def write_result(request_id: RequestId | None, result: dict[str, Any]) -> bytes:
    return write({"jsonrpc": "2.0", "id": request_id, "result": result})


def write_error(request_id: RequestId | None, error: ErrorData) -> bytes:
    body = {"code": error.code, "message": error.message, "data": _data(error)}
    return write({"jsonrpc": "2.0", "id": request_id, "error": body})


def write_any(message: Message | Response) -> bytes:
    """A message as the SDK has made it."""
    if isinstance(message, JSONRPCError):
        return write_error(message.id, message.error)
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def _data(error: ErrorData) -> Any:
    """What kind of error it is, by a name, unless whoever made it knows more to say."""
    if isinstance(error.data, dict):
        return error.data
    kind = _ERROR_TYPES.get(error.code, "server_error")
    return {"error_type": kind, "details": {"reason": error.data} if error.data else {}}


def write(message: dict[str, Any]) -> bytes:
    """Compact JSON. Half a character, which JSON input may hold, becomes a question mark."""
    try:
        return to_json(message)
    except PydanticSerializationError:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")
