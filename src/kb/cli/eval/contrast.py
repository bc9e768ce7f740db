"""Prints a comparison as tables."""

import click
from rich.text import Text

from kb.cli.eval.measures import MEASURES
from kb.cli.eval.showing import label
from kb.cli.terminal.output import Column, is_terminal, print_rows, print_text
from kb.cli.terminal.safe_text import count, one_line
from kb.client import Json

_SHADES = {"better": "green", "worse": "red"}
_LONGEST_NAME = 18


def show_comparison(answer: Json, most: int) -> None:
    """Both sides with the difference, then what got better and what got worse."""
    comparison = answer["comparison"]
    if not is_terminal():
        _print_comparison(comparison)
        return
    names = [_short(answer[side]["name"]) for side in ("a", "b")]
    top = answer["a"]["settings"]["top"]
    print_text(Text(f"{count(comparison['count'], 'question')}: {names[0]}, then {names[1]}"))
    click.echo()
    _show_measures(comparison, names, top)
    click.echo()
    print_text(_verdict(comparison, names))
    for side in ("worse", "better"):
        _show_changed(comparison[side], side, names, most)


def _short(name: str) -> str:
    """A name that fits above a column of numbers; the end of a file's name tells more."""
    name = one_line(name)
    return f"…{name[1 - _LONGEST_NAME :]}" if len(name) > _LONGEST_NAME else name


def _show_measures(comparison: Json, names: list[str], top: int) -> None:
    # Where one thing is expected of each question, recall is the hit rate.
    several = comparison["measures"]["recall"] != comparison["measures"]["hit_rate"]
    shown = [
        name
        for name in MEASURES
        if (name != "recall" or several) and (name != "hit_rate_at_1" or top > 1)
    ]
    print_rows(
        [
            Column("measure"),
            Column(names[0], right=True),
            Column(names[1], right=True),
            Column("difference", style="bold", right=True),
            Column("95 % interval", style="dim", right=True),
            Column("p", style="dim", right=True),
        ],
        [_measure_row(label(name, top), comparison["measures"][name]) for name in shown],
    )


def _measure_row(name: str, measure: Json) -> tuple[str, ...]:
    between = f"{_signed(measure['low'])} to {_signed(measure['high'])}"
    chance = "<0.001" if measure["p"] < 0.001 else f"{measure['p']:.3f}"
    sides = f"{measure['a']:.2f}", f"{measure['b']:.2f}"
    return name, *sides, _signed(measure["difference"]), between, chance


def _signed(number: float) -> str:
    text = f"{number:+.2f}"
    return "0.00" if text in ("+0.00", "-0.00") else text.replace("-", "−")


def _verdict(comparison: Json, names: list[str]) -> Text:
    """In a sentence what the numbers say, and what they do not."""
    verdict, measure = comparison["verdict"], comparison["measures"]["ndcg"]
    changes = f"{len(comparison['better']):,} better, {len(comparison['worse']):,} worse,"
    changes += f" {comparison['same']:,} the same"
    if verdict in _SHADES:
        line = Text(f"{names[1]} is {verdict}", f"bold {_SHADES[verdict]}")
        line.append(f" by nDCG, and hardly by chance (p {measure['p']:.3f}): {changes}", "")
        return line
    if verdict == "same":
        return Text(f"no difference: {changes}")
    return Text(f"no difference that these questions could prove: {changes}")


def _show_changed(changed: list[Json], side: str, names: list[str], most: int) -> None:
    if not changed or not most:
        return
    click.echo()
    print_rows(
        [
            Column("line", style="dim", right=True),
            Column(side, style=_SHADES[side], share=1),
            Column(names[0], right=True),
            Column(names[1], right=True),
        ],
        [
            (change["line"], change["question"], _rank(change["a"]), _rank(change["b"]))
            for change in changed[:most]
        ],
    )
    if len(changed) > most:
        click.echo(f"{len(changed) - most:,} more; --misses {len(changed)} shows them all")


def _rank(place: Json) -> str:
    """The rank of a hit; in brackets, where the right passage is without being a hit."""
    if place["hit"]:
        return str(place["rank"])
    return f"({place['rank']})" if place["rank"] else "–"


def _print_comparison(comparison: Json) -> None:
    """Lines for programs: what a line is stands in its first column."""
    rows: list[tuple[object, ...]] = [
        ("measure", name, *measure.values()) for name, measure in comparison["measures"].items()
    ]
    rows += [
        (side, change["line"], change["question"], _rank(change["a"]), _rank(change["b"]))
        for side in ("better", "worse")
        for change in comparison[side]
    ]
    print_rows([], rows)
