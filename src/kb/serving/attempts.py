"""A wrong key and its sender in, whether it is to wait out: only guessers are slowed down."""

import ipaddress
import time
from collections.abc import Callable

FREE = 20
PER_SECOND = 10.0
PEERS = 4096


class Attempts:
    """How many wrong keys each peer may still try.

    Each peer has a bucket of `FREE` attempts that refills at `PER_SECOND`. A wrong key of a peer
    whose bucket is empty is told to wait; a right one never is, or whoever shares an address with
    the guesser would be locked out.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, peers: int = PEERS) -> None:
        self._clock = clock
        self._peers = peers
        # Peer -> attempts left and when that was so. The least recent failure comes first.
        self._left: dict[str, tuple[float, float]] = {}

    def failed(self, address: str) -> bool:
        """Count a wrong key; whether this peer still had an attempt left for it."""
        peer = _peer(address)
        remaining = self._remaining(peer)
        if remaining < 1.0:
            return False
        self._left.pop(peer, None)
        while len(self._left) >= self._peers:
            del self._left[next(iter(self._left))]
        self._left[peer] = (remaining - 1.0, self._clock())
        self._forget_the_patient()
        return True

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
