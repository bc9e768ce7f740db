"""`kb eval`: measures questions, drafts them, or compares two results."""

from pathlib import Path
from typing import Any

import click

from kb.cli.eval.runs import DRAFTS, MISSES, compare_saved, make, measure
from kb.cli.options import (
    ANY_PATH,
    min_relevance_option,
    path_prefix_option,
    per_document_option,
    recency_option,
    tags_option,
    type_option,
    with_engine,
)
from kb.cli.session import Session
from kb.client import Json

_MODES = ("hybrid", "fts-only", "vec-only")


def _other_settings(_ctx: Any, _param: Any, value: str | None) -> Json | None:
    """`fts-only,per-document=2` as the fields of a `Search` that it changes."""
    if value is None:
        return None
    changes: Json = {}
    for part in filter(None, (part.strip() for part in value.split(","))):
        name, _, number = part.partition("=")
        if part in _MODES:
            changes["mode"] = part
        elif part == "plain":
            changes["plain"] = True
        elif name == "recency" and _is_between(number, 0, 36_500) and float(number) > 0:
            changes["recency"] = float(number)
        elif name == "per-document" and number.isdecimal() and 1 <= int(number) <= 100:
            changes["per_document"] = int(number)
        elif name == "min-relevance" and _is_between(number, 0, 1):
            changes["min_relevance"] = float(number)
        else:
            raise click.BadParameter(
                f"{part!r} is no setting; use hybrid, fts-only, vec-only, plain,"
                " per-document=N (1 to 100), min-relevance=X (0 to 1), recency=DAYS"
            )
    return changes


def _is_between(number: str, least: float, most: float) -> bool:
    try:
        return least <= float(number) <= most
    except ValueError:
        return False


@click.command("eval")
@click.argument("files", metavar="[QUESTIONS|-]", nargs=-1, type=ANY_PATH)
@click.option(
    "--top",
    metavar="N",
    type=click.IntRange(1, 100),
    help="Count the first N passages. [default: 10]",
)
@tags_option()
@type_option()
@path_prefix_option()
@per_document_option
@min_relevance_option
@recency_option
@click.option(
    "--plain", is_flag=True, help="Take the questions literally: no quotes, -word or tag:."
)
@click.option("--fts-only", is_flag=True, help="By words alone.")
@click.option("--vec-only", is_flag=True, help="By meaning alone.")
@click.option(
    "--against",
    metavar="SETTINGS",
    callback=_other_settings,
    help="Ask again with these settings and compare: fts-only, per-document=2, …",
)
@click.option("--compare", "comparing", is_flag=True, help="Compare two results that were saved.")
@click.option("--make", "making", is_flag=True, help="Draft questions from your documents.")
@click.option(
    "--count",
    "wanted",
    metavar="N",
    type=click.IntRange(1, 1000),
    help=f"With --make: how many. [default: {DRAFTS}]",
)
@click.option(
    "--out", metavar="FILE", type=click.Path(path_type=Path), help="Save the result in this file."
)
@click.option("--force", is_flag=True, help="With --out: overwrite a file that exists.")
@click.option(
    "--misses", metavar="N", type=click.IntRange(0), help=f"Show N misses. [default: {MISSES}]"
)
@click.option(
    "--min-hit-rate",
    metavar="X",
    type=click.FloatRange(0, 1),
    help="Exit with 1 if the hit rate is below this.",
)
@with_engine
def eval_command(session: Session, files: tuple[str, ...], **options: Any) -> int:
    """Measure how well your own questions are answered.

    QUESTIONS is a CSV or JSONL file, or - for standard input: question, document, page, passage,
    tags and type; question and either document or passage are needed. Prints hit rate,
    nDCG and MRR with their 95 % intervals, and each miss with its reason: not indexed, ranked
    low, or filtered.

    \b
    kb eval --make --out questions.csv       drafts questions to start from
    kb eval questions.csv                    asks them
    kb eval questions.csv --against fts-only compares two settings
    kb eval --compare before.json after.json compares two results saved with --out
    """
    _refuse_what_does_not_fit(files, options)
    if options["comparing"]:
        return compare_saved(session, files[0], files[1], options)
    if options["making"]:
        return make(session, options)
    return measure(session, files[0], options)


_FILTERS = {"tags", "doc_type", "path_prefix"}
_OF_MAKING = _FILTERS | {"making", "wanted", "out", "force"}
_OF_COMPARING = {"comparing", "misses", "out", "force"}
_FLAGS = {"doc_type": "--type", "wanted": "--count"}


def _refuse_what_does_not_fit(files: tuple[str, ...], options: Json) -> None:
    """Better to say that an option has no meaning here than to leave it out."""
    if options["making"] and options["comparing"]:
        raise click.UsageError("Use --make or --compare, not both")
    if options["fts_only"] and options["vec_only"]:
        raise click.UsageError("--fts-only and --vec-only exclude each other")
    given = {name for name, value in options.items() if value not in (None, False, [])}
    if options["comparing"]:
        wanted, allowed, what = 2, _OF_COMPARING, "--compare"
    elif options["making"]:
        wanted, allowed, what = 0, _OF_MAKING, "--make"
    else:
        wanted, allowed, what = 1, set(options) - {"wanted"}, "questions"
    for name in sorted(given - allowed):
        flag = _FLAGS.get(name, f"--{name.replace('_', '-')}")
        raise click.UsageError(f"{flag} does not go with {what}")
    if options["force"] and options["out"] is None:
        raise click.UsageError("--force goes with --out")
    if len(files) != wanted:
        needed = {
            0: "--make takes no file; --out says where the questions go",
            1: "Give one file of questions; --make drafts one",
            2: "--compare takes two results that were saved with --out",
        }
        raise click.UsageError(needed[wanted])
