"""A port for a program that is about to be started, which nobody else takes until it listens."""

import itertools
import os
import random
import socket

# Below those that systems give to outgoing connections: a port that the system itself names is
# free at that moment only, and the tests beside this one open connections all the time.
_FIRST = 10_000
_EACH = 2_000  # for each of the processes that run tests beside each other
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % 10
_numbers = itertools.count(random.randrange(_EACH))


def free_port() -> int:
    for number in itertools.islice(_numbers, _EACH):
        port = _FIRST + _WORKER * _EACH + number % _EACH
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")
