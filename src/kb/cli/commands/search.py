"""`kb search`: finds passages."""

import re
import shutil
from functools import partial
from typing import Any

import click
from rich.text import Text

from kb.cli.commands.documents import below_here, place
from kb.cli.options import (
    ANY_PATH,
    min_relevance_option,
    moment_option,
    path_prefix_option,
    per_document_option,
    recency_option,
    tags_option,
    type_option,
    with_engine,
)
from kb.cli.session import Session
from kb.cli.terminal.output import is_terminal, print_text
from kb.cli.terminal.safe_text import one_line
from kb.cli.terminal.say import warn
from kb.cli.terminal.snippet import flowing, snippet
from kb.client import EngineClient, Json

_INDENT = 4
_LINES = 3
_WIDEST = 110
_NEAREST = 3
_MARK = "bold yellow"
_DEGRADED = {
    "model_loading": "the model is still loading: only words were searched",
    "search_timeout": "the search took too long: this is what was found until then"
    " (KB_SEARCH_SECONDS)",
}
# Types and formats in which each line is one of its own.
_IN_LINES = ("code", "csv", "json", "xml", "xlsx", "ods", "yaml", "yml", "toml", "ini", "log")


@click.command("search")
@click.argument("query", nargs=-1, required=True)
@click.option(
    "--top",
    metavar="N",
    type=click.IntRange(1, 100),
    help="At most N passages. [default: 10]",
)
@tags_option()
@type_option()
@click.option("--format", metavar="FORMAT", help="Only files with this ending.")
@click.option(
    "--source-path",
    metavar="PATH",
    type=ANY_PATH,
    help="Only the document with exactly this path.",
)
@path_prefix_option()
@moment_option(
    "--after",
    "created_after",
    "Only what was added since: 2026-01-31, 2026-01-31T12:00, or an age: 12h, 7d, 3w.",
)
@moment_option(
    "--before",
    "created_before",
    "Only what was added until then; a date includes its day.",
    at_end=True,
)
@per_document_option
@min_relevance_option
@recency_option
@click.option("--merge", is_flag=True, default=None, help="Join passages that follow each other.")
@click.option(
    "--plain",
    is_flag=True,
    default=None,
    help="Take the query literally: no quotes, -word or tag:.",
)
@click.option("--fts-only", is_flag=True, default=None, help="By words alone.")
@click.option("--vec-only", is_flag=True, default=None, help="By meaning alone.")
@click.option("--explain", is_flag=True, default=None, help="Show how each passage got its score.")
@click.option("--full", is_flag=True, help="Show whole passages.")
@with_engine
def search_command(
    session: Session,
    query: tuple[str, ...],
    tags: list[str],
    full: bool,
    source_path: str | None,
    path_prefix: str | None,
    **options: Any,
) -> None:
    """Find passages by words and by meaning.

    The query needs no quotes. The number after a title is the relevance, from 0 to 1.

    In the query, "words in quotes" must be adjacent, -word must not occur, and tag:name is a
    filter. Put such a query in single quotes: kb search '"apple tree" pruning tag:garden'
    """
    if options["fts_only"] and options["vec_only"]:
        raise click.UsageError("--fts-only and --vec-only exclude each other")
    words = " ".join(query)
    if not words.strip():
        raise click.UsageError("Say what to search for")

    async def work(client: EngineClient) -> Json:
        ask = partial(client.search, words, tags=tags or None, **options)
        return await below_here(ask, {"source_path": source_path, "path_prefix": path_prefix})

    answer = session.run(work)
    if why := answer.get("degraded"):
        warn(_DEGRADED.get(why, f"the search was not complete: {why}"))
    few = _NEAREST if options["top"] is None and is_terminal() else None
    session.show(answer, lambda found: show_hits(found, full, few))


def show_hits(answer: Json, full: bool, few: int | None) -> None:
    """The passages for people, best first; only a few where nothing fits well."""
    hits = answer["results"]
    if not hits:
        warn(f"nothing found for: {answer['query']}")
    elif unmet := answer.get("unmet"):
        without = "it" if len(unmet) == 1 else "them"
        warn(f"nothing found with {', '.join(unmet)}; without {without}:")
    if hits and answer.get("nothing_fits_well"):
        warn("nothing fits well; the nearest:")
        hits = hits[:few]
    for number, hit in enumerate(hits, start=1):
        if number > 1:
            click.echo()
        _show_hit(number, hit, full)


def _show_hit(number: int, hit: Json, full: bool) -> None:
    title = one_line(hit["title"] or hit["filename"] or "")
    relevance = hit["relevance"]
    shade = _shade(relevance)
    parts = ((f"{number:>2}  ", "dim"), (title, "bold"), (f"  {relevance:.2f}", shade))
    print_text(Text.assemble(*parts))
    print_text(_source(hit), indent=_INDENT)
    print_text(_passage(hit, full), indent=_INDENT)
    if hit.get("explain"):
        print_text(Text(f"why: {_reasons(hit['explain'])}", style="dim"), indent=_INDENT)


def _shade(relevance: float) -> str:
    return "green" if relevance >= 0.5 else "yellow" if relevance >= 0.2 else "dim"


def _source(hit: Json) -> Text:
    """Where a hit is from: path (or type), page, headings, document id, tags."""
    headings = _headings(hit)
    is_last_heading = headings and hit["location"] == f"section {headings[-1]}"
    location = None if is_last_heading else hit["location"]
    parts = [
        (one_line(hit["source_path"] or hit["filename"] or hit["doc_type"]), "cyan"),
        (one_line(place(hit["page"], location)), "cyan"),
        (one_line(" › ".join(headings)), ""),
        (f"document {hit['document_id']}", "dim"),
        (one_line(", ".join(hit["tags"])), "green"),
    ]
    line = Text()
    for words, style in parts:
        if words:
            line.append(" · " if line else "", style="dim")
            line.append(words, style=style)
    return line


def _headings(hit: Json) -> list[str]:
    """The headings above the passage, without the one that is the title anyway."""
    headings: list[str] = hit.get("headings") or []
    return headings[1:] if headings[:1] == [hit["title"]] else headings


def _passage(hit: Json, full: bool) -> Text:
    """The text with the found words marked. A pipe gets the whole passage on one line."""
    begins = _after_headings(hit)
    passage = hit["text"][begins:]
    marks = [(start - begins, end - begins) for start, end in hit.get("highlights") or []]
    if is_terminal():
        width = min(shutil.get_terminal_size().columns, _WIDEST) - _INDENT
        rows = len(passage) if full else _LINES
        in_lines = hit["doc_type"] in _IN_LINES or hit["format"] in _IN_LINES
        shown, spans = snippet(passage, marks, max(20, width), rows, in_lines)
    else:
        shown, spans = flowing(passage, marks)
    text = Text(shown)
    for start, end in spans:
        text.stylize(_MARK, start, end)
    return text


def _after_headings(hit: Json) -> int:
    """Where the passage continues after the title and headings that are shown above it anyway."""
    above = {_bare(heading) for heading in (hit["title"] or "", *(hit.get("headings") or []))}
    begins = 0
    for line in re.finditer(r"[^\n]+\n?", "" if hit["doc_type"] == "code" else hit["text"]):
        is_underline = begins and not set(line[0]) - set("=-~^ \n")
        if not is_underline and _bare(line[0]) not in above - {""}:
            return begins
        begins = line.end()
    return 0  # nothing but headings


def _bare(line: str) -> str:
    """A heading's words, however it is marked as one."""
    return " ".join(re.findall(r"\w+", line)).casefold()


def _reasons(explain: Any) -> str:
    """Whatever the engine tells, on one line: `words 0.79 · vector 0.51 · terms tide 0.79`."""
    if not isinstance(explain, dict):
        return _reason(explain)
    told = {name: value for name, value in explain.items() if value not in (None, [], {})}
    return " · ".join(f"{name.replace('_', ' ')} {_reason(value)}" for name, value in told.items())


def _reason(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{one_line(name)} {_reason(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_reason, value))
    return f"{value:.2f}" if isinstance(value, float) else one_line(str(value))
