"""`kb delete`: deletes documents for good."""

import click
from rich.text import Text

from kb.cli.commands.documents import find
from kb.cli.failure import OK, Failure
from kb.cli.many import Many
from kb.cli.options import with_engine
from kb.cli.session import Session
from kb.cli.terminal.asking import agree, ask
from kb.cli.terminal.output import console
from kb.cli.terminal.safe_text import count, one_line, size
from kb.cli.terminal.say import warn
from kb.cli.which import Which, with_which
from kb.client import EngineClient, Json

_PHRASE = "DELETE ALL"
_FEW = 10
_UNDONE = "nothing was deleted"


@click.command("delete")
@with_which
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--all", "everything", is_flag=True, help=f"Everything; asks for the words {_PHRASE}."
)
@with_engine
def delete_command(session: Session, which: Which, yes: bool, everything: bool) -> int:
    """Delete documents for good.

    Their passages, tags and stored files are gone afterwards; the files they were added from are
    not touched. Name the documents, or choose them by --tags, --type and --path-prefix.
    """
    if everything and (which.references or which.filters):
        raise click.UsageError("Name documents or use --all, not both")
    if not everything and not which.references and not which.filters:
        raise click.UsageError(
            "Name the documents to delete, use a filter such as --tags, or --all"
        )
    if everything:
        if yes:
            raise click.UsageError(
                f"--all asks for the words {_PHRASE}; --yes does not answer that"
            )
        return _delete_everything(session)
    return _delete_some(session, which, yes)


def _delete_everything(session: Session) -> int:
    counts = session.run(lambda client: client.status())["counts"]
    question = f"Delete all {count(counts['documents'], 'document')}? Type {_PHRASE}: "
    if ask(question) != _PHRASE:
        raise Failure(f"{_UNDONE}: the answer was not {_PHRASE}")
    answer = session.run(lambda client: client.clear(_PHRASE))
    session.show(answer, _show_cleared)
    return OK


def _show_cleared(answer: Json) -> None:
    documents = answer.get("documents_removed", answer.get("documents"))
    freed = answer.get("bytes_freed")
    said = "deleted everything" if documents is None else f"deleted {count(documents, 'document')}"
    click.echo(said if freed is None else f"{said}, {size(freed)} freed")


def _delete_some(session: Session, which: Which, yes: bool) -> int:
    """Those found now and no others, however long the answer takes."""

    async def look_up(client: EngineClient, reference: str) -> Json:
        return await client.document(await find(client, reference), chunks=False)

    found, gone = Many("documents"), Many("deleted")
    if which.filters:
        found.done = which.matching(session)
        if not found.done:
            warn(f"{_UNDONE}: no document fits")
    else:
        found.run(session, which.references, look_up)
        gone.failed = found.failed
    documents = {document["id"]: document for document in found.done}
    if documents and not yes:
        question = f"Delete {count(len(documents), 'document')} for good?"
        _show_found(list(documents.values()), _FEW if which.filters else None)
        agree(question, _UNDONE, seen_only_now=bool(which.filters))
    return gone.finish(session, list(documents), EngineClient.delete_document, _show_deleted)


def _show_found(documents: list[Json], most: int | None) -> None:
    screen = console(err=True)
    for document in documents[:most]:
        number, title = f"{document['id']}  ", Text(one_line(document["title"]))
        passages = f"  ({count(document['chunk_count'], 'passage')})"
        if screen.is_terminal:
            title.truncate(screen.width - len(number + passages), overflow="ellipsis")
        click.echo(f"{number}{title.plain}{passages}", err=True)
    if most is not None and len(documents) > most:
        click.echo(f"… and {len(documents) - most:,} more", err=True)


def _show_deleted(deleted: list[Json]) -> None:
    for gone in deleted:
        click.echo(f"deleted document {gone['document_id']}: {one_line(gone['title'])}")
