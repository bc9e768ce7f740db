"""`kb backup` and `kb restore`: makes and restores backups."""

import os
from pathlib import Path
from typing import Any

import anyio
import click
from rich.progress import TextColumn

from kb.cli.at_rest import own_folder, run_at_rest
from kb.cli.failure import FAILED, OK, Failure, Misuse
from kb.cli.many import bar_of_steps
from kb.cli.options import ANY_PATH, moment_option, with_engine
from kb.cli.session import Session
from kb.cli.terminal.output import Column, print_fields, print_rows
from kb.cli.terminal.safe_text import count, moment, one_line, size
from kb.cli.terminal.say import json_option, print_json, warn
from kb.client import EngineClient, Json

_POLL_SECONDS = 0.2

_COLUMNS = [
    Column("taken", style="bold"),
    Column("documents", right=True),
    Column("originals", right=True),
    Column("size", right=True),
    Column("written", right=True),
    Column("folder", share=1, from_left=True),
]


@click.command("backup")
@click.argument("folder", required=False, type=ANY_PATH)
@click.option(
    "--keep", type=click.IntRange(1, 1000), metavar="N", help="Remove all but the newest N."
)
@click.option("--list", "only_list", is_flag=True, help="Only list the existing backups.")
@click.option(
    "--check", is_flag=True, help="Only read the backups in FOLDER, and compare every hash."
)
@click.option(
    "--data-dir", type=ANY_PATH, metavar="PATH", help="Back up a store whose engine is not running."
)
@with_engine
def backup_command(
    session: Session,
    folder: str | None,
    keep: int | None,
    only_list: bool,
    check: bool,
    data_dir: str | None,
) -> int:
    """Back up everything into a folder.

    The engine keeps running. FOLDER is on its machine, preferably on another disk, and by default
    KB_BACKUP_DIR. Only what has changed since the last backup is written.

    In a pipe the columns of --list are time, documents, originals, size, bytes written, folder.
    """
    if check:
        return _check(session, folder)
    if only_list:
        answer = session.run(lambda client: client.backups())
        session.show(answer, lambda found: _show_backups(_newest_first(found)))
        return OK
    if data_dir is not None:
        if folder is None:
            raise Misuse("name a folder for the backup")
        options = [os.path.abspath(folder), "--data-dir", os.path.abspath(data_dir)]
        options += ["--keep", str(keep)] if keep is not None else []
        made = run_at_rest("kb.engine.backup", options)
    else:
        if folder is not None and session.is_here():
            folder = os.path.abspath(folder)
        made = session.run(lambda client: _backed_up(client, folder, keep))
    session.show(made, _show_made)
    return OK


@click.command("restore")
@click.argument("backup", type=ANY_PATH)
@click.option(
    "--data-dir",
    type=ANY_PATH,
    metavar="PATH",
    help="The folder to restore into. [env var: KB_DATA_DIR]",
)
@click.option("--replace", is_flag=True, help="If there already is a store, move it aside.")
@moment_option("--as-of", "as_of", "The newest backup taken up to then.", at_end=True)
@click.option("--list", "only_list", is_flag=True, help="Only list the existing backups.")
@click.option("--dry-run", is_flag=True, help="Only read the backup, and compare every hash.")
@click.option(
    "--without-damaged", is_flag=True, help="Leave out originals that are damaged in the backup."
)
@json_option
def restore_command(
    backup: str,
    data_dir: str | None,
    replace: bool,
    as_of: str | None,
    only_list: bool,
    dry_run: bool,
    without_damaged: bool,
    as_json: bool,
) -> int:
    """Turn a backup into a store again.

    The engine of that folder must not be running. BACKUP is a folder made by `kb backup`, or one
    backup in it. A store that is replaced is kept in store-before-restore-….

    In a pipe the columns of --list are time, documents, originals, size, bytes written, folder.
    """
    options = [os.path.abspath(backup)]
    options += ["--as-of", as_of] if as_of else []
    if only_list:
        found = run_at_rest("kb.engine.restore", [*options, "--list"])
        print_json(found) if as_json else _show_backups(found[::-1])
        return OK
    target = Path(data_dir).absolute() if data_dir else own_folder()
    options += ["--dry-run"] if dry_run else ["--data-dir", str(target)]
    options += ["--replace"] if replace else []
    options += ["--without-damaged"] if without_damaged else []
    answer = run_at_rest("kb.engine.restore", options)
    if as_json:
        print_json(answer)
    elif dry_run:
        but_for = count(answer["left_out"], "original")
        whole = f"whole but for {but_for}: else" if answer["left_out"] else "whole:"
        click.echo(f"{one_line(answer['folder'])} is {whole} every hash is right")
    else:
        _show_restored(answer)
    return OK


async def _backed_up(client: EngineClient, folder: str | None, keep: int | None) -> Json:
    """The finished backup; with a bar on a terminal meanwhile."""
    run = await client.begin_backup(folder, keep)
    with bar_of_steps(TextColumn("{task.percentage:.0f} %")) as tell:
        while run["status"] == "running":
            await anyio.sleep(_POLL_SECONDS)
            run = (await client.backups())["run"] or run
            tell(run["step"], run["progress"], 1)
    if run["status"] == "failed":
        raise Failure(run["error"]["message"])
    backup: Json = run["backup"]
    return backup


def _check(session: Session, folder: str | None) -> int:
    if folder is None:
        raise Misuse("name the folder whose backups are to be checked")
    found = run_at_rest("kb.engine.backup", [os.path.abspath(folder), "--check"])
    session.show(found, _show_checked)
    return FAILED if any(each["trouble"] for each in found) else OK


def _show_made(backup: Json) -> None:
    missing = _missing(backup)
    print_fields(
        [
            ("backup", backup["folder"]),
            ("taken", moment(backup["taken_at"], seconds=True)),
            ("holds", f"{count(backup['documents'], 'document')}, {_originals(backup)}"),
            ("size", size(_size(backup))),
            ("written", size(backup["written_bytes"])),
        ]
    )
    if missing:
        warn(f"{count(missing, 'original')} of the store could not be read; run: kb verify")


def _show_restored(answer: Json) -> None:
    print_fields(
        [
            ("restored", answer["data_dir"]),
            ("as of", moment(answer["taken_at"], seconds=True)),
            ("holds", f"{count(answer['documents'], 'document')}, {_originals(answer)}"),
            ("before", answer["moved_aside"]),
        ]
    )
    if answer["missing"]:
        were = "was" if len(answer["missing"]) == 1 else "were"
        missing = count(len(answer["missing"]), "original")
        warn(f"{missing} {were} missing when the backup was made")
    for each in answer["left_out"]:
        warn(f"damaged in the backup, so without its original: {each}")


def _newest_first(listed: Json) -> list[Json]:
    """With those in their places that cannot be read."""
    unreadable = [
        {"folder": each["folder"], "unreadable": each["why"]}
        for each in listed.get("unreadable", [])
    ]
    return sorted(
        [*listed["backups"], *unreadable],
        key=lambda each: Path(each["folder"]).name,
        reverse=True,
    )


def _show_backups(backups: list[Json]) -> None:
    print_rows(_COLUMNS, map(_row, backups))
    for each in backups:
        if each.get("unreadable"):
            warn(f"{each['folder']} cannot be read: {each['unreadable']}")


def _row(backup: Json) -> tuple[Any, ...]:
    if backup.get("unreadable"):
        return ("unreadable", "", "", "", "", backup["folder"])
    return (
        moment(backup["taken_at"], seconds=True),
        backup["documents"],
        backup["originals"],
        size(_size(backup)),
        size(backup["written_bytes"]),
        backup["folder"],
    )


def _show_checked(found: list[Json]) -> None:
    for each in found:
        click.echo(f"{one_line(each['folder'])}: {'damaged' if each['trouble'] else 'whole'}")
        for trouble in each["trouble"]:
            click.echo(f"  {one_line(trouble)}")


def _originals(backup: Json) -> str:
    return count(backup["originals"], "original")


def _size(backup: Json) -> int:
    total: int = backup["database_bytes"] + backup["original_bytes"]
    return total


def _missing(backup: Json) -> int:
    """As the engine tells it, or as the manifest does."""
    found: int = backup.get("missing_originals", len(backup.get("missing", [])))
    return found
