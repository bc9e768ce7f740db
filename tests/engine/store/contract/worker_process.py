"""A worker of its own: takes jobs from a store that others use, too, and ends them.

`python worker_process.py KIND FOLDER CLOCK NAME`. It does what lines on its standard input say and
answers each with a line. The time is what stands in the file CLOCK.
"""

import sys
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path

from kinds_of_stores import KINDS, Made

from kb.engine.errors import JobLost


def main():
    kind, folder, clock = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    store = KINDS[kind](
        folder, clock=lambda: datetime.fromisoformat(clock.read_text()), name=sys.argv[4]
    )
    made = Made(store)
    taken = is_ours = None
    turns = ExitStack()
    for line in sys.stdin:
        if line == "take\n":
            taken = made.store.jobs.take()
            answer(taken.id if taken else None)
        elif line == "finish\n":
            answer(finish(made, taken))
        elif line == "sweep\n":
            is_ours = is_ours or turns.enter_context(store.sweeping.turn())
            answer(is_ours())
        elif line == "end sweeping\n":
            turns.close()
            answer()
        else:
            answer(*everything(made))
    store.close()


def everything(made):
    """The jobs that this worker has ended, until there were none to take."""
    while taken := made.store.jobs.take():
        assert finish(made, taken) == "added"
        yield taken.id


def finish(made, taken):
    try:
        return made.finish(taken, taken.request.text).job.outcome
    except JobLost:
        return "lost"


def answer(*words):
    print(*words, flush=True)


if __name__ == "__main__":
    main()
