"""Which job comes next, and how many come before one.

There are two queues: jobs whose text is read, and jobs with pictures, of which one at a time is
recognised; one job of each batch is in hand for that. In each queue batches take turns, one job
each. A job's turn is fixed when it is queued: the one after the last of its batch or, if nothing of
its batch waits, the next one. So a file sent alone waits for one job of a bulk import and not for
all, and the import waits for one job of each other batch. All of this is read from an index in
order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import apsw
import numpy as np

from kb.engine.store.file.database import Query, Row

SMALL = 64  # passages: a few seconds of work
MOST_IN_HAND = 6  # jobs with pictures, which take turns to recognise them

# The job whose turn it is; one that is soon done, and that nothing of the same batch is running
# beside; the one that came first, whatever its turn.
Which = Literal["next", "small", "oldest"]

_WAITING = "status IN ('queued', 'running')"
# Jobs about one path or one content run one after the other, in order of arrival: or an older
# version of a file might be stored last. A job that was at work twice when the engine died runs
# alone: if it was to blame, it takes no other job down with it.
_MAY_RUN = " AND ".join(
    [
        "NOT (attempts > 1 AND EXISTS (SELECT 1 FROM jobs WHERE status = 'running'))",
        *(
            f"NOT EXISTS (SELECT 1 FROM jobs AS other INDEXED BY {index} "
            f"WHERE {_WAITING} AND other.{column} = jobs.{column} "
            "AND (other.id < jobs.id OR other.status = 'running'))"
            for index, column in (
                ("jobs_by_path", "source_path"),
                ("jobs_by_content", "content_hash"),
            )
        ),
    ]
)
_ALONE_OF_ITS_BATCH = (
    "NOT EXISTS (SELECT 1 FROM jobs AS other "
    "WHERE other.status = 'running' AND other.batch IS jobs.batch)"
)

_ALONE_WITH_PICTURES = f"{_ALONE_OF_ITS_BATCH[:-1]} AND other.pictures = 1)"

_LINE = "SELECT id FROM jobs INDEXED BY jobs_in_line WHERE status = 'queued' AND pictures = {line}"
_HEADS = " UNION ALL ".join(
    f"SELECT id FROM ({_LINE.format(line=line)} ORDER BY turn, id LIMIT :limit)" for line in (0, 1)
)
# Which jobs are taken next, and in which order, to be followed by a limit: those that begin the two
# lines. Turns of one line say nothing about the other, so this is a way to show them, no more.
IN_TURN = f"id IN ({_HEADS}) ORDER BY turn, id"


@dataclass(frozen=True, slots=True)
class Place:
    """The place of a job in its queue: how many jobs are before it, including running ones, how
    many of these are queued, and the expected work of the queued ones and itself."""

    pictures: bool
    ahead: int
    queued: int
    expected: int


def next_turn(query: Query, batch: str | None, pictures: bool) -> int:
    """The turn of a job that is queued now."""
    [(last,)] = query(
        f"SELECT max(turn) FROM jobs WHERE batch = :batch AND pictures = :pictures AND {_WAITING}",
        batch=batch,
        pictures=pictures,
    )
    return max(last or 0, _taken(query, pictures)) + 1


def next_job(
    query: Query, columns: str, pictures: bool, which: Which, in_hand: int = 0
) -> Row | None:
    """The job of a line to be taken now, of those that may run; `in_hand` are jobs with pictures.

    One that came alone stands at the next turn, at latest: for `small`, and beside others with
    pictures, no more is looked at, or every job of a bulk import would be, again and again.
    """
    conditions = ["status = 'queued'", "pictures = :pictures", _MAY_RUN]
    values: dict[str, int] = {"pictures": pictures}
    if which == "small":
        conditions += ["expected <= :small", "turn <= :next", _ALONE_OF_ITS_BATCH]
        values |= {"small": SMALL, "next": _taken(query, pictures) + 1}
    elif pictures and in_hand:
        which = "next"
        conditions += ["turn <= :next", _ALONE_WITH_PICTURES]
        values |= {"next": _taken(query, pictures) + 1}
    index, order = ("jobs_by_age", "id") if which == "oldest" else ("jobs_in_line", "turn, id")
    rows = query(
        f"SELECT {columns} FROM jobs INDEXED BY {index} WHERE {' AND '.join(conditions)} "
        f"ORDER BY {order} LIMIT 1",
        **values,
    )
    return rows[0] if rows else None


def note_taken(query: Query, job_id: int) -> None:
    """Have the line know that it was this job's turn."""
    query(
        "UPDATE turns SET taken = max(taken, jobs.turn) FROM jobs "
        "WHERE jobs.id = :id AND turns.pictures = jobs.pictures",
        id=job_id,
    )


def last_in_line(query: Query) -> list[int]:
    """The ids of the last job in each line, if there is one."""
    lines = (
        query(f"{_LINE.format(line=line)} ORDER BY turn DESC, id DESC LIMIT 1") for line in (0, 1)
    )
    return [job_id for rows in lines for (job_id,) in rows]


def places(query: Query, job_ids: Sequence[int]) -> dict[int, Place]:
    """Where these stand, as far as they have not ended. Goes through each line once at most."""
    wanted = query(
        "SELECT pictures, status, turn, id, expected FROM jobs "
        f"WHERE id IN carray(:ids) AND {_WAITING} ORDER BY pictures, turn, id",
        ids=apsw.carray(np.array(job_ids, np.int64)),
    )
    found: dict[int, Place] = {}
    lines: dict[int, _Walk] = {}
    for pictures, status, turn, job_id, expected in wanted:
        if status == "running":
            found[job_id] = Place(bool(pictures), 0, 0, expected)
        else:
            walk = lines[pictures] = lines.get(pictures) or _Walk(query, pictures)
            walk.go_to(turn, job_id)
            ahead = walk.running + walk.passed
            found[job_id] = Place(bool(pictures), ahead, walk.passed, walk.expected + expected)
    return found


class _Walk:
    """Along a line from its head: how many jobs were passed, and the work expected of them."""

    def __init__(self, query: Query, pictures: int) -> None:
        self._query = query
        self._pictures = pictures
        self._since = (0, 0)
        self.passed = self.expected = 0
        [(self.running,)] = query(
            "SELECT count(*) FROM jobs WHERE status = 'running' AND pictures = :pictures",
            pictures=pictures,
        )

    def go_to(self, turn: int, job_id: int) -> None:
        [(jobs, expected)] = self._query(
            "SELECT count(*), coalesce(sum(expected), 0) FROM jobs INDEXED BY jobs_in_line "
            "WHERE status = 'queued' AND pictures = :pictures "
            "AND (turn, id) >= (:since_turn, :since_id) AND (turn, id) < (:turn, :id)",
            pictures=self._pictures,
            since_turn=self._since[0],
            since_id=self._since[1],
            turn=turn,
            id=job_id,
        )
        self._since = (turn, job_id)
        self.passed += jobs
        self.expected += expected


def _taken(query: Query, pictures: bool) -> int:
    [(turn,)] = query("SELECT taken FROM turns WHERE pictures = :pictures", pictures=pictures)
    return int(turn)
