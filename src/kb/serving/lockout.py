"""Makes callers with wrong keys wait, and nobody else."""

import ipaddress
import time
from asyncio import sleep
from collections.abc import Callable

from kb.serving.shares import Shares

FREE = 20
PER_SECOND = 10.0
PEERS = 4096
# Wrong keys that wait for their answer, of one peer and of all: each holds a connection meanwhile.
WAITING_EACH, WAITING_ALL = 8, 32


class Attempts:
    """How many wrong keys each peer may still try.

    Each peer has a bucket of `FREE` attempts that refills at `PER_SECOND`. When it is empty, a
    wrong key is answered when there is one again for it; a right one never waits, or whoever shares
    an address with the guesser would be locked out.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, peers: int = PEERS) -> None:
        self._clock = clock
        self._peers = peers
        self._waiting = Shares()
        # Peer -> attempts left (below 0: those who wait) and when that was so. The least recent
        # failure comes first.
        self._left: dict[str, tuple[float, float]] = {}

    async def failed(self, address: str) -> bool:
        """Have a wrong key wait until it may be answered; False if too many wait already."""
        peer = _peer(address)
        remaining = self._remaining(peer) - 1.0
        if remaining >= 0.0:
            self._note(peer, remaining)
            return True
        if not self._waiting.take(peer, WAITING_EACH, WAITING_ALL):
            return False
        self._note(peer, remaining)
        try:
            await sleep(-remaining / PER_SECOND)
        finally:
            self._waiting.give_back(peer)
        return True

    def _note(self, peer: str, remaining: float) -> None:
        self._left.pop(peer, None)
        while len(self._left) >= self._peers:
            del self._left[next(iter(self._left))]
        self._left[peer] = (remaining, self._clock())
        self._forget_the_patient()

    def _remaining(self, peer: str) -> float:
        left, at = self._left.get(peer, (float(FREE), 0.0))
        return min(left + (self._clock() - at) * PER_SECOND, float(FREE))

    def _forget_the_patient(self) -> None:
        """Drop peers whose bucket is full again; they stand at the front."""
        full_before = self._clock() - (FREE + WAITING_EACH) / PER_SECOND
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
