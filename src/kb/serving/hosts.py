"""Whether to trust a Host or Origin header.

A web page may point its own name at us to get around the browser's same-origin rule (DNS
rebinding), so only names that we know are served. An address cannot be pointed anywhere.
"""

import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any

HOSTS_REMEMBERED = 256
LONGEST_SHOWN = 260  # any name with its port; what is longer is none

HOST = re.compile(rb"(?:\[([0-9a-fA-F:.]{2,45})\]|([A-Za-z0-9._-]{1,253}))(?::[0-9]{1,5})?")
# A second one of these is an attempt to have two readers see two requests.
SINGLE = frozenset(
    {
        b"host",
        b"origin",
        b"authorization",
        b"content-length",
        b"content-type",
        b"content-encoding",
        b"transfer-encoding",
        b"idempotency-key",
        b"batch-id",
        b"mcp-session-id",
    }
)

Fields = Mapping[bytes, bytes]


class KnownHosts:
    """The names under which we may be reached, with any port; `localhost` is always one."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name.lower() for name in (*names, "localhost") if name}
        self._seen: set[bytes] = set()

    def know(self, host: bytes) -> bool:
        """Whether this is the value of a Host header that we answer to."""
        if host in self._seen:
            return True
        match = HOST.fullmatch(host)
        literal, name = match.groups() if match else (None, None)
        if literal is not None:
            known = is_address(literal)
        else:
            known = name is not None and (name.decode().lower() in self._names or is_address(name))
        if known and len(self._seen) < HOSTS_REMEMBERED:
            self._seen.add(host)
        return known


def host_refusal(host: bytes, setting: str) -> tuple[str, dict[str, Any]]:
    """Why this host is not served: a message with what to do, and its details."""
    seen = shown(host)
    details = {"host": seen, "setting": setting}
    match = HOST.fullmatch(host)
    if match is None or match[2] is None:
        what = f"The Host header {seen!r} is no host" if host else "The request has no Host header"
        return f"{what}: send an address, localhost, or a name in {setting}", details
    name = match[2].decode().lower()
    return (
        f"The Host header names {seen!r}, which is neither an address nor localhost:"
        f" if kb is to answer to it, add {name} to {setting} and restart",
        details,
    )


def origin_refusal(origin: bytes, host: bytes, setting: str = "") -> tuple[str, dict[str, Any]]:
    """Why a page from there may not call. A proxy that hides our own name shows by the two.

    `setting` admits other pages, where there is one."""
    seen, asked = shown(origin), shown(host)
    other = f"; any other page has to be listed in {setting}" if setting else ""
    return (
        f"A page from {seen!r} may not call kb at {asked!r}: if it is kb's own page behind a proxy,"
        f" have the proxy pass on the Host header{other}",
        {"origin": seen, "host": asked},
    )


def shown(header: bytes) -> str:
    """A header, which may hold anything, as a short piece of plain text."""
    text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "?" for byte in header[:LONGEST_SHOWN])
    return text if len(header) <= LONGEST_SHOWN else f"{text}…"


def is_address(text: bytes) -> bool:
    try:
        ip_address(text.decode())
    except ValueError:
        return False
    return True


def same_origin(origin: bytes, host: bytes) -> bool:
    """Browsers say which site a script came from; ours comes from where it is asked for."""
    scheme, _, authority = origin.lower().partition(b"://")
    return scheme in (b"http", b"https") and authority == host.lower()


def is_loopback(origin: bytes) -> bool:
    """A page from a server on this machine, whatever its port: nobody else can serve one."""
    scheme, _, authority = origin.lower().partition(b"://")
    match = HOST.fullmatch(authority)
    if scheme not in (b"http", b"https") or match is None:
        return False
    host = match[1] or match[2]
    return host == b"localhost" or (is_address(host) and ip_address(host.decode()).is_loopback)


def repeated(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The name of a header that stands twice where once is all there may be."""
    seen: set[bytes] = set()
    for name, _ in headers:
        if name in seen and name in SINGLE:
            return name
        seen.add(name)
    return None


def has_body(fields: Fields) -> bool:
    return b"transfer-encoding" in fields or fields.get(b"content-length", b"0") != b"0"


def packed(fields: Fields) -> str | None:
    """The header by which a body is said to be packed, with its value: none is unpacked here."""
    for name, plain in ((b"transfer-encoding", b"chunked"), (b"content-encoding", b"identity")):
        if fields.get(name, plain).strip().lower() != plain:
            return f"{name.decode()}: {shown(fields[name])}"
    return None
