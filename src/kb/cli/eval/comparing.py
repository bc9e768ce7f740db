"""What differs between two results."""

import json
from typing import Any

from kb.cli.eval.measures import MEASURES, chance_of, drawn, mean, values
from kb.cli.failure import Failure
from kb.client import Json

_SURE = 0.05
_NEARLY_NOTHING = 1e-9


def compare(a: Json, b: Json) -> Json:
    """The questions that both have, pair by pair: b minus a."""
    ours, theirs = ({_key(each): each for each in result["questions"]} for result in (a, b))
    shared = [key for key in ours if key in theirs]
    if not shared:
        raise Failure("the two results have no question in common")
    of_a, of_b = [ours[key] for key in shared], [theirs[key] for key in shared]
    pairs = [
        (first, second, _gain(first, second)) for first, second in zip(of_a, of_b, strict=True)
    ]
    measures = _measures(of_a, of_b)
    return {
        "count": len(shared),
        "only_a": len(ours) - len(shared),
        "only_b": len(theirs) - len(shared),
        "measures": measures,
        "verdict": _verdict(measures["ndcg"]),
        "better": _changed(pairs, 1),
        "worse": _changed(pairs, -1),
        "same": sum(not gain for _, _, gain in pairs),
    }


def _key(question: Json) -> str:
    """The question and the expected answers, whatever was found."""
    names = ("document", "page", "passage")
    expected = sorted(
        [str(target.get(name) or "") for name in names] for target in question["expected"]
    )
    tags = sorted(map(str, question["tags"]))
    return json.dumps([question["question"], tags, question.get("type"), expected])


def _gain(first: Json, second: Json) -> float:
    """How much better the second is; a difference by rounding counts as none."""
    gain: float = second["ndcg"] - first["ndcg"]
    return gain if abs(gain) > _NEARLY_NOTHING else 0.0


def _measures(of_a: list[Json], of_b: list[Json]) -> dict[str, Json]:
    values_a, values_b = values(of_a), values(of_b)
    return {name: _difference(values_a[name], values_b[name]) for name in MEASURES}


def _difference(of_a: list[float], of_b: list[float]) -> Json:
    differences = [second - first for first, second in zip(of_a, of_b, strict=True)]
    low, high = drawn(differences)
    numbers = {
        "a": mean(of_a),
        "b": mean(of_b),
        "difference": mean(differences),
        "low": low,
        "high": high,
        "p": chance_of(differences),
    }
    return {name: round(number, 4) for name, number in numbers.items()}


def _verdict(measure: Json) -> str:
    """By nDCG, which sees every change of rank; `same` is all that was looked at being equal."""
    if measure["p"] < _SURE:
        return "better" if measure["difference"] > 0 else "worse"
    return "same" if measure["low"] == measure["high"] == 0 else "unclear"


def _changed(pairs: list[tuple[Json, Json, float]], sign: int) -> list[Json]:
    """The questions that got better (or worse), the most changed first."""
    changed = [pair for pair in pairs if pair[2] * sign > 0]
    return [
        {
            "line": second["line"],
            "question": second["question"],
            "a": _place(first),
            "b": _place(second),
            "ndcg": round(gain, 4),
        }
        for first, second, gain in sorted(changed, key=lambda pair: -abs(pair[2]))
    ]


def _place(question: Json) -> dict[str, Any]:
    return {"hit": question["hit"], "rank": question["rank"]}
