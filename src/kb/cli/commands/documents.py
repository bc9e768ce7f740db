"""`kb get`, `list` and `edit`: documents, one and many."""

import os
import re
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any

import anyio
import click
from rich.text import Text

from kb.cli.completion import complete_documents
from kb.cli.failure import OK, Failure
from kb.cli.many import one_or_many
from kb.cli.options import ANY_PATH, path_prefix_option, tags_option, type_option, with_engine
from kb.cli.session import Session
from kb.cli.terminal.output import (
    Column,
    is_terminal,
    print_body,
    print_fields,
    print_rest,
    print_rows,
)
from kb.cli.terminal.safe_text import count, moment, one_line, size
from kb.client import EngineClient, Json
from kb.source_path import is_readable, readable

_WITHIN = re.compile(r"(lines?|rows?|section) ")
_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


async def find(client: EngineClient, reference: str) -> int | str:
    """The id (or uid) of the document a person means: by id, by uid, or by source path.

    A path is looked up as it was typed, since a note's source path is any text, and then as the
    absolute path that `kb add` sends. `./123` means a file of that name.
    """
    if (reference.isascii() and reference.isdigit()) or _UID.fullmatch(reference):
        return reference
    here = os.path.abspath(reference)
    for path in filter(is_readable, dict.fromkeys((reference, readable(here), here))):
        page = await client.documents(source_path=path, limit=20)
        found = page["documents"]
        if len(found) == 1:
            document_id: int = found[0]["id"]
            return document_id
        if found:
            ids = ", ".join(str(document["id"]) for document in found)
            raise Failure(f"{page['total']} documents have the path {path}; use an id: {ids}")
    raise Failure(f"no document has the path {readable(reference)}; kb list shows what there is")


async def below_here(ask: Callable[..., Awaitable[Json]], paths: dict[str, str | None]) -> Json:
    """A page or an answer for these paths: as they were typed, else from the current folder."""
    if not all(path is None or is_readable(path) for path in paths.values()):
        paths = {name: path and readable(path) for name, path in paths.items()}
    answer = await ask(**paths)
    from_here = {name: path and absolute(path) for name, path in paths.items()}
    return answer if answer["total"] or from_here == paths else await ask(**from_here)


def absolute(path: str) -> str:
    """A path of this folder as `kb add` sends it; a last slash stays, since it tells a folder."""
    is_folder = path.endswith(("/", os.sep))
    return os.path.join(os.path.abspath(path), "") if is_folder else os.path.abspath(path)


@click.command("get")
@click.argument(
    "documents",
    metavar="ID|UID|PATH...",
    nargs=-1,
    required=True,
    type=ANY_PATH,
    shell_complete=complete_documents(),
)
@click.option(
    "--file",
    "target",
    metavar="OUT",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Save the original file there (a folder: under its own name; -: to standard output).",
)
@click.option("--text", "only_text", is_flag=True, help="Print the text alone.")
@click.option("--how", is_flag=True, help="Say how the file was read, and what is missing.")
@click.option("--force", is_flag=True, help="With --file: overwrite a file that exists.")
@with_engine
def get_command(
    session: Session,
    documents: tuple[str, ...],
    target: Path | None,
    only_text: bool,
    how: bool,
    force: bool,
) -> int:
    """Show documents, or save their original files.

    A document is named by its id, its uid or its source path.
    """
    if target is not None:
        return _save(session, documents, target, force)

    async def look_up(client: EngineClient, reference: str) -> Json:
        return await client.document(await find(client, reference), chunks=not how)

    def show(found: list[Json]) -> None:
        for number, document in enumerate(found):
            if number:
                click.echo()
            if how:
                show_reading(document)
            elif only_text:
                print_body(full_text(document))
            else:
                show_document(document)

    return one_or_many(session, "documents", documents, look_up, show)


def _save(session: Session, documents: tuple[str, ...], target: Path, force: bool) -> int:
    if len(documents) > 1 and not target.is_dir():
        raise click.UsageError("Several files need a folder to be saved in: --file FOLDER")
    if str(target) == "-":
        session.run(lambda client: _to_stdout(client, documents[0]))
        return OK

    async def save(client: EngineClient, reference: str) -> Json:
        document_id = await find(client, reference)
        path = target
        if target.is_dir():
            whole = await client.document(document_id, chunks=False)
            name = Path(whole["filename"] or whole["title"]).name or str(document_id)
            path = target / name.replace("\\", "_")
        if path.exists() and not force:
            raise Failure(f"{path} exists; use --force to overwrite it")
        return await client.document_file(document_id, path)

    def show(files: list[Json]) -> None:
        for saved in files:
            click.echo(f"saved {saved['path']}")

    try:
        return one_or_many(session, "files", documents, save, show)
    except BrokenPipeError:  # of standard output: the files are saved
        raise
    except OSError as error:
        raise Failure(f"cannot write {target}: {error.strerror}") from None


async def _to_stdout(client: EngineClient, document: str) -> None:
    async with aclosing(client.document_bytes(await find(client, document))) as pieces:
        async for piece in pieces:
            await anyio.to_thread.run_sync(sys.stdout.buffer.write, piece)
    sys.stdout.buffer.flush()


def full_text(document: Json) -> str:
    """A note's text, or a file's passages put together again, with a line where a page begins.

    The passages of a page, joined, are the page: nothing has to be added between them.
    """
    if document.get("text") is not None:
        text: str = document["text"]
        return text
    is_web_page = document.get("doc_type") == "html"

    def page_of(chunk: Json) -> str:
        """Lines and sections are where a passage stands in its page, not pages of their own."""
        location = chunk.get("location") or ""
        is_within = is_web_page or _WITHIN.match(location)
        return place(chunk.get("page"), None if is_within else location)

    pages = [
        (name, "".join(chunk["text"] for chunk in chunks))
        for name, chunks in groupby(document["chunks"], page_of)
    ]
    if len(pages) == 1:
        return pages[0][1]
    return "\n\n".join(f"[{name}]\n{text}" if name else text for name, text in pages)


def place(page: Any, location: Any) -> str:
    """A place in a document, in words; a location names the page if there is one."""
    if location:
        return str(location)
    return f"page {page}" if page is not None else ""


def show_document(document: Json) -> None:
    metadata = document.get("metadata") or {}
    plain = not is_terminal()
    created, updated = document["created_at"], document["updated_at"]
    print_fields(
        [
            ("title", Text(one_line(document["title"]), style="bold")),
            ("id", document["id"]),
            ("uid", document["uid"]),
            ("type", document["doc_type"]),
            ("file", document["filename"]),
            ("path", document["source_path"]),
            ("tags", ", ".join(document["tags"])),
            ("size", size(document["size_bytes"])),
            ("passages", document["chunk_count"]),
            ("created", created if plain else moment(created)),
            ("updated", updated if plain else moment(updated)),
            *((f"metadata {name}", value) for name, value in metadata.items()),
        ]
    )
    text = full_text(document)
    if text:
        click.echo()
        print_body(text)


def show_reading(document: Json) -> None:
    how = document["how_read"]
    title = ("title", Text(one_line(document["title"]), style="bold"))
    if how is None:
        why = "a note is its own text" if document["doc_type"] == "note" else "nobody noted it"
        print_fields([title, ("id", document["id"]), ("read by", f"– ({why})")])
        return
    print_fields(
        [
            title,
            ("id", document["id"]),
            ("read by", how["reader"]),
            ("pages", how["pages"]),
            ("pages read by OCR", how["pages_by_ocr"] or None),
            ("pages missing", how["pages_missing"] or None),
            ("pictures read", how["pictures_read"] or None),
            ("pictures waiting", how["pictures_waiting"] or None),
            ("words", f"{how['words']:,}"),
            ("share of the file", share(how["share"])),
            *(("warning", warning) for warning in how["warnings"]),
        ]
    )


def share(of_words: float | None) -> str:
    """A share in percent, never rounded up to all."""
    if of_words is None:
        return "unknown"
    return "100 %" if of_words >= 1 else f"{min(of_words * 100, 99.9):.1f} %"


@click.command("list")
@tags_option()
@type_option()
@click.option("--format", "file_format", metavar="FORMAT", help="Only files with this ending.")
@path_prefix_option()
@click.option(
    "--warnings", is_flag=True, help="Only documents that were not read completely, and why."
)
@click.option(
    "--sort",
    type=click.Choice(["created", "updated", "title", "filename", "size"]),
    help="What to sort by. [default: updated]",
)
@click.option(
    "--order", type=click.Choice(["asc", "desc"]), help="Ascending or descending. [default: desc]"
)
@click.option("--limit", metavar="N", type=click.IntRange(1, 1000), help="At most N. [default: 50]")
@click.option("--offset", metavar="N", type=click.IntRange(0), help="Leave out the first N.")
@with_engine
def list_command(
    session: Session,
    tags: list[str],
    doc_type: str | None,
    file_format: str | None,
    path_prefix: str | None,
    warnings: bool,
    **options: Any,
) -> None:
    """List documents, newest first.

    In a pipe the columns are id, title, type, tags, bytes, time of the last change, path.
    """
    options |= {"tag": tags or None, "doc_type": doc_type, "format": file_format}
    options |= {"warnings": warnings or None}

    async def work(client: EngineClient) -> Json:
        return await below_here(partial(client.documents, **options), {"path_prefix": path_prefix})

    session.show(session.run(work), show_warnings if warnings else show_documents)


def show_documents(page: Json) -> None:
    documents = page["documents"]
    in_words = moment if is_terminal() else str
    print_rows(
        [
            Column("id", right=True),
            Column("title", style="bold", share=3),
            Column("type", style="cyan"),
            Column("tags", style="green", share=1, least_width=70),
            Column("size", right=True, least_width=100),
            Column("changed", style="dim", least_width=60),
            Column("path", style="dim", share=4, from_left=True, least_width=110),
        ],
        [
            (
                document["id"],
                document["title"],
                document["doc_type"],
                ",".join(document["tags"]),
                size(document["size_bytes"]) if is_terminal() else document["size_bytes"],
                in_words(document["updated_at"] or document["created_at"]),
                document["source_path"],
            )
            for document in documents
        ],
    )
    print_rest(page, len(documents), "document")


def _amount(how: Json) -> str:
    """How much was read, and where it is known what share of the file that is."""
    words = count(how["words"], "word")
    return words if how["share"] is None else f"{words}, {share(how['share'])}"


def show_warnings(page: Json) -> None:
    """Documents that were not read completely, a row for each warning."""
    documents = page["documents"]
    print_rows(
        [
            Column("id", right=True),
            Column("title", style="bold", share=2),
            Column("read", right=True),
            Column("warning", style="yellow", share=5),
        ],
        [
            (document["id"], document["title"], _amount(document["how_read"]), warning)
            for document in documents
            for warning in document["how_read"]["warnings"]
        ],
    )
    print_rest(page, len(documents), "document")


@click.command("edit")
@click.argument(
    "document", metavar="ID|UID|PATH", type=ANY_PATH, shell_complete=complete_documents()
)
@click.option("--title", metavar="TEXT", help="The new title.")
@click.option(
    "--metadata",
    multiple=True,
    metavar="NAME=VALUE",
    help="The new metadata, replacing all there was; may be repeated.",
)
@with_engine
def edit_command(
    session: Session, document: str, title: str | None, metadata: tuple[str, ...]
) -> None:
    """Change the title or the metadata of a document.

    To change the text of a note, use kb updatenote.
    """
    changes: Json = {} if title is None else {"title": title}
    if metadata:
        changes["metadata"] = as_metadata(metadata)
    if not changes:
        raise click.UsageError("Say what to change: --title or --metadata")

    async def work(client: EngineClient) -> Json:
        return await client.update_document(await find(client, document), **changes)

    session.show(
        session.run(work),
        lambda changed: click.echo(
            f"changed document {changed['id']}: {one_line(changed['title'])}"
        ),
    )


def as_metadata(pairs: tuple[str, ...]) -> dict[str, str]:
    """`NAME=VALUE` texts as an object."""
    metadata: dict[str, str] = {}
    for pair in pairs:
        name, separator, value = pair.partition("=")
        if not separator or not name.strip():
            raise click.BadParameter(f"{pair!r} is not NAME=VALUE", param_hint="--metadata")
        if name.strip() in metadata:
            raise click.BadParameter(f"{name.strip()!r} is given twice", param_hint="--metadata")
        metadata[name.strip()] = value
    return metadata
