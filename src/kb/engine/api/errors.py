"""Turns every exception into our one error shape: `{"error": code, "message": text, ...}`."""

import json
import logging
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match

from kb.engine import errors
from kb.engine.api.bodies.json_body import unreadable
from kb.engine.errors import KbError

logger = logging.getLogger(__name__)

REQUEST_ID = "kb.request_id"  # where in the ASGI scope the guard leaves the request's id
PEER = "kb.peer"  # and who asks, by their address
FIELDS_SHOWN = 20
NAME_SHOWN = 64
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


class ErrorCode(NamedTuple):
    status: int
    meaning: str


class ErrorBody(BaseModel):
    """Every error looks like this; some carry more fields, such as the id that was not found."""

    model_config = ConfigDict(extra="allow")

    error: str = Field(description="A public code that programs may rely on")
    message: str = Field(description="What happened, for people")


def _descendants(cls: type[KbError]) -> Iterator[type[KbError]]:
    yield cls
    for child in cls.__subclasses__():
        yield from _descendants(child)


def _meaning(cls: type[KbError]) -> str:
    """The class's own docstring, never an inherited one; the code in words where there is none."""
    doc = cls.__dict__.get("__doc__")
    return doc.strip().split("\n\n")[0] if doc else cls.code.replace("_", " ").capitalize()


def error_codes() -> dict[str, ErrorCode]:
    """Every public code. StartupError is not: it is printed and never answered."""
    return {
        cls.code: ErrorCode(cls.status, _meaning(cls))
        for cls in _descendants(KbError)
        if cls is not errors.StartupError and cls is not KbError
    } | {KbError.code: ErrorCode(KbError.status, "Something broke that should not have")}


ERROR_CODES = error_codes()


# What any route under /api can answer, whatever it does itself.
COMMON_ERRORS: tuple[type[KbError], ...] = (
    errors.InvalidEncoding,
    errors.MalformedRequest,
    errors.Unauthorized,
    errors.ForeignOrigin,
    errors.MethodNotAllowed,
    errors.BodyTooLarge,
    errors.UnsupportedMediaType,
    errors.WrongHost,
    errors.InvalidRequest,
    errors.TooManyAttempts,
    errors.HeadersTooLarge,
    KbError,
    errors.ShuttingDown,
    errors.StorageFailed,
    errors.StoreDamaged,
    errors.StorageFull,
)


def responses(*raised: type[KbError]) -> dict[int | str, dict[str, Any]]:
    """The `responses=` of a route that can end in these errors: `responses(DocumentNotFound)`.

    A status said for a route hides the same status of its router, so the common codes of that
    status are named again.
    """
    by_status: dict[int, list[str]] = {}
    for status in sorted({cls.status for cls in raised}):
        codes = [cls.code for cls in (*COMMON_ERRORS, *raised) if cls.status == status]
        by_status[status] = list(dict.fromkeys(codes))
    return {
        status: {"model": ErrorBody, "description": ", ".join(codes)}
        for status, codes in by_status.items()
    }


RESPONSES = responses(*COMMON_ERRORS)


def render(code: str, message: str, details: Mapping[str, Any] | None = None) -> bytes:
    """The body. Half a surrogate pair, which JSON input may hold, becomes a question mark."""
    body = {"error": code, "message": message, **(details or {})}
    return json.dumps(body, ensure_ascii=False, default=str).encode("utf-8", "replace")


def answer(error: KbError, headers: Mapping[str, str] | None = None) -> Response:
    sent = dict(headers or {})
    if "retry_after" in error.details:
        sent.setdefault("retry-after", str(error.details["retry_after"]))
    return Response(
        render(error.code, error.message, error.details),
        status_code=error.status,
        headers=sent,
        media_type="application/json",
    )


def install(app: FastAPI) -> None:
    """Have every error of this app answered in our shape, including the framework's own."""
    app.add_exception_handler(KbError, _on_kb_error)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_exception)
    app.add_exception_handler(ClientDisconnect, _on_disconnect)
    app.add_exception_handler(Exception, _on_bug)


# The handlers are coroutines although they wait for nothing: a plain function would cost each
# error answer a trip through the thread pool.


async def _on_kb_error(_request: Request, error: Exception) -> Response:
    assert isinstance(error, KbError)
    if error.status == KbError.status:
        logger.error("%s: %s", error.code, error.message, exc_info=error)
    return answer(error)


async def _on_disconnect(_request: Request, _error: Exception) -> Response:
    return answer(errors.InvalidEncoding("The body ended before it was complete"))


async def _on_bug(request: Request, _error: Exception) -> Response:
    """The guard outside logs the traceback; the caller gets an id to find it by."""
    return answer(internal_error(request.scope.get(REQUEST_ID, "")))


def internal_error(request_id: str) -> KbError:
    return KbError(
        "The engine failed to answer; its log has the reason under this request id",
        request_id=request_id,
    )


async def _on_invalid_request(_request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    broken = next((each for each in found if each["type"] == "json_invalid"), None)
    if broken is not None:
        position = broken["loc"][-1]
        reason = broken.get("ctx", {}).get("error", "it ended too early")
        return answer(
            errors.InvalidEncoding(f"The body is not valid JSON: {reason} (position {position})")
        )
    fields = [
        {"field": _field_name(each["loc"]), "message": _reason(each)}
        for each in found[:FIELDS_SHOWN]
    ]
    message = "; ".join(map(_sentence, found[:FIELDS_SHOWN]))
    if len(found) > FIELDS_SHOWN:
        message += f"; and {len(found) - FIELDS_SHOWN} more"
    return answer(errors.InvalidRequest(message, fields=fields))


def _sentence(found: Mapping[str, Any]) -> str:
    """The reason after its field; what is said of several fields at once names them itself."""
    of_several = found["type"] == "value_error" and found["loc"] == ("body",)
    return _reason(found) if of_several else f"{_field_name(found['loc'])}: {_reason(found)}"


def _field_name(location: tuple[Any, ...]) -> str:
    """`("body", "tags", 0)` is `tags.0`; the whole body, when it is missing, is `body`."""
    parts = [str(part)[:NAME_SHOWN] for part in location]
    return ".".join(parts[1:]) or parts[0]


_OBJECT, _WHOLE_NUMBER = "Should be a JSON object: {{…}}", "Should be a whole number"
# Pydantic speaks of its own types; what is not here it says well enough.
_PLAIN_WORDS = {
    "bool_parsing": "Should be true or false",
    "bool_type": "Should be true or false",
    "dict_type": _OBJECT,
    "extra_forbidden": "There is no such field",
    "float_parsing": "Should be a number",
    "float_type": "Should be a number",
    "greater_than": "Should be more than {gt}",
    "greater_than_equal": "Should be at least {ge}",
    "int_from_float": _WHOLE_NUMBER,
    "int_parsing": _WHOLE_NUMBER,
    "int_type": _WHOLE_NUMBER,
    "less_than": "Should be less than {lt}",
    "less_than_equal": "Should be at most {le}",
    "list_type": "Should be a list: […]",
    "literal_error": "Should be {expected}",
    "missing": "Is required, and was not sent",
    "model_attributes_type": _OBJECT,
    "model_type": _OBJECT,
    "string_pattern_mismatch": "Should be an id (a number) or a uid",
    "string_too_long": "Should have at most {max_length} characters",
    "string_too_short": "Should have at least {min_length} characters",
    "string_type": "Should be text",
    "string_unicode": "Should be text in UTF-8",
    "too_long": "Should have at most {max_length} entries",
    "too_short": "Should have at least {min_length} entries",
}


def _reason(found: Mapping[str, Any]) -> str:
    """In plain words, which never repeat what was sent."""
    kind, limits = found["type"], found.get("ctx", {})
    if kind == "union_tag_invalid":
        return f"Should be one of {limits.get('expected_tags', 'the known kinds')}"
    if kind == "string_too_short" and limits["min_length"] == 1:
        return "Should not be empty"
    if kind in _PLAIN_WORDS:
        return _PLAIN_WORDS[kind].format_map(limits)
    return str(found["msg"]).removeprefix("Value error, ")


_NOTHING_HERE = "There is nothing at this address: /api/v1/openapi.json lists all addresses"

# What the framework refuses by itself, by status.
_BY_STATUS: dict[int, type[KbError]] = {
    400: errors.InvalidEncoding,
    401: errors.Unauthorized,
    404: errors.NotFound,
    405: errors.MethodNotAllowed,
    413: errors.BodyTooLarge,
    415: errors.UnsupportedMediaType,
    422: errors.InvalidRequest,
}


async def _on_http_exception(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 404 and error.detail == "Not Found":
        return answer(errors.NotFound(_NOTHING_HERE))
    if error.status_code == 405:
        allowed = allowed_methods(request)
        text = f"{request.method} does not work here; {', '.join(allowed)} would"
        return answer(errors.MethodNotAllowed(text), {"allow": ", ".join(allowed)})
    if isinstance(error.__cause__, ValueError | RecursionError):  # of what was to be JSON
        return answer(unreadable(error.__cause__, "body"))
    fallback = KbError if error.status_code >= 500 else errors.InvalidRequest
    cls = _BY_STATUS.get(error.status_code, fallback)
    wrapped = cls(str(error.detail))
    wrapped.status = error.status_code
    return answer(wrapped, error.headers)


def allowed_methods(request: Request) -> list[str]:
    """All methods of this address. The framework names those of the first route alone."""
    routes = request.app.router.routes

    def works(method: str) -> bool:
        scope = {**request.scope, "method": method, "fastapi": {}}
        return any(route.matches(scope)[0] is Match.FULL for route in routes)

    return [method for method in METHODS if works(method)]
