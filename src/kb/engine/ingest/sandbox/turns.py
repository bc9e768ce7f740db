"""Lets one reader at a time do OCR, in turns."""

import threading
from collections import deque
from collections.abc import Callable

from kb.engine.errors import JobLost

_ASK_EVERY = 0.5  # seconds: how soon one stops waiting that nobody wants any more


class Turns:
    """Taking a turn waits until all earlier ones have been given back. A holder who has had a turn
    for long should check whether it `is_wanted`, and then go to the end of the line."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._line: deque[object] = deque()  # whoever has the turn stands first

    @property
    def is_wanted(self) -> bool:
        return len(self._line) > 1

    def take(self, stopped: Callable[[], bool]) -> None:
        """Raises JobLost once `stopped` says so."""
        me = object()
        with self._changed:
            self._line.append(me)
            while self._line[0] is not me:
                self._changed.wait(_ASK_EVERY)
                if stopped():
                    self._line.remove(me)
                    self._changed.notify_all()
                    raise JobLost("Reading was given up while others read their pictures")

    def give_back(self) -> None:
        with self._changed:
            self._line.popleft()
            self._changed.notify_all()
