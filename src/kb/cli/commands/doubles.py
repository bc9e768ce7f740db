"""`kb doubles`: lists documents of one path, and joins them if asked."""

from collections.abc import Callable

import click
import httpx
from rich.text import Text

from kb.cli.failure import FAILED, OK
from kb.cli.many import every_page
from kb.cli.options import with_engine
from kb.cli.session import Session
from kb.cli.terminal.asking import agree
from kb.cli.terminal.output import is_terminal, print_text
from kb.cli.terminal.safe_text import count, moment, one_line, size
from kb.cli.terminal.say import warn
from kb.client import EngineClient, Json, problem

_SHOWN = 50
_PAGE = 200


@click.command("doubles")
@click.option(
    "--join", "to_join", is_flag=True, help="Join each path into one document; asks first."
)
@click.option("--yes", is_flag=True, help="With --join: do not ask.")
@click.option("--copies", is_flag=True, help="List the same content under different paths instead.")
@with_engine
def doubles_command(session: Session, to_join: bool, yes: bool, copies: bool) -> int:
    """List files that are stored twice, and join them.

    A path names one file, but an older kb made a document of it for each set of tags. Joining
    keeps the oldest document, with the newest bytes and the tags of all.

    In a pipe the columns are path, keep or join, id, tags, bytes, time added, time of the last
    change, remark.
    """
    if copies and to_join:
        raise click.UsageError("--copies are documents of their own: only doubles can be joined")
    if yes and not to_join:
        raise click.UsageError("--yes answers what --join asks")
    if copies:
        found = session.run(lambda client: every_page(client.copies, "copies", _PAGE))
        session.show({"copies": found, "total": len(found)}, _show_copies)
        return OK
    found = session.run(lambda client: every_page(client.doubles, "doubles", _PAGE))
    if not to_join:
        session.show({"doubles": found, "total": len(found)}, _show_doubles)
        return OK
    return _join(session, found, yes)


def _show_doubles(answer: Json) -> None:
    groups = answer["doubles"]
    if is_terminal():
        _show_groups(groups, _path_line, _double_line)
        click.echo(f"{_counted(groups)}; kb doubles --join joins them" if groups else _NONE)
        return
    for group in groups:
        for document in group["documents"]:
            _print_line(document, *_role(group, document))


_NONE = "nothing is there twice"


def _show_copies(answer: Json) -> None:
    groups = answer["copies"]
    if is_terminal():
        _show_groups(groups, _content_line, _copy_line)
        times = count(len(groups), "content")
        click.echo(f"{times} under several paths" if groups else "no content is there twice")
        return
    for group in groups:
        for document in group["documents"]:
            _print_line(document, "copy", group["content_hash"])


def _role(group: Json, document: Json) -> tuple[str, str]:
    """What becomes of a document, and why."""
    newest = document["id"] == group["content_id"]
    if document["id"] == group["keep_id"]:
        return "keep", "the oldest, newest bytes" if newest else "the oldest"
    return "join", "newest bytes" if newest else ""


def _show_groups(
    groups: list[Json], head: Callable[[Json], str], line: Callable[[Json, Json], Text]
) -> None:
    for group in groups[:_SHOWN]:
        print_text(Text(one_line(head(group)), style="bold"))
        for document in group["documents"]:
            print_text(Text(f"{document['id']:>6}  ") + line(group, document))
    if len(groups) > _SHOWN:
        click.echo(f"… and {len(groups) - _SHOWN:,} more; in a pipe or with --json there are all")


def _path_line(group: Json) -> str:
    path: str = group["source_path"]
    return path


def _double_line(group: Json, document: Json) -> Text:
    role, remark = _role(group, document)
    line = Text().append(role, style="green" if role == "keep" else "")
    line.append(f"  {size(document['size_bytes'])}, {_times(document)}", style="dim")
    return line.append_text(_tags(document)).append(f"  {remark}".rstrip())


def _content_line(group: Json) -> str:
    return f"{size(group['documents'][0]['size_bytes'])}, {group['content_hash'][:12]}…"


def _copy_line(_group: Json, document: Json) -> Text:
    name = document["source_path"] or document["filename"] or document["title"]
    return Text(one_line(name)).append_text(_tags(document))


def _tags(document: Json) -> Text:
    return Text(f"  {one_line(', '.join(document['tags']))}".rstrip(), style="green")


def _times(document: Json) -> str:
    added = f"added {moment(document['created_at'])}"
    changed = document["updated_at"]
    return f"{added}, changed {moment(changed)}" if changed else added


def _print_line(document: Json, action: str, remark: str) -> None:
    cells = (
        document["source_path"] or "",
        action,
        str(document["id"]),
        ",".join(document["tags"]),
        str(document["size_bytes"]),
        document["created_at"],
        document["updated_at"] or "",
        remark,
    )
    click.echo("\t".join(map(one_line, cells)))


def _counted(groups: list[Json]) -> str:
    documents = sum(len(group["documents"]) for group in groups)
    return f"{count(documents, 'document')} of {count(len(groups), 'path')}"


def _join(session: Session, groups: list[Json], yes: bool) -> int:
    """Join what was listed, as it was listed: what has changed meanwhile is left alone."""
    if groups and not yes:
        if not session.as_json and is_terminal():
            _show_groups(groups, _path_line, _double_line)
        agree(f"Join {_counted(groups)} into {len(groups):,}?", "nothing was joined")
    joined: list[Json] = []
    failed: list[Json] = []

    async def work(client: EngineClient) -> None:
        for group in groups:
            ids = [document["id"] for document in group["documents"]]
            try:
                answer = await client.join_doubles(ids, group["updated_at"])
            except httpx.HTTPStatusError as error:
                if error.response.status_code != 409:
                    raise
                failed.append({"source_path": group["source_path"], "ids": ids, **problem(error)})
            else:
                joined.append(answer)

    try:
        session.run(work)
    finally:  # what was joined before the engine went away stays joined
        for failure in failed:
            warn(f"{one_line(failure['source_path'])}: {failure['message']}")
        session.show({"joined": joined, "failed": failed}, _show_joined)
    return FAILED if failed else OK


def _show_joined(answer: Json) -> None:
    for each in answer["joined"]:
        document, gone = each["document"], ", ".join(map(str, each["removed"]))
        cells = ("joined", str(document["id"]), document["source_path"], f"without {gone}")
        click.echo(("  " if is_terminal() else "\t").join(map(one_line, cells)))
    if is_terminal():
        removed = sum(len(each["removed"]) for each in answer["joined"])
        paths = count(len(answer["joined"]), "path")
        click.echo(f"joined {paths}: {count(removed, 'document')} less" if removed else _NONE)
