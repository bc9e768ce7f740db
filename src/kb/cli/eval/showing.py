"""Prints results as tables and lines."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePath

import click
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.text import Text

from kb.cli.commands.documents import place
from kb.cli.eval.measures import MEASURES
from kb.cli.many import bar_with
from kb.cli.terminal.output import Column, console, is_terminal, print_rows, print_text
from kb.cli.terminal.safe_text import count, one_line
from kb.client import Json

_INDENT = 6
_SHADES = {"not_indexed": "red", "filtered": "yellow", "ranked_low": "cyan"}
_MODES = {
    "hybrid": "by words and by meaning",
    "fts-only": "by words alone",
    "vec-only": "by meaning alone",
}
_LONGEST_PASSAGE = 60


@contextmanager
def bar(what: str, total: int) -> Iterator[Callable[[], None]]:
    """How far the questions are; to be called after each."""
    name = TextColumn("{task.description}", markup=False)
    shown = (name, BarColumn(bar_width=24), MofNCompleteColumn(), TimeElapsedColumn())
    with bar_with(*shown) as progress:
        task = progress.add_task(what, total=total)
        yield lambda: progress.advance(task)


def show_result(result: Json, most_misses: int) -> None:
    missed = [question for question in result["questions"] if not question["hit"]]
    if not is_terminal():
        _print_result(result, missed)
        return
    print_text(Text(f"{count(result['count'], 'question')}, {_in_words(result['settings'])}"))
    click.echo()
    print_rows(
        [
            Column("measure"),
            Column("value", style="bold", right=True),
            Column("95 % interval", style="dim"),
            Column("", style="dim"),
        ],
        [_measure_row(name, result) for name in _shown(result)],
    )
    click.echo()
    if not missed:
        print_text(Text("no misses", "green"))
        return
    print_text(
        Text(f"{len(missed):,} {'miss' if len(missed) == 1 else 'misses'}: {_tally(result)}")
    )
    for question in missed[:most_misses]:
        _show_miss(question)
    if len(missed) > most_misses:
        click.echo(f"\n{len(missed) - most_misses:,} more; --misses {len(missed)} shows them all")


def _shown(result: Json) -> list[str]:
    """The measures that say something of their own for these questions."""
    several = any(len(question["expected"]) > 1 for question in result["questions"])
    left_out = set() if several else {"recall"}
    if result["settings"]["top"] == 1:
        left_out.add("hit_rate_at_1")
    return [name for name in MEASURES if name not in left_out]


def label(name: str, top: int) -> str:
    names = {
        "hit_rate": f"hit rate @{top}",
        "hit_rate_at_1": "hit rate @1",
        "ndcg": f"nDCG @{top}",
        "mrr": f"MRR @{top}",
        "recall": f"recall @{top}",
    }
    return names[name]


def _measure_row(name: str, result: Json) -> tuple[str, ...]:
    measure = result["measures"][name]
    counted = f"{measure['count']} of {result['count']}" if "count" in measure else ""
    between = f"{measure['low']:.2f} to {measure['high']:.2f}"
    return label(name, result["settings"]["top"]), f"{measure['value']:.2f}", between, counted


def _in_words(settings: Json) -> str:
    words = f"the first {count(settings['top'], 'passage')} {_MODES[settings['mode']]}"
    filters = setting_words({**settings, "mode": "hybrid"})
    return f"{words}, {filters}" if filters else words


def setting_words(settings: Json) -> str:
    """The settings, as they are written after --against."""
    said = [] if settings["mode"] == "hybrid" else [settings["mode"]]
    if settings.get("plain"):
        said.append("plain")
    for name in ("doc_type", "path_prefix", "per_document", "min_relevance", "recency"):
        value = settings.get(name)
        if value is not None:
            option = "type" if name == "doc_type" else name.replace("_", "-")
            said.append(f"{option}={value if isinstance(value, str) else f'{value:g}'}")
    if settings.get("tags"):
        said.append(f"tags={'+'.join(settings['tags'])}")
    return one_line(",".join(said))


def _tally(result: Json) -> str:
    misses = result["misses"]
    return ", ".join(f"{misses[code]:,} {_code(code)}" for code in misses if misses[code])


def _code(code: str) -> str:
    return code.replace("_", " ")


def _show_miss(question: Json) -> None:
    screen = console()
    number = f"{question['line']:>{_INDENT - 2}}  "
    text = Text(one_line(question["question"]), "bold")
    click.echo()
    for wrapped in text.wrap(screen, max(20, screen.width - _INDENT)):
        wrapped.rstrip()
        screen.print(Text(number, "dim") + wrapped)
        number = " " * _INDENT
    for expected in question["expected"]:
        line = Text(_code(expected["reason"]), _SHADES.get(expected["reason"], ""))
        line.append(f": {one_line(expected['detail'])}", "")
        line.append(f" · expected {target_words(expected)}", "dim")
        print_text(line, indent=_INDENT)
    if question["first"]:
        print_text(Text(f"first was {_hit_words(question['first'])}", "dim"), indent=_INDENT)


def target_words(expected: Json) -> str:
    parts = []
    if expected["document"]:
        parts.append(PurePath(expected["document"]).name or expected["document"])
    if expected["page"]:
        parts.append(f"page {expected['page']}")
    if expected["passage"]:
        text = one_line(expected["passage"])
        cut = f"{text[: _LONGEST_PASSAGE - 1]}…" if len(text) > _LONGEST_PASSAGE else text
        parts.append(f"“{cut}”")
    return one_line(", ".join(parts))


def _hit_words(hit: Json) -> str:
    where = place(hit["page"], hit["location"])
    name = hit["filename"] or hit["title"]
    return one_line(f"{name}{', ' if where else ''}{where} ({hit['relevance']:.2f})")


def _print_result(result: Json, missed: Sequence[Json]) -> None:
    """Lines for programs: what a line is stands in its first column."""
    rows: list[tuple[object, ...]] = []
    for name in _shown(result):
        measure = result["measures"][name]
        numbers = (measure["value"], measure["low"], measure["high"])
        rows.append(("measure", name, *numbers, result["count"]))
    for question in missed:
        rows += [
            (
                "miss",
                question["line"],
                question["question"],
                expected["reason"],
                expected["detail"],
                target_words(expected),
            )
            for expected in question["expected"]
        ]
    print_rows([], rows)
