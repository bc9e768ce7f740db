"""`kb tag` and `kb tags`: the tags of some documents, and of all."""

import click

from kb.cli.commands.documents import find
from kb.cli.failure import OK
from kb.cli.many import Many
from kb.cli.options import tags_option, with_engine
from kb.cli.session import Session
from kb.cli.terminal.asking import agree
from kb.cli.terminal.output import Column, print_rows
from kb.cli.terminal.safe_text import count, one_line
from kb.cli.terminal.say import warn
from kb.cli.which import Which, refuse_empty, with_which
from kb.client import EngineClient, Json


@click.command("tag")
@with_which
@tags_option("--add", help="Add these.")
@tags_option("--remove", help="Remove these.")
@tags_option("--set", help="Replace all tags with these.")
@click.option("--clear", is_flag=True, help="Remove every tag.")
@click.option("--yes", is_flag=True, help="With a filter: do not ask.")
@with_engine
def tag_command(
    session: Session,
    which: Which,
    add: list[str],
    remove: list[str],
    set: list[str],
    clear: bool,
    yes: bool,
) -> int:
    """Show or change the tags of documents.

    Name the documents, or choose them by --tags, --type and --path-prefix. Without --add, --remove,
    --set or --clear their tags are shown.
    """
    refuse_empty("name a tag, or remove every tag with --clear", "add", "remove", "set")
    if (set or clear) and (add or remove or (set and clear)):
        raise click.UsageError("use --set or --clear alone: they replace all tags")
    if not which.references and not which.filters:
        raise click.UsageError("Name the documents, or use a filter such as --tags")

    async def change(client: EngineClient, reference: int | str) -> Json:
        document_id = await find(client, str(reference))
        if set or clear:
            return await client.replace_tags(document_id, set)
        answer = None
        if add:
            answer = await client.add_tags(document_id, add)
        if remove:
            answer = await client.remove_tags(document_id, remove)
        return answer or await client.document(document_id, chunks=False)

    if which.is_one:
        session.show(session.run(lambda client: change(client, which.references[0])), _show_tags)
        return OK
    many = Many("documents")
    if which.references:
        return many.finish(session, which.references, change, _show_each)
    found = which.matching(session)
    if not (add or remove or set or clear):
        many.done = found
        return many.show(session, _show_each)
    _agree_to_change(len(found), yes)
    return many.finish(session, [document["id"] for document in found], change, _show_each)


def _agree_to_change(documents: int, yes: bool) -> None:
    if not documents:
        warn("nothing was changed: no document fits")
    elif not yes:
        question = f"Change the tags of {count(documents, 'document')}?"
        agree(question, "nothing was changed", seen_only_now=True)


def _show_tags(document: Json) -> None:
    for tag in document["tags"]:
        click.echo(one_line(tag))


def _show_each(documents: list[Json]) -> None:
    print_rows(
        [
            Column("id", right=True),
            Column("tags", style="green", share=1),
            Column("title", style="bold", share=1),
        ],
        [(each["id"], ",".join(each["tags"]), each["title"]) for each in documents],
    )


@click.command("tags")
@with_engine
def tags_command(session: Session) -> None:
    """List every tag with its number of documents.

    In a pipe the columns are tag, number.
    """
    session.show(
        session.run(lambda client: client.tags()),
        lambda answer: print_rows(
            [Column("tag", style="green", share=1), Column("documents", right=True)],
            [(row["tag"], row["count"]) for row in answer["tags"]],
        ),
    )
