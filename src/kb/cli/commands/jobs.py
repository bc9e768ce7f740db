"""`kb jobs`: shows what is being ingested and its progress."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from kb.cli.completion import complete_jobs
from kb.cli.failure import FAILED, OK, Failure
from kb.cli.many import Many, every_page, one_or_many
from kb.cli.options import with_engine
from kb.cli.session import Session
from kb.cli.terminal.asking import agree
from kb.cli.terminal.job_rows import how_it_went, print_jobs, show_job, what
from kb.cli.terminal.job_watch import watch_lines, watch_screen
from kb.cli.terminal.output import is_terminal, print_rest
from kb.cli.terminal.safe_text import count
from kb.cli.terminal.say import Decorator, warn
from kb.client import EngineClient, Json

_STATUSES = ("queued", "running", "done", "failed", "cancelled")


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
    elif options["offset"]:
        raise click.UsageError("--offset is for the list; --watch begins with what runs")
    elif is_terminal() and not session.as_json:
        session.run(lambda client: watch_screen(client, options["status"], options["limit"]))
    else:
        session.run(lambda client: watch_lines(client, session.as_json, options["status"]))


def _refuse_options_before(context: click.Context) -> None:
    """An option before the command would be lost; better to say so than to ignore it."""
    for parameter in context.command.params:
        source = context.get_parameter_source(parameter.name or "")
        if source is ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"{parameter.opts[0]} belongs after {context.invoked_subcommand}"
            )


def show_jobs(page: Json) -> None:
    print_jobs(page["jobs"])
    print_rest(page, len(page["jobs"]), "job")


@jobs_command.command("show")
@click.argument(
    "jobs", metavar="ID|UID...", nargs=-1, required=True, shell_complete=complete_jobs()
)
@with_engine
def show_command(session: Session, jobs: tuple[str, ...]) -> int:
    """Show jobs."""
    return one_or_many(session, "jobs", jobs, EngineClient.job, _show_all)


def _show_all(jobs: list[Json]) -> None:
    for number, job in enumerate(jobs):
        if number:
            click.echo()
        show_job(job)


def _status_option(*statuses: str) -> Decorator:
    words = " or ".join(statuses)
    return click.option("--status", type=click.Choice(statuses), help=f"All that are {words}.")


_yes_option: Decorator = click.option("--yes", is_flag=True, help="With --status: do not ask.")


@jobs_command.command("cancel")
@click.argument(
    "jobs", metavar="[ID|UID]...", nargs=-1, shell_complete=complete_jobs("queued", "running")
)
@_status_option("queued", "running")
@_yes_option
@with_engine
def cancel_command(session: Session, jobs: tuple[str, ...], status: str | None, yes: bool) -> int:
    """Cancel jobs that have not ended."""
    chosen = _chosen(session, "Cancel", "cancelled", jobs, status, yes)
    return one_or_many(session, "jobs", chosen, _cancel, _show_cancelled)


class _Ended(Failure):
    error = "job_ended"


class _NotFailed(Failure):
    error = "job_not_failed"


async def _cancel(client: EngineClient, job: int | str) -> Json:
    """Of a failed job the engine would delete what it holds: that is another command."""
    found = await client.job(job)
    if found["status"] == "failed":
        raise _Ended(
            f"Job {found['id']} has ended already: failed. `kb jobs delete` deletes what it holds"
        )
    return await client.cancel_job(job)


def _show_cancelled(jobs: list[Json]) -> None:
    for job in jobs:
        click.echo(f"cancelled job {job['id']}")


@jobs_command.command("delete")
@click.argument("jobs", metavar="[ID|UID]...", nargs=-1, shell_complete=complete_jobs("failed"))
@_status_option("failed")
@_yes_option
@with_engine
def delete_command(session: Session, jobs: tuple[str, ...], status: str | None, yes: bool) -> int:
    """Delete the content that failed jobs keep for a retry."""
    chosen = _chosen(session, "Delete the content of", "changed", jobs, status, yes)
    return one_or_many(session, "jobs", chosen, _delete, _show_deleted)


async def _delete(client: EngineClient, job: int | str) -> Json:
    """A job that has not failed would be cancelled: that is another command."""
    found = await client.job(job)
    if found["status"] != "failed":
        raise _NotFailed(f"Job {found['id']} is {found['status']}: it has not failed")
    return await client.cancel_job(job)


def _show_deleted(jobs: list[Json]) -> None:
    for job in jobs:
        click.echo(f"deleted what job {job['id']} held: {what(job)}")


@jobs_command.command("retry")
@click.argument("jobs", metavar="[ID|UID]...", nargs=-1, shell_complete=complete_jobs("failed"))
@_status_option("failed")
@_yes_option
@click.option("--no-wait", is_flag=True, help="Do not wait until they end.")
@with_engine
def retry_command(
    session: Session, jobs: tuple[str, ...], status: str | None, yes: bool, no_wait: bool
) -> int:
    """Queue failed jobs again, and wait until they end."""
    chosen = _chosen(session, "Retry", "retried", jobs, status, yes)
    if len(jobs) == 1:
        return _retry_one(session, jobs[0], no_wait)
    queued, ended = Many("jobs"), Many("jobs")
    queued.run(session, chosen, EngineClient.retry_job)
    ended.failed = queued.failed
    if no_wait:
        ended.done = queued.done
        return ended.show(session, _show_retried)
    ids = [job["id"] for job in queued.done]
    code = ended.finish(session, ids, EngineClient.wait_for_job, _show_retried)
    return FAILED if any(job["status"] != "done" for job in ended.done) else code


def _retry_one(session: Session, job: str, no_wait: bool) -> int:
    async def work(client: EngineClient) -> Json:
        answer = await client.retry_job(job)
        return answer if no_wait else await client.wait_for_job(job)

    answer = session.run(work)
    session.show(answer, lambda job: click.echo(_ended(job)))
    return FAILED if answer["status"] in ("failed", "cancelled") else OK


def _show_retried(jobs: list[Json]) -> None:
    for job in jobs:
        click.echo(f"job {job['id']} {_ended(job)}")


def _ended(job: Json) -> str:
    said = how_it_went(job)
    return f"{job['status']}: {said}" if said else str(job["status"])


def _chosen(
    session: Session,
    verb: str,
    done: str,
    jobs: Sequence[str],
    status: str | None,
    yes: bool,
) -> Sequence[int | str]:
    """The jobs named, or all of a status, if the person means those."""
    if bool(jobs) == bool(status):
        raise click.UsageError("Name jobs or use --status" + (", not both" if jobs else ""))
    if jobs:
        return jobs
    found = session.run(lambda client: _with_status(client, status))
    undone = f"no job was {done}"
    if not found:
        warn(f"{undone}: none is {status}")
    elif not yes:
        question = f"{verb} {count(len(found), f'{status} job')}?"
        agree(question, undone, seen_only_now=True)
    return found


async def _with_status(client: EngineClient, status: str | None) -> list[int]:
    """All of them; the oldest first, as they would run."""
    found = await every_page(partial(client.jobs, status=status), "jobs")
    return sorted({job["id"] for job in found})
