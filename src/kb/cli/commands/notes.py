"""`kb addnote` and `kb updatenote`: writes and changes notes."""

import uuid

import click

from kb.cli.commands.documents import as_metadata, find
from kb.cli.completion import complete_documents
from kb.cli.failure import Failure
from kb.cli.options import ANY_PATH, tags_option, with_engine
from kb.cli.session import Session, read_text
from kb.cli.terminal.safe_text import one_line
from kb.client import EngineClient, Json


@click.command("addnote")
@click.argument("text", required=False)
@tags_option(help="Tags for the note.")
@click.option("--title", metavar="TEXT", help="Its title; by default the first line.")
@click.option("--source-path", metavar="PATH", help="A name to find it by, such as todo/today.")
@click.option("--metadata", multiple=True, metavar="NAME=VALUE", help="Metadata; may be repeated.")
@click.option("--no-wait", is_flag=True, help="Do not wait until it can be found.")
@with_engine
def addnote_command(
    session: Session,
    text: str | None,
    tags: list[str],
    title: str | None,
    source_path: str | None,
    metadata: tuple[str, ...],
    no_wait: bool,
) -> None:
    """Add a note.

    TEXT is the note; without it, or with -, standard input is read.
    """
    note = read_text(text)

    async def work(client: EngineClient) -> Json:
        job = await client.add_note(
            note,
            tags or None,
            title=title,
            source_path=source_path,
            metadata=as_metadata(metadata) if metadata else None,
            batch=str(uuid.uuid4()),
        )
        return job if no_wait else await client.wait_for_job(job["job_id"])

    answer = session.run(work)
    session.show(answer, _show_added)
    if answer["status"] in ("failed", "cancelled"):
        raise Failure(f"the note was not added: {how_it_ended(answer)}")


def _show_added(job: Json) -> None:
    if "job_id" in job:
        click.echo(f"queued as job {job['job_id']}")
    elif job["status"] == "done":
        twin = job.get("duplicate_of")
        also = f" (the same text as document {twin})" if twin else ""
        click.echo(f"{job['outcome']} note {job['document_id']}{also}")


def how_it_ended(job: Json) -> str:
    error = job.get("error")
    return one_line(error["message"]) if error else str(job["status"])


@click.command("updatenote")
@click.argument(
    "document",
    metavar="ID|UID|PATH",
    type=ANY_PATH,
    shell_complete=complete_documents(doc_type="note"),
)
@click.argument("text", required=False)
@click.option("--title", metavar="TEXT", help="A new title.")
@click.option(
    "--if-updated-at",
    metavar="TIME",
    help="Only if its updated_at is still this, so that nobody else's change is lost.",
)
@with_engine
def updatenote_command(
    session: Session,
    document: str,
    text: str | None,
    title: str | None,
    if_updated_at: str | None,
) -> None:
    """Replace the text of a note; its id stays.

    TEXT is the new text; without it, or with -, standard input is read.
    """
    note = read_text(text)

    async def work(client: EngineClient) -> Json:
        note_id = await find(client, document)
        return await client.update_note(note_id, note, title=title, if_updated_at=if_updated_at)

    session.show(
        session.run(work),
        lambda changed: click.echo(f"updated note {changed['id']}: {one_line(changed['title'])}"),
    )
