"""Reads and writes JSON-RPC messages."""

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
    HEADER_MISMATCH,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_REQUIRED_CLIENT_CAPABILITY,
    PARSE_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError, from_json, to_json

from kb.mcp.transport import client_hello
from kb.serving.shape import MOST_VALUES, is_overgrown

Message = JSONRPCRequest | JSONRPCNotification
Response = JSONRPCResponse | JSONRPCError

# Ours, from the range that the protocol leaves to implementations.
FAILED = -32000
UNAUTHORIZED, TOO_MANY_ATTEMPTS, WRONG_HOST, FOREIGN_ORIGIN = -32010, -32011, -32012, -32013
NOT_FOUND, GUARD_FAILED, BUSY = -32014, -32015, -32016
LONGEST_ID = 1000  # characters; it is sent back

# The parser's own limits, by how it tells of them.
_BEYOND = {
    "recursion limit exceeded": "a message may be nested 200 levels deep",
    "number out of range": "a number may have 4,300 digits",
}

CANCELLED = -32800  # the wire of the handshake era ends a request only with an answer to it

ERROR_TYPES = {
    PARSE_ERROR: "parse_error",
    INVALID_REQUEST: "invalid_request",
    METHOD_NOT_FOUND: "method_not_found",
    INVALID_PARAMS: "invalid_params",
    INTERNAL_ERROR: "internal_error",
    HEADER_MISMATCH: "header_mismatch",
    MISSING_REQUIRED_CLIENT_CAPABILITY: "missing_capability",
    UNSUPPORTED_PROTOCOL_VERSION: "unsupported_protocol_version",
    FAILED: "server_error",
    UNAUTHORIZED: "unauthorized",
    TOO_MANY_ATTEMPTS: "too_many_attempts",
    WRONG_HOST: "wrong_host",
    FOREIGN_ORIGIN: "foreign_origin",
    NOT_FOUND: "not_found",
    GUARD_FAILED: "server_error",
    BUSY: "busy",
    CANCELLED: "cancelled",
}


class BadMessage(Exception):
    """What was sent is no JSON-RPC message; `request_id` where at least that could be read."""

    def __init__(
        self, code: int, message: str, request_id: RequestId | None = None, reason: str = ""
    ) -> None:
        super().__init__(message)
        self.error = ErrorData(code=code, message=message, data=reason or None)
        self.request_id = request_id


def read_any(body: bytes | str) -> Message | Response:
    """The message in a body, or the answer to something that we asked.

    The presence of an id decides what it is, not what happens to fit: a request whose id is
    malformed is owed an error, and as a notification it would get none.
    """
    if is_overgrown(body if isinstance(body, bytes) else body.encode("utf-8", "surrogatepass")):
        told = f"Invalid request: a message may hold {MOST_VALUES:,} values"
        raise BadMessage(INVALID_REQUEST, told)
    try:
        decoded = from_json(body, allow_inf_nan=False, cache_strings="keys")
    except ValueError as error:  # half a character, too; it says where
        raise _unreadable(str(error)) from None
    if not isinstance(decoded, dict):
        raise BadMessage(INVALID_REQUEST, "Invalid request: send one JSON-RPC 2.0 object")
    if isinstance(decoded.get("id"), str) and len(decoded["id"]) > LONGEST_ID:
        told = f"Invalid request: an id may have {LONGEST_ID:,} characters"
        raise BadMessage(INVALID_REQUEST, told)
    if decoded.get("method") == "initialize" and "params" in decoded:
        decoded["params"] = client_hello.needed(decoded["params"])
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


def _unreadable(reason: str) -> BadMessage:
    """What the parser does not read may be JSON all the same."""
    for told, beyond in _BEYOND.items():
        if reason.startswith(told):
            return BadMessage(INVALID_REQUEST, f"Invalid request: {beyond}", reason=reason)
    return BadMessage(PARSE_ERROR, "Parse error: this is not JSON", reason=reason)


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


def _data(error: ErrorData) -> dict[str, Any]:
    """The kind of error by name, and further details. The protocol's own data is repeated beside
    them: its clients look for it there."""
    kind = ERROR_TYPES.get(error.code, ERROR_TYPES[FAILED])
    if not isinstance(error.data, dict):
        return {"error_type": kind, "details": {"reason": error.data} if error.data else {}}
    known = dict(error.data)
    if (
        error.code == UNSUPPORTED_PROTOCOL_VERSION
        and known.get("requested") not in KNOWN_PROTOCOL_VERSIONS
    ):
        # The SDK names the new era's alone. That is right for an older version in a new request.
        known["supported"] = list(KNOWN_PROTOCOL_VERSIONS)
    return {"error_type": kind, "details": known} | known


def write(message: dict[str, Any]) -> bytes:
    """Compact JSON. Half a character, which JSON input may hold, becomes a question mark."""
    try:
        return to_json(message)
    except PydanticSerializationError:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")
