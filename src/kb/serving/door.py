"""Whether a request is let in: the checks of both servers, each with its own wording.

Order matters: whether it is one request (headers), for whom (Host), from where (Origin), by whom
(key). It runs for every request, so the ordinary path through it is a few dictionary lookups.
"""

import hashlib
import hmac
import itertools
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from starlette.types import Scope

from kb.serving.exchange import Headers
from kb.serving.hosts import (
    Fields,
    KnownHosts,
    host_refusal,
    origin_refusal,
    packed,
    repeated,
    same_origin,
)
from kb.serving.lockout import Attempts
from kb.serving.peers import Peers
from kb.settings import Network

MAX_HEADERS = 100
MAX_HEADER_BYTES = 32 * 2**10


class Denied(Exception):
    """Not let in: an HTTP status, a public code, a sentence with what to do, and details."""

    def __init__(self, status: int, code: str, message: str, /, **details: Any) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.details = details


class Door:
    """Lets requests in. An empty `key` lets everybody in; `key_name` is its name for people."""

    def __init__(
        self,
        key: str,
        *,
        key_name: str,
        key_setting: str,
        hosts: Iterable[str],
        hosts_setting: str,
        origins_setting: str = "",
        trusted_proxies: tuple[Network, ...] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._key_digest = hashlib.sha256(key.encode()).digest() if key else None
        self._key_name, self._key_setting = key_name, key_setting
        self._hosts, self._hosts_setting = KnownHosts(hosts), hosts_setting
        self._origins_setting = origins_setting
        self._attempts = Attempts(clock)
        self._request_ids = map(f"{os.urandom(4).hex()}-{{:x}}".format, itertools.count(1))
        self.peers = Peers(trusted_proxies)

    @property
    def is_open(self) -> bool:
        """Whether no key is needed."""
        return self._key_digest is None

    def next_request_id(self) -> str:
        return next(self._request_ids)

    def check_headers(self, scope: Scope, fields: Fields) -> None:
        """Raise unless these are few, and none says two things at once."""
        headers = scope["headers"]
        size = len(b"".join(fields.values())) + len(scope["path"]) + len(scope["query_string"])
        if size > MAX_HEADER_BYTES or len(headers) > MAX_HEADERS:
            raise Denied(
                431,
                "headers_too_large",
                f"Address and headers may take {MAX_HEADER_BYTES} bytes, in {MAX_HEADERS} headers",
            )
        twice = repeated(headers) if len(fields) != len(headers) else None
        if twice == b"host":
            raise Denied(421, "wrong_host", "The request has more than one Host header")
        if twice == b"authorization":
            raise self._unauthorized()
        if twice is not None:
            raise _malformed(f"The request has more than one {twice.decode()} header")

    def check_host(self, fields: Fields) -> bytes:
        """The host under which we were asked. Raises unless it is one of ours."""
        host = fields.get(b"host", b"")
        if not self._hosts.know(host):
            message, details = host_refusal(host, self._hosts_setting)
            raise Denied(421, "wrong_host", message, **details)
        return host

    def check_origin(
        self,
        fields: Fields,
        host: bytes,
        takes: Callable[[bytes, bytes], bool] = same_origin,
    ) -> None:
        """Raise if a page calls that may not; who sends no Origin is no page."""
        origin = fields.get(b"origin")
        if origin is not None and not takes(origin, host):
            message, details = origin_refusal(origin, host, self._origins_setting)
            raise Denied(403, "foreign_origin", message, **details)

    def check_key(self, fields: Fields) -> str:
        """A fingerprint of the caller's key, empty without one. Raises unless it is right."""
        scheme, _, token = fields.get(b"authorization", b"").partition(b" ")
        sent = token.strip() if scheme.lower() == b"bearer" else b""
        if self._key_digest is None and not sent:
            return ""
        digest = hashlib.sha256(sent).digest()
        if self._key_digest is not None and not (
            sent and hmac.compare_digest(digest, self._key_digest)
        ):
            raise self._unauthorized()
        return digest.hex()[:32]

    async def after_a_wait(self, scope: Scope, fields: Fields, denied: Denied) -> Denied:
        """What a wrong key is told, when it is its turn; anything else is told at once."""
        if denied.status != 401 or b"authorization" not in fields:
            return denied
        if await self._attempts.failed(self.peers.of(scope)):
            return denied
        message = f"Too many wrong {self._key_name}s from this address"
        return Denied(429, "too_many_attempts", message, retry_after=1)

    def _unauthorized(self) -> Denied:
        """One answer to a missing and to a wrong key: nobody learns which it was."""
        needed = f"A valid {self._key_name} is needed: Authorization: Bearer <{self._key_setting}>"
        return Denied(401, "unauthorized", needed)


def refusal_headers(status: int, details: Mapping[str, Any]) -> Headers:
    """What HTTP wants beside the status of a refusal."""
    if status == 401:
        return [(b"www-authenticate", b'Bearer realm="kb"')]
    if "retry_after" in details:
        return [(b"retry-after", str(details["retry_after"]).encode())]
    return []


def body_length(fields: Fields) -> int | None:
    """How long the body says it is; None where it does not say. Raises if it is said wrongly."""
    coding = packed(fields)
    if coding is not None:
        raise _malformed(f"A body is read as it is: send it without {coding}")
    length = fields.get(b"content-length")
    if length is None:
        return None if b"transfer-encoding" in fields else 0
    if b"transfer-encoding" in fields or not length.isdigit():
        raise _malformed("The length of the body is given in two ways, or wrongly")
    return int(length[:20])


def content_kind(fields: Fields) -> bytes:
    """`application/json`, for one."""
    return fields.get(b"content-type", b"").partition(b";")[0].strip().lower()


def _malformed(message: str) -> Denied:
    return Denied(400, "malformed_request", message)
