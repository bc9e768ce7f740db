"""The address of a peer, from its connection and its proxies' headers.

Behind a proxy everybody comes from one address. A trusted proxy says whom it speaks for; from
anybody else such a header is a mere claim, and is ignored.
"""

from collections.abc import Iterable, Sequence
from ipaddress import IPv6Address, ip_address

from starlette.types import Scope

from kb.settings import Network

MOST_HOPS = 32
_LISTED, _SPELLED = b"x-forwarded-for", b"forwarded"


class Peers:
    """Tells peers apart. `trusted` are the proxies' networks; without any, a peer is who connected.

    Of the addresses that a request went through, the last one that is no trusted proxy counts:
    whatever stands before that may have been made up by it.
    """

    def __init__(self, trusted: Sequence[Network] = ()) -> None:
        self._trusted = tuple(trusted)

    def of(self, scope: Scope) -> str:
        client = scope.get("client")
        connected: str = client[0] if client else ""
        if not self._trusted or not self._trusts(connected):
            return connected
        listed = self._behind(connected, _hops(scope, _LISTED))
        spelled = self._behind(connected, map(_spelled, _hops(scope, _SPELLED)))
        if listed is not None and spelled is not None and listed != spelled:
            return connected  # a proxy writes one of them: the other is the client's own claim
        return listed or spelled or connected

    def scheme(self, scope: Scope) -> bytes | None:
        """By which scheme the peer came, where a trusted proxy says so: it may have ended TLS."""
        if not self._trusted or not self._trusts(scope["client"][0] if scope["client"] else ""):
            return None
        return dict(scope["headers"]).get(b"x-forwarded-proto", b"").strip().lower() or None

    def _behind(self, nearest: str, hops: Iterable[str]) -> str | None:
        """The last address before the trusted ones; None where there are no hops."""
        found = None
        for hop in hops:
            address = _address(hop)
            if address is None:  # as much as is known
                return found or nearest
            found = address
            if not self._trusts(address):
                break
        return found

    def _trusts(self, address: str) -> bool:
        try:
            parsed = ip_address(address)
        except ValueError:
            return False
        if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
            parsed = parsed.ipv4_mapped
        return any(parsed in network for network in self._trusted)


def _hops(scope: Scope, name: bytes) -> list[str]:
    """The entries of a header that may stand several times, the nearest first."""
    values = [value for key, value in scope["headers"] if key == name]
    entries = b",".join(values).decode("latin-1").split(",") if values else []
    return [entry.strip() for entry in reversed(entries[-MOST_HOPS:])]


def _spelled(entry: str) -> str:
    """`for=192.0.2.1;proto=https`: what it is for."""
    for part in entry.split(";"):
        name, _, value = part.partition("=")
        if name.strip().lower() == "for":
            return value.strip().strip('"')
    return ""


def _address(hop: str) -> str | None:
    """The address alone: a port may follow it, and IPv6 may be in brackets."""
    bare = hop.partition("]")[0].removeprefix("[")
    if bare.count(":") == 1:
        bare = bare.partition(":")[0]
    try:
        return str(ip_address(bare))
    except ValueError:
        return None
