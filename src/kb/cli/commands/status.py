"""`kb status`: shows the state of the engine."""

from typing import Any

import click
from rich.text import Text

from kb.cli.commands.model import describe_change
from kb.cli.options import with_engine
from kb.cli.session import Session
from kb.cli.terminal.output import print_fields
from kb.cli.terminal.safe_text import count, duration, moment, one_line, size
from kb.client import Json

_SHADES = {"healthy": "green", "degraded": "yellow", "failed": "red"}


@click.command("status")
@with_engine
def status_command(session: Session) -> None:
    """Show the state of the engine."""
    session.show(
        session.run(lambda client: client.status()), lambda answer: show_status(session.url, answer)
    )


def show_status(url: str, status: Json) -> None:
    """The state of the engine for people, its troubles first."""
    health, model, store = status["health"], status["model"], status.get("store") or {}
    print_fields(
        [
            ("engine", f"{url}, version {status['version']}"),
            ("health", Text(health["status"], style=_SHADES.get(health["status"], ""))),
            *(("issue", Text(one_line(issue["message"]), "yellow")) for issue in health["issues"]),
            ("running for", duration(status.get("uptime_seconds"))),
            ("documents", _contents(status["counts"])),
            ("queue", ", ".join(f"{n:,} {name}" for name, n in status["queue"].items())),
            ("model", f"{model['name']}, {model['state']}, on {model['device']}"),
            ("change", describe_change(model["change"]) if model.get("change") else None),
            ("checked", _check(status.get("check"), health["status"])),
            ("store", store.get("path")),
            ("on disk", _disk(store)),
            ("sandbox", _sandbox(status["sandbox"]) if status.get("sandbox") else None),
            ("backup", _backup(status.get("backup") or {})),
        ]
    )


def _sandbox(locks: Json) -> str:
    """How the readers of files are locked in."""
    parts = [
        f"Landlock {locks['landlock']}" if locks["landlock"] else "no Landlock",
        "seccomp" if locks["seccomp"] else "no seccomp",
        "limits" if locks["limits"] else "few limits",
        "no network" if locks["network_closed"] else "network open",
    ]
    reads = "" if locks["reads_files"] else "; no file is read"
    return f"{', '.join(parts)} ({locks['mode']}){reads}"


def _contents(counts: Json) -> str:
    documents = f"{counts['documents']:,}, of which {count(counts['notes'], 'note')}"
    parts = [documents, count(counts["chunks"], "passage"), count(counts["tags"], "tag")]
    if counts["vectors_missing"]:
        parts.append(f"{count(counts['vectors_missing'], 'passage')} not yet found by meaning")
    if counts.get("words_outdated"):
        parts.append(f"{count(counts['words_outdated'], 'passage')} to be indexed by new rules")
    return "; ".join(parts)


def _backup(backup: Json) -> str:
    """Nothing is said where nobody ever asked for backups."""
    if not backup or not (backup["folder"] or backup["last_at"] or backup["running"]):
        return ""
    age = backup["age_seconds"]
    last = "none yet" if age is None else f"{duration(age)} ago"
    elsewhere = backup.get("last_folder")
    if elsewhere and backup["folder"] and elsewhere != backup["folder"]:
        last += f" into {elsewhere}"
    every = f", every {backup['every_hours']} h into {backup['folder']}" if backup["folder"] else ""
    return f"{last}{every}{', one is being made' if backup['running'] else ''}"


def _check(check: Json | None, health: str) -> str | None:
    """When all that is stored was last checked in the background, and what that found."""
    if check is None:
        return None
    if check["finished_at"] is None:
        return "for the first time just now" if check["state"] == "running" else "not yet"
    nothing = "nothing was wrong then" if health == "failed" else "all is well"
    found = count(check["findings"], "finding") if check["findings"] else nothing
    again = ", and again just now" if check["state"] == "running" else ""
    return f"{moment(check['finished_at'])}: {found}{again}"


def _disk(store: Json) -> str:
    older = store.get("aside_stores", 0)
    parts: list[tuple[str, Any]] = [
        ("database", store.get("size_bytes")),
        ("files", store.get("files_bytes")),
        ("reserve", store.get("reserve_bytes")),
        ("of failed jobs", store.get("failed_bytes") or None),
        (f"of {count(store.get('lost_files', 0), 'lost file')}", store.get("lost_bytes") or None),
        (f"of {count(older, 'older store')}", store["aside_bytes"] if older else None),
        ("free", store.get("free_bytes")),
    ]
    return ", ".join(f"{size(number)} {name}" for name, number in parts if number is not None)
