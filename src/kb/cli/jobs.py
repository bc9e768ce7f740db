"""`kb jobs`: what is being ingested, and how far it got."""

from typing import Any

import anyio
import click
from click.core import ParameterSource
from rich.console import Group
from rich.live import Live
from rich.text import Text

from kb.cli.failure import FAILED, OK
from kb.cli.options import with_engine
from kb.cli.output import Column, console, is_terminal, print_fields, print_rows, table
from kb.cli.say import print_json
from kb.cli.session import Session
from kb.cli.text import count, duration, moment, one_line
from kb.client import EngineClient, Json

_STATUSES = ("queued", "running", "done", "failed", "cancelled")
_SHADES = {"done": "green", "failed": "red", "running": "yellow"}
_REFRESH_SECONDS = 1.0

_COLUMNS = [
    Column("job", right=True),
    Column("status"),
    Column("progress", right=True),
    Column("what", style="bold", share=2),
    Column("how it went", style="dim", share=3),
    Column("created", style="dim", least_width=100),
]


@click.group("jobs", invoke_without_command=True)
@click.option("--status", type=click.Choice(_STATUSES), help="Only jobs with this status.")
@click.option("--limit", metavar="N", type=click.IntRange(1, 1000), help="At most N. [default: 50]")
@click.option("--offset", metavar="N", type=click.IntRange(0), help="Leave out the first N.")
@click.option("--watch", is_flag=True, help="Keep showing them until Ctrl-C.")
@with_engine
def jobs_command(session: Session, watch: bool, **options: Any) -> None:
    """List, watch, cancel and retry ingestion jobs.

    Without a command the jobs are listed, newest first. In a pipe the columns are id, status,
    progress, what, how it went, time of creation; with --watch there is a line for each change.
    """
    context = click.get_current_context()
    if context.invoked_subcommand is not None:
        _refuse_options_before(context)
        return
    if not watch:
        session.show(session.run(lambda client: client.jobs(**options)), show_jobs)
    elif is_terminal() and not session.as_json:
        session.run(lambda client: _watch_table(client, options))
    else:
        session.run(lambda client: _watch_lines(client, session.as_json, options["status"]))


def _refuse_options_before(context: click.Context) -> None:
    """An option before the command would be lost; better to say so than to ignore it."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{parameter.opts[0]} belongs after {context.invoked_subcommand}"
            )


@jobs_command.command("show")
@click.argument("job", metavar="ID|UID")
@with_engine
def show_command(session: Session, job: str) -> None:
    """Show one job."""
    session.show(session.run(lambda client: client.job(job)), _show_job)


@jobs_command.command("cancel")
@click.argument("job", metavar="ID|UID")
@with_engine
def cancel_command(session: Session, job: str) -> None:
    """Cancel a job that has not ended."""
    session.show(
        session.run(lambda client: client.cancel_job(job)),
        lambda _: click.echo(f"cancelled job {job}"),
    )


@jobs_command.command("retry")
@click.argument("job", metavar="ID|UID")
@click.option("--no-wait", is_flag=True, help="Do not wait for its end.")
@with_engine
def retry_command(session: Session, job: str, no_wait: bool) -> int:
    """Queue a failed job again, and wait for its end."""

    async def work(client: EngineClient) -> Json:
        answer = await client.retry_job(job)
        return answer if no_wait else await client.wait_for_job(job)

    answer = session.run(work)
    session.show(answer, _show_retried)
    return FAILED if answer["status"] in ("failed", "cancelled") else OK


def _show_retried(job: Json) -> None:
    click.echo(f"{job['status']}: {how_it_went(job)}" if how_it_went(job) else job["status"])


def how_it_went(job: Json) -> str:
    """What there is to say about a job, on one line."""
    if job.get("error"):
        return one_line(job["error"]["message"])
    if job["status"] == "done":
        twin = job.get("duplicate_of")
        said = f"{job['outcome']} document {job['document_id']}"
        said += f", {count(job['chunk_count'] or 0, 'passage')}"
        return said + (f", the same as document {twin}" if twin else "")
    said = one_line(job.get("message") or job.get("step") or "")
    left = job.get("remaining_seconds")
    if job["status"] == "running" and left is not None:
        said += f", about {duration(left)} left" if said else f"about {duration(left)} left"
    return said


def _row(job: Json) -> tuple[Any, ...]:
    return (
        job["id"],
        Text(job["status"], style=_SHADES.get(job["status"], "")),
        f"{job['progress']:.0%}",
        job["filename"] or "note",
        how_it_went(job),
        moment(job["created_at"]) if is_terminal() else job["created_at"],
    )


def show_jobs(page: Json) -> None:
    """Jobs for people, a row each."""
    print_rows(_COLUMNS, [_row(job) for job in page["jobs"]])
    left = page["total"] - page["offset"] - len(page["jobs"])
    if is_terminal() and left > 0:
        click.echo(f"{count(left, 'job')} more; --offset {page['offset'] + len(page['jobs'])}")


def _show_job(job: Json) -> None:
    in_words = moment if is_terminal() else lambda time: time
    print_fields(
        [
            ("job", job["id"]),
            ("uid", job["uid"]),
            ("status", Text(job["status"], style=_SHADES.get(job["status"], ""))),
            ("what", job["filename"] or "note"),
            ("progress", f"{job['progress']:.0%}"),
            ("step", f"{job['step']} ({job['steps_done']} of {job['steps_total']})"),
            ("how it went", how_it_went(job)),
            ("created", in_words(job["created_at"])),
            ("started", in_words(job["started_at"])),
            ("finished", in_words(job["finished_at"])),
            ("took", duration(job["elapsed_seconds"])),
            ("attempts", job["attempts"]),
        ]
    )


async def _watch_table(client: EngineClient, options: Json) -> None:
    """The newest jobs, as many as fit, drawn anew every second."""
    screen = console()
    with Live(console=screen, screen=True, auto_refresh=False) as live:
        while True:
            rows = max(1, screen.height - 4)
            page = await client.jobs(**{**options, "limit": options["limit"] or rows})
            drawn = table(_COLUMNS, [_row(job) for job in page["jobs"]], screen.width)
            total = Text(f"{count(page['total'], 'job')}; Ctrl-C ends this", style="dim")
            live.update(Group(drawn, Text(), total), refresh=True)
            await anyio.sleep(_REFRESH_SECONDS)


async def _watch_lines(client: EngineClient, as_json: bool, status: str | None) -> None:
    """A line for each change of a job: columns for people's tools, JSON for programs."""
    async for event in client.events():
        job = event["data"]
        if not event["event"].startswith("job") or status not in (None, job.get("status")):
            continue
        if as_json:
            print_json(job, indent=None)
        else:
            print_rows(_COLUMNS, [_row(job)])
