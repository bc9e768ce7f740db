"""`kb tag` and `kb tags`: the labels of one document, and of all."""

import click

from kb.cli.documents import find
from kb.cli.options import ANY_PATH, tags_option, with_engine
from kb.cli.output import Column, print_rows
from kb.cli.session import Session
from kb.cli.text import one_line
from kb.client import EngineClient, Json


@click.command("tag")
@click.argument("document", metavar="ID|UID|PATH", type=ANY_PATH)
@tags_option("--add", help="Add these.")
@tags_option("--remove", help="Take these off.")
@tags_option("--set", help="Replace all tags with these.")
@click.option("--clear", is_flag=True, help="Take every tag off.")
@with_engine
def tag_command(
    session: Session, document: str, add: list[str], remove: list[str], set: list[str], clear: bool
) -> None:
    """Show or change the tags of a document.

    Without an option the tags are shown, one to a line.
    """
    if (set or clear) and (add or remove or (set and clear)):
        raise click.UsageError("--set and --clear stand alone: they replace all tags")

    async def work(client: EngineClient) -> Json:
        document_id = await find(client, document)
        if set or clear:
            return await client.replace_tags(document_id, set)
        answer = None
        if add:
            answer = await client.add_tags(document_id, add)
        if remove:
            answer = await client.remove_tags(document_id, remove)
        return answer or await client.document(document_id)

    session.show(session.run(work), _show_tags)


def _show_tags(document: Json) -> None:
    for tag in document["tags"]:
        click.echo(one_line(tag))


@click.command("tags")
@with_engine
def tags_command(session: Session) -> None:
    """List every tag with its number of documents.

    In a pipe the columns are tag, number.
    """
    session.show(
        session.run(lambda client: client.tags()),
        lambda answer: print_rows(
            [Column("tag", style="green"), Column("documents", right=True)],
            [(row["tag"], row["count"]) for row in answer["tags"]],
        ),
    )
