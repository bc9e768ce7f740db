"""The result of a run: what `--json` prints, `--out` saves and `--compare` reads."""

import json
import statistics
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kb import __version__
from kb.cli.eval.asking import Answered, Search
from kb.cli.eval.measures import measure
from kb.cli.eval.questions import BadQuestions, read_file
from kb.cli.failure import Failure
from kb.client import Json

FORMAT = 1
_LARGEST_MB = 100
_NUMBERS = ("ndcg", "reciprocal_rank", "recall")


def as_result(name: str, status: Json, search: Search, answers: Sequence[Answered]) -> Json:
    questions = [answered.as_json() for answered in answers]
    reasons = Counter(_reason(question) for question in questions if not question["hit"])
    return {
        "kb_eval": FORMAT,
        "version": __version__,
        "created_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "file": name,
        "engine": {
            "version": status["version"],
            "model": status["model"]["name"],
            "documents": status["counts"]["documents"],
            "chunks": status["counts"]["chunks"],
        },
        "settings": search.as_json(),
        "count": len(questions),
        "measures": measure(questions),
        "misses": {code: reasons[code] for code in ("ranked_low", "not_indexed", "filtered")},
        "degraded": sum(answered.degraded for answered in answers),
        "took_ms": round(statistics.median(answered.took_ms for answered in answers), 3),
        "questions": questions,
    }


def _reason(question: Json) -> str:
    """The reason of a miss; if its answers have several, the one that is easiest to fix."""
    codes = {expected["reason"] for expected in question["expected"]}
    return next(code for code in ("filtered", "ranked_low", "not_indexed") if code in codes)


def check_target(path: Path | None, force: bool) -> None:
    """Whether a file can be written, before the work and not after it."""
    if path is None:
        return
    if path.is_dir():
        raise Failure(f"{path} is a folder; name a file")
    if path.exists() and not force:
        raise Failure(f"{path} exists; use --force to overwrite it")
    if not path.absolute().parent.is_dir():
        raise Failure(f"{path}: there is no such folder")


def save(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8", newline="")
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror}") from None


def read_result(path: str) -> Json:
    """A result that was saved; anything else is refused in a line."""
    content = read_file(path, path, _LARGEST_MB)
    try:
        result = json.loads(content)
    except (ValueError, RecursionError):
        raise BadQuestions(f"{path}: not JSON; --compare takes what --out saved") from None
    if isinstance(result, dict) and "comparison" in result:
        raise BadQuestions(f"{path}: a comparison; --compare takes what a single run saved")
    if not isinstance(result, dict) or result.get("kb_eval") != FORMAT or not _is_whole(result):
        raise BadQuestions(f"{path}: no result of kb eval; --compare takes what --out saved")
    return result


def _is_whole(result: Json) -> bool:
    """Whether all is there that a comparison reads."""
    settings, questions = result.get("settings"), result.get("questions")
    return (
        isinstance(settings, dict)
        and isinstance(settings.get("top"), int)
        and isinstance(settings.get("mode"), str)
        and isinstance(questions, list)
        and bool(questions)
        and all(map(_is_question, questions))
    )


def _is_question(question: Any) -> bool:
    return (
        isinstance(question, dict)
        and isinstance(question.get("question"), str)
        and isinstance(question.get("line"), int)
        and isinstance(question.get("hit"), bool)
        and isinstance(question.get("rank"), int | None)
        and isinstance(question.get("expected"), list)
        and all(isinstance(expected, dict) for expected in question["expected"])
        and isinstance(question.get("tags"), list)
        and all(isinstance(question.get(name), int | float) for name in _NUMBERS)
        and all(0 <= question[name] <= 1 for name in _NUMBERS)
    )
