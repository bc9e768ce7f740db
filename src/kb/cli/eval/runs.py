"""The three kinds of run: questions are measured, compared or drafted."""

import json
import shlex
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click

from kb.cli.eval.asking import Asker, Search, ask_all, from_here, prepare
from kb.cli.eval.comparing import compare
from kb.cli.eval.contrast import show_comparison
from kb.cli.eval.making import Draft, as_csv, as_jsonl, draft, is_jsonl
from kb.cli.eval.questions import QuestionFile, read_questions
from kb.cli.eval.reasons import explain_all
from kb.cli.eval.results import as_result, check_target, read_result, save
from kb.cli.eval.showing import bar, setting_words, show_result
from kb.cli.failure import FAILED, OK, Failure
from kb.cli.session import Session
from kb.cli.terminal.safe_text import count, one_line
from kb.cli.terminal.say import print_json, warn
from kb.client import EngineClient, Json

DRAFTS = 30
MISSES = 20
_MOST_TOLD = 3


def measure(session: Session, path: str, options: Json) -> int:
    search = _search(options)
    other = None if options["against"] is None else replace(search, **options["against"])
    if other == search:
        raise click.UsageError("--against has the settings that are set already")
    check_target(options["out"], options["force"])
    file = read_questions(path)
    if file.ignored:
        warn(f"{file.name}: unknown columns, which are ignored: {', '.join(file.ignored[:10])}")
    results = [_run(session, file, search)]
    if other is not None:
        results.append(_run(session, file, other, again=True))
    answer = results[0] if other is None else _contrasted(results[0], results[1])
    show = show_result if other is None else show_comparison
    _save_and_show(session, answer, show, options)
    return _judged(results[0], options["min_hit_rate"])


def _judged(result: Json, least: float | None) -> int:
    """By the count and not by the rounded value; 7 of 100 are not below 0.07 for want of a bit."""
    share = result["measures"]["hit_rate"]["count"] / result["count"]
    if least is None or share >= least - 1e-9:
        return OK
    warn(f"the hit rate {share:.4g} is below {least:g}")
    return FAILED


def _search(options: Json) -> Search:
    mode = "fts-only" if options["fts_only"] else "vec-only" if options["vec_only"] else "hybrid"
    given = ("doc_type", "path_prefix", "per_document", "min_relevance", "recency")
    fields = {name: options[name] for name in given} | {"plain": options["plain"] or None}
    return Search(top=options["top"] or 10, mode=mode, tags=tuple(options["tags"]), **fields)


def _run(session: Session, file: QuestionFile, search: Search, *, again: bool = False) -> Json:
    """One run of all questions, with the reasons of the misses."""

    async def work(client: EngineClient) -> Json:
        status, asker = await prepare(client, file, search)
        if not again:
            _tell_doubtful_names(file, asker)
        with bar("asking", len(file.questions)) as step:
            answers = await ask_all(asker, step)
        missed = sum(not answered.is_hit for answered in answers)
        with bar("looking for reasons", missed) as step:
            answers = await explain_all(asker, answers, step)
        return as_result(file.name, status, asker.search, answers)

    result = session.run(work)
    if result["degraded"]:
        asked = count(result["degraded"], "question")
        warn(f"{asked} were searched by words alone: the engine's model is not loaded")
    return result


def _tell_doubtful_names(file: QuestionFile, asker: Asker) -> None:
    """Report names that several documents share, since any of them counts."""
    doubtful = {
        target.document: (question.line, sorted(asker.prepare(target).ids or ()))
        for question in reversed(file.questions)
        for target in question.targets
        if len(asker.prepare(target).ids or ()) > 1
    }
    for name, (line, ids) in list(reversed(doubtful.items()))[:_MOST_TOLD]:
        shown = ", ".join(map(str, ids[:5])) + (", …" if len(ids) > 5 else "")
        warn(
            f"{file.name} line {line}: {len(ids)} documents are called {name} ({shown}); any counts"
        )
    if len(doubtful) > _MOST_TOLD:
        warn(f"{len(doubtful) - _MOST_TOLD} more names are shared by several documents")


def _contrasted(a: Json, b: Json) -> Json:
    """Two runs, each named by the settings that only it has."""
    differing = {
        name: (a["settings"][name], b["settings"][name])
        for name in a["settings"]
        if a["settings"][name] != b["settings"][name]
    }
    sides = []
    for place, result in enumerate((a, b)):
        own = {"mode": "hybrid"} | {name: values[place] for name, values in differing.items()}
        sides.append({"name": setting_words(own) or result["settings"]["mode"], **result})
    return {"a": sides[0], "b": sides[1], "comparison": compare(a, b)}


def compare_saved(session: Session, first: str, second: str, options: Json) -> int:
    check_target(options["out"], options["force"])
    results = [read_result(path) for path in (first, second)]
    names = [Path(path).stem for path in (first, second)]
    if names[0] == names[1]:
        names = [first, second]
    tops = [result["settings"]["top"] for result in results]
    if tops[0] != tops[1]:
        warn(f"{names[0]} counts the first {tops[0]} passages, {names[1]} the first {tops[1]}")
    comparison = compare(results[0], results[1])
    for name, number in zip(names, (comparison["only_a"], comparison["only_b"]), strict=True):
        if number:
            warn(f"{count(number, 'question')} of {name} left out: not in the other")
    sides = [
        {"name": name} | {key: value for key, value in result.items() if key != "questions"}
        for name, result in zip(names, results, strict=True)
    ]
    answer = {"a": sides[0], "b": sides[1], "comparison": comparison}
    _save_and_show(session, answer, show_comparison, options)
    return OK


def make(session: Session, options: Json) -> int:
    out: Path | None = options["out"]
    check_target(out, options["force"])
    wanted = options["wanted"] or DRAFTS

    async def work(client: EngineClient) -> list[Draft]:
        prefix = options["path_prefix"]
        filters = {
            "tag": options["tags"] or None,
            "doc_type": options["doc_type"],
            "path_prefix": prefix and await from_here(client, prefix),
        }
        return await draft(client, wanted, **filters)

    drafts = session.run(work)
    if not drafts:
        raise Failure("nothing to draft from: no document has headings or sentences; see kb list")
    written = as_jsonl(drafts) if out is not None and is_jsonl(out) else as_csv(drafts)
    if out is not None:
        save(written, out)
    if session.as_json:
        print_json({"file": out and str(out), "questions": [each.as_json() for each in drafts]})
    elif out is None:
        click.echo(written, nl=False)
    if not session.as_json:
        _tell_how_to_go_on(drafts, wanted, out)
    return OK


def _tell_how_to_go_on(drafts: list[Draft], wanted: int, out: Path | None) -> None:
    documents = count(len({each.document for each in drafts}), "document")
    fewer = f" ({wanted} were asked for)" if len(drafts) < wanted else ""
    where = out or "questions.csv"
    for line in (
        f"drafted {count(len(drafts), 'question')}{fewer} from {documents}",
        "They use the documents' own words: reword them as you would ask, drop useless ones,",
        f"then run: kb eval {shlex.quote(str(where))}",
    ):
        click.echo(one_line(line), err=True)


def _save_and_show(
    session: Session, answer: Json, show: Callable[[Json, int], None], options: Json
) -> None:
    """Saved first: what took long must not be lost because a pipe was closed."""
    out: Path | None = options["out"]
    most = MISSES if options["misses"] is None else options["misses"]
    if out is not None:
        save(f"{json.dumps(answer, ensure_ascii=False, indent=2)}\n", out)
    session.show(answer, lambda told: show(told, most))
    if out is not None:
        click.echo(f"saved {one_line(str(out))}", err=True)
