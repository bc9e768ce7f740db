"""`kb delete`: documents named in, nothing of them left."""

import sys

import click
import httpx

from kb.cli.documents import find
from kb.cli.failure import FAILED, OK, Failure
from kb.cli.options import ANY_PATH, with_engine
from kb.cli.say import warn
from kb.cli.session import Session
from kb.cli.text import count, one_line, size
from kb.client import EngineClient, Json, problem

_PHRASE = "DELETE ALL"


@click.command("delete")
@click.argument("documents", metavar="ID|UID|PATH...", nargs=-1, type=ANY_PATH)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option(
    "--all", "everything", is_flag=True, help=f"Everything; asks for the words {_PHRASE}."
)
@with_engine
def delete_command(
    session: Session, documents: tuple[str, ...], yes: bool, everything: bool
) -> int:
    """Delete documents for good.

    Their passages, tags and stored files are gone afterwards; the files they were added from are
    not touched.
    """
    if everything and documents:
        raise click.UsageError("Name documents or use --all, not both")
    if not everything and not documents:
        raise click.UsageError("Name the documents to delete, or use --all")
    if everything:
        if yes:
            raise click.UsageError(
                f"--all asks for the words {_PHRASE}; --yes does not answer that"
            )
        return _delete_everything(session)
    return _delete_some(session, documents, yes)


def _delete_everything(session: Session) -> int:
    counts = session.run(lambda client: client.status())["counts"]
    question = f"Delete all {count(counts['documents'], 'document')}? Type {_PHRASE}: "
    if ask(question) != _PHRASE:
        raise Failure(f"nothing was deleted: the answer was not {_PHRASE}")
    answer = session.run(lambda client: client.clear(_PHRASE))
    session.show(answer, _show_cleared)
    return OK


def _show_cleared(answer: Json) -> None:
    documents = answer.get("documents_removed", answer.get("documents"))
    freed = answer.get("bytes_freed")
    said = "deleted everything" if documents is None else f"deleted {count(documents, 'document')}"
    click.echo(said if freed is None else f"{said}, {size(freed)} freed")


def _delete_some(session: Session, references: tuple[str, ...], yes: bool) -> int:
    found, failed = session.run(lambda client: _look_up(client, references))
    for failure in failed:
        warn(failure["message"])
    if found and not yes:
        for document in found:
            passages = count(document["chunk_count"], "passage")
            click.echo(f"{document['id']}  {one_line(document['title'])}  ({passages})", err=True)
        if ask(f"Delete {count(len(found), 'document')} for good? [y/N] ").lower() not in (
            "y",
            "yes",
        ):
            raise Failure("nothing was deleted: answer y, or use --yes")
    deleted, failed_later = session.run(lambda client: _delete(client, found))
    for failure in failed_later:
        warn(failure["message"])
    failed += failed_later
    session.show({"deleted": deleted, "failed": failed}, _show_deleted)
    return FAILED if failed else OK


def _show_deleted(answer: Json) -> None:
    for gone in answer["deleted"]:
        click.echo(f"deleted document {gone['document_id']}: {one_line(gone['title'])}")


async def _look_up(
    client: EngineClient, references: tuple[str, ...]
) -> tuple[list[Json], list[Json]]:
    """The documents meant, each once, and what could not be found."""
    found: dict[int, Json] = {}
    failed: list[Json] = []
    for reference in references:
        try:
            document = await client.document(await find(client, reference))
        except Failure as failure:
            failed.append({"id": reference, "error": "not_found", "message": str(failure)})
        except httpx.HTTPStatusError as error:
            if error.response.status_code not in (404, 422):
                raise
            failed.append({"id": reference, **problem(error)})
        else:
            found[document["id"]] = document
    return list(found.values()), failed


async def _delete(client: EngineClient, documents: list[Json]) -> tuple[list[Json], list[Json]]:
    deleted: list[Json] = []
    failed: list[Json] = []
    for document in documents:
        try:
            deleted.append(await client.delete_document(document["id"]))
        except httpx.HTTPStatusError as error:
            failed.append({"id": document["id"], **problem(error)})
    return deleted, failed


def ask(question: str) -> str:
    """The answer to a question. It is asked on standard error: the output may go to a program."""
    click.echo(question, err=True, nl=False)
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):  # the end of the input: nobody pressed Enter
        click.echo(err=True)
    return answer.strip()
