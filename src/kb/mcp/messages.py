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
from mcp_types.jsonrpc import INVALID_REQUEST, PARSE_ERROR
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

Message = JSONRPCRequest | JSONRPCNotification
Response = JSONRPCResponse | JSONRPCError


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
    body = error.model_dump(mode="json", exclude_none=True)
    return write({"jsonrpc": "2.0", "id": request_id, "error": body})


def write(message: dict[str, Any]) -> bytes:
    """Compact JSON. Half a character, which JSON input may hold, becomes a question mark."""
    try:
        return to_json(message)
    except PydanticSerializationError:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")
