"""How jobs are shown to people: as a row, a line, or in full."""

from collections.abc import Sequence
from typing import Any

from rich.text import Text

from kb.cli.terminal.output import Column, is_terminal, print_fields, print_rows
from kb.cli.terminal.safe_text import about, count, duration, moment, one_line, size
from kb.client import ENDED, Json

SHADES = {"done": "green", "failed": "red", "running": "yellow"}

# Of a screen: the time left stands by itself, so that it is never cut.
COLUMNS = [
    Column("job", right=True),
    Column("status"),
    Column("done", right=True),
    Column("left", right=True, may_be_empty=True),
    Column("what", style="bold", share=2),
    Column("how it went", style="dim", share=3),
    Column("created", style="dim", least_width=100),
]


def row(job: Json) -> tuple[Any, ...]:
    """The cells of a job below `COLUMNS`."""
    left = job.get("remaining_seconds")
    return (
        job["id"],
        Text(job["status"], style=SHADES.get(job["status"], "")),
        f"{job['progress']:.0%}",
        about(left).removeprefix("about ") if left and job["status"] not in ENDED else "",
        what(job),
        in_short(job),
        moment(job["created_at"]),
    )


def in_short(job: Json) -> str:
    """How it went without what stands before it: the name of the file, the time left."""
    if job["status"] == "running":
        return _how_far(job)
    return how_it_went(job).removeprefix(f"{what(job)} ")


def print_jobs(jobs: Sequence[Json]) -> None:
    """A table for people; for programs id, status, progress, what, how it went and its time."""
    if is_terminal():
        print_rows(COLUMNS, [row(job) for job in jobs])
        return
    for job in jobs:
        share = f"{job['progress']:.0%}"
        cells = (job["id"], job["status"], share, what(job), how_it_went(job), job["created_at"])
        print_rows([], [cells])


def what(job: Json) -> str:
    return one_line(job["filename"] or "note")


def how_it_went(job: Json) -> str:
    if job.get("error"):
        return one_line(job["error"]["message"])
    if job.get("changed") == ["tags"]:  # as the engine tells that nothing else was
        return f"tags added to document {job['document_id']}"
    if job["status"] == "done":
        twin = job.get("duplicate_of")
        said = f"{job['outcome']} document {job['document_id']}"
        said += f", {count(job['chunk_count'] or 0, 'passage')}"
        return said + (f", the same as document {twin}" if twin else "")
    left = job.get("remaining_seconds")
    if job["status"] != "running" or left is None:
        return _how_far(job)
    return ", ".join(filter(None, [_how_far(job), f"{about(left)} left"]))


def _how_far(job: Json) -> str:
    said = one_line(job.get("message") or job.get("step") or "")
    return "" if said == job["status"] else said


def show_job(job: Json) -> None:
    in_words = moment if is_terminal() else lambda time: time
    print_fields(
        [
            ("job", job["id"]),
            ("uid", job["uid"]),
            ("status", Text(job["status"], style=SHADES.get(job["status"], ""))),
            ("what", what(job)),
            ("progress", f"{job['progress']:.0%}"),
            ("step", f"{job['step']} ({job['steps_done']} of {job['steps_total']})"),
            ("how it went", how_it_went(job)),
            ("created", in_words(job["created_at"])),
            ("started", in_words(job["started_at"])),
            ("finished", in_words(job["finished_at"])),
            ("took", duration(job["elapsed_seconds"])),
            ("attempts", job["attempts"]),
            ("holds", size(job["held_bytes"]) if job.get("held_bytes") else None),
        ]
    )
