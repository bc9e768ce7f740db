"""The arithmetic of how long work will take. A `Pace` is what the engine has learned about its
machine. A `Forecast` belongs to one job: it uses what the job has done, and at first that pace."""

import math
import threading
from collections.abc import Mapping

# Until something was measured, on two cores.
_ASSUMED = {
    "picture": 2.0,  # seconds to recognise one
    "page": 0.02,  # seconds to read a page that has text
    "job": 0.05,  # seconds for a small one, beside its passages
    "passage": 0.03,  # seconds to embed one
    "stored": 0.003,  # seconds to store one
    "passage characters": 800.0,
    "picture passages": 2.0,
}
# Bytes of a file for each of its passages, by its ending.
_BYTES = 800.0
_BYTES_OF = {"pdf": 8e3, "docx": 6e3, "odt": 6e3, "pptx": 4e4, "odp": 4e4, "epub": 2e3, "html": 2e3}
_MOST_ENDINGS = 100
_LEAST_OF_ONE = 0.25  # of the time that a long passage takes, a short one does
_LEAST_OF_A_JOB = 0.001  # seconds
_FEW = 10  # passages: of a job that takes its time for other things, too

_SHARE_OF_NEW = 0.2
_FAR_OFF = 4.0
_KEPT = 0.7  # of what earlier pages count, at each new one: a document may change half-way
_KNOWN = 0.25  # pages of the job's own that the engine's pace counts for
_MOST = 0.99  # of the way, until the document is stored


class Pace:
    """How fast this machine works, learned from what it did."""

    def __init__(self, learned: Mapping[str, float] | None = None) -> None:
        self.at_once = 1  # jobs that share the machine now
        self._lock = threading.Lock()
        self._learned = {
            name: float(value)
            for name, value in (learned or {}).items()
            if isinstance(value, int | float) and math.isfinite(value) and value > 0
        }

    def __getitem__(self, name: str) -> float:
        return self._learned.get(name) or _ASSUMED[name]

    @property
    def learned(self) -> dict[str, float]:
        """All that is more than an assumption, to be handed to the next run."""
        with self._lock:
            return dict(self._learned)

    def learn(self, name: str, value: float) -> None:
        if value > 0:
            self._learn(name, self[name], value)

    def learn_length(self, ending: str, size: int, characters: int, passages: int) -> None:
        """The length of passages, in characters and bytes, from a document cut into this many."""
        name = "passage characters"
        self._learn_length(name, self[name], characters, passages)
        name = _bytes_key(ending)
        if name in self._learned or len(self._learned) < _MOST_ENDINGS:
            self._learn_length(name, self._bytes(ending), size, passages)

    def learn_embedding(self, seconds: float, characters: int, passages: int) -> None:
        """How long embedding this many took. Short ones take less, but not nothing."""
        whole = max(_LEAST_OF_ONE * passages, characters / self["passage characters"])
        self.learn("passage", seconds / whole)

    def learn_job(self, seconds: float, passages: int) -> None:
        """What a small job took beside its passages."""
        if passages <= _FEW:
            self.learn("job", max(seconds - self.reading(0, passages), _LEAST_OF_A_JOB))

    def passages(self, size: int, ending: str) -> int:
        """The probable number of passages in this many bytes of such a file."""
        return max(1, round(size / self._bytes(ending)))

    def reading(self, jobs: int, passages: int) -> float:
        """Seconds for the text of this many jobs."""
        return jobs * self["job"] + passages * (self["passage"] + self["stored"])

    def recognising(self, pictures: int) -> float:
        """Seconds for this many pictures, and for their text."""
        passages = pictures * self["picture passages"]
        return pictures * self["picture"] + passages * (self["passage"] + self["stored"])

    def _bytes(self, ending: str) -> float:
        return self._learned.get(_bytes_key(ending)) or _BYTES_OF.get(ending, _BYTES)

    def _learn_length(self, name: str, known: float, length: int, passages: int) -> None:
        """The last passage may be short: a single one says no more than that others can be as long,
        and so many only between which two lengths the usual one is."""
        shortest = length / passages
        longest = length / (passages - 1) if passages > 1 else math.inf
        if length and not shortest <= known <= longest:
            self._learn(name, known, shortest if known < shortest else longest)

    def _learn(self, name: str, known: float, value: float) -> None:
        """The first measure says more than an assumption. One that is far off may have waited for
        the model to load: it counts, but not for all it is."""
        value = min(max(value, known / _FAR_OFF), known * _FAR_OFF)
        with self._lock:
            share = _SHARE_OF_NEW if name in self._learned else 0.5
            self._learned[name] = known + share * (value - known)


def _bytes_key(ending: str) -> str:
    return f"bytes of {ending}"


class _Moving:
    """A mean in which the last values count most."""

    def __init__(self, known: float, weight: float) -> None:
        self._sum = known * weight
        self._weight = weight

    def add(self, value: float) -> None:
        self._sum = self._sum * _KEPT + value
        self._weight = self._weight * _KEPT + 1.0

    @property
    def mean(self) -> float:
        return self._sum / self._weight


class Forecast:
    """How one job gets on, in seconds of work. `pages` is 0 as long as nobody knows how many there
    are, and `passages` an expectation until the text is cut."""

    def __init__(self, pace: Pace, passages: int) -> None:
        self.pages = self.pages_read = 0
        self.passages = passages
        self.embedded = 0
        self._pace = pace
        self._characters = 0
        self._done = 0.0
        self._share = 0.0
        self._page = _Moving(pace["page"], _KNOWN)
        self._passage = _Moving(pace["passage"] * pace.at_once, 1.0)

    def recognise(self) -> None:
        """Pictures are recognised from here on."""
        self.pages = self.pages or self.pages_read + 1
        if self.pages_read:
            self._page.add(self._pace["picture"])
        else:
            self._page = _Moving(self._pace["picture"], _KNOWN)

    def read(self, seconds: float, characters: int) -> None:
        """A page was read."""
        self._done += seconds
        self._page.add(seconds)
        self.pages_read += 1
        self._characters += characters
        pages = max(self.pages, self.pages_read)
        expected = self._characters * pages / self.pages_read / self._pace["passage characters"]
        if self.pages or expected > self.passages:
            self.passages = max(1, round(expected))

    def cut(self, passages: int) -> None:
        """All is read, and these are the passages."""
        self.pages = self.pages_read
        self.passages = passages

    def embed(self, passages: int, seconds: float) -> None:
        """So many more passages were embedded."""
        self._done += seconds
        self._passage.add(seconds / passages)
        self.embedded += passages

    @property
    def left(self) -> float:
        """Seconds until the job is done."""
        pages = max(0, self.pages - self.pages_read)
        to_store = self.passages * self._pace["stored"] * self._pace.at_once
        to_embed = max(0, self.passages - self.embedded)
        return pages * self._page.mean + to_embed * self._passage.mean + to_store

    @property
    def in_hand(self) -> float:
        """Seconds of what is left that the page in hand takes; all of it if there is none."""
        return self._page.mean if self.pages > self.pages_read else self.left

    @property
    def share(self) -> float:
        """How much of the work is done, 0 to 1. Never falls, whatever turns up."""
        self._share = max(self._share, min(_MOST, self._done / (self._done + self.left)))
        return self._share
