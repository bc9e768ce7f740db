"""Which documents a command means: named ones, or those of a filter, which is never empty."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import click
from click.core import ParameterSource

from kb.cli.commands.documents import below_here
from kb.cli.completion import complete_documents
from kb.cli.many import every_page
from kb.cli.options import ANY_PATH, path_prefix_option, tags_option, type_option
from kb.cli.session import Session
from kb.client import EngineClient, Json


@dataclass(frozen=True, slots=True)
class Which:
    """Documents by their ids and paths, or by a filter."""

    references: tuple[str, ...]
    filters: Json

    @property
    def is_one(self) -> bool:
        return len(self.references) == 1

    def matching(self, session: Session) -> list[Json]:
        """Every document of the filter, at this moment."""

        async def work(client: EngineClient) -> Json:
            filters = {**self.filters}
            path = filters.pop("path_prefix", None)
            return await below_here(partial(_as_page, client, **filters), {"path_prefix": path})

        found: list[Json] = session.run(work)["documents"]
        return found


async def _as_page(client: EngineClient, **filters: Any) -> Json:
    found = await list_documents(client, **filters)
    return {"documents": found, "total": len(found)}


async def list_documents(client: EngineClient, **filters: Any) -> list[Json]:
    """Every document that the filters let through, oldest first: new ones do not shift the rest.

    One that is imported meanwhile may be old, and does; none is listed twice for that.
    """
    in_order = partial(client.documents, **filters, sort="created", order="asc")
    found = await every_page(in_order, "documents")
    return list({document["id"]: document for document in found}.values())


def with_which(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the documents it is about, named or by a filter, as a `Which`."""

    @click.argument(
        "references",
        metavar="[ID|UID|PATH]...",
        nargs=-1,
        type=ANY_PATH,
        shell_complete=complete_documents(),
    )
    @tags_option(help="Those with all of these tags.")
    @type_option("Those of this kind, such as note, pdf or spreadsheet.")
    @path_prefix_option("Those whose path starts with this.")
    @functools.wraps(function)
    def command(
        *args: Any,
        references: tuple[str, ...],
        tags: list[str],
        doc_type: str | None,
        path_prefix: str | None,
        **options: Any,
    ) -> Any:
        filters = {"tag": tags, "doc_type": doc_type, "path_prefix": path_prefix}
        refuse_empty("that would be everything", "tags", "doc_type", "path_prefix")
        given = {name: value for name, value in filters.items() if value}
        if references and given:
            raise click.UsageError("Name documents or use a filter, not both")
        return function(*args, which=Which(references, given), **options)

    return command


def refuse_empty(why: str, *names: str) -> None:
    """`--tags ""` is what a script gives whose variable is not set; it must not mean everything."""
    context = click.get_current_context()
    for parameter in context.command.params:
        name = parameter.name or ""
        if name not in names:
            continue
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            value = context.params[name]
            if not value or (isinstance(value, str) and not value.strip()):
                raise click.UsageError(f"{parameter.opts[0]} is empty: {why}")
