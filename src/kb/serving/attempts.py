"""A wrong key and its sender in, a pause out: guessing is slow, and slow for the guesser alone."""

import ipaddress
import time
from collections.abc import Callable

FREE = 20
PER_SECOND = 10.0
PEERS = 4096


class Attempts:
    """How many wrong keys each peer may still try.

    Each peer has a bucket of `FREE` attempts that refills at `PER_SECOND`. An empty bucket means
    that no key of that peer is looked at, right or wrong: looking would tell.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, peers: int = PEERS) -> None:
        self._clock = clock
        self._peers = peers
        # Peer -> attempts left and when that was so. The least recent failure comes first.
        self._left: dict[str, tuple[float, float]] = {}

    def __bool__(self) -> bool:
        """Has anyone failed lately? Where nobody has, nothing needs to be asked."""
        return bool(self._left)

    def spent(self, address: str) -> bool:
        peer = _peer(address)
        return peer in self._left and self._remaining(peer) < 1.0

    def failed(self, address: str) -> None:
        peer = _peer(address)
        remaining = self._remaining(peer)
        self._left.pop(peer, None)
        while len(self._left) >= self._peers:
            del self._left[next(iter(self._left))]
        self._left[peer] = (max(remaining - 1.0, 0.0), self._clock())
        self._forget_the_patient()

    def _remaining(self, peer: str) -> float:
        left, at = self._left.get(peer, (float(FREE), 0.0))
        return min(left + (self._clock() - at) * PER_SECOND, float(FREE))

    def _forget_the_patient(self) -> None:
        """Drop peers whose bucket is full again; they stand at the front."""
        full_before = self._clock() - FREE / PER_SECOND
        while self._left:
            peer = next(iter(self._left))
            if self._left[peer][1] > full_before:
                return
            del self._left[peer]


def _peer(address: str) -> str:
    """IPv6 hosts own whole networks of addresses, so there the /64 is the peer."""
    if ":" not in address:
        return address
    try:
        parsed = ipaddress.IPv6Address(address)
    except ValueError:
        return address
    if parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(parsed), 64), strict=False))
