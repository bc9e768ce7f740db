"""Computes measures and their confidence intervals from ranks.

Every measure is a mean over questions, each of which has a value from 0 to 1. Random numbers come
from a fixed seed, so the same results give the same numbers.
"""

import itertools
import math
import operator
import random
from collections.abc import Iterable, Sequence

from kb.client import Json

MEASURES = ("hit_rate", "hit_rate_at_1", "ndcg", "mrr", "recall")
_WORK = 1_000_000  # values drawn for one interval: the more questions, the fewer rounds are needed
_MOST_ROUNDS, _LEAST_ROUNDS = 4_000, 400
_FEW = 12
_SEED = 20


def ndcg(ranks: Sequence[int | None], top: int) -> float:
    """1 where all that is expected comes first, less the further down it is.

    One passage may be several expected things at once; then there is no better order.
    """
    gained = sum(1 / math.log2(rank + 1) for rank in ranks if rank is not None)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(ranks), top) + 1))
    return min(1.0, gained / ideal)


def values(questions: Sequence[Json]) -> dict[str, list[float]]:
    """The value of each question by each measure."""
    return {
        "hit_rate": [float(question["hit"]) for question in questions],
        "hit_rate_at_1": [float(question["reciprocal_rank"] == 1) for question in questions],
        "ndcg": [float(question["ndcg"]) for question in questions],
        "mrr": [float(question["reciprocal_rank"]) for question in questions],
        "recall": [float(question["recall"]) for question in questions],
    }


def measure(questions: Sequence[Json]) -> dict[str, Json]:
    """Each measure with its 95 % interval."""
    measured: dict[str, Json] = {}
    for name, each in values(questions).items():
        low, high = interval(each)
        measured[name] = {"value": _rounded(mean(each)), "low": low, "high": high}
        if name.startswith("hit_rate"):
            measured[name]["count"] = int(sum(each))
    return measured


def mean(numbers: Sequence[float]) -> float:
    return math.fsum(numbers) / len(numbers)


def interval(each: Sequence[float]) -> tuple[float, float]:
    """Where the mean would lie for 95 of 100 sets of such questions.

    Wilson's for what is either 0 or 1, and where all are the same: to draw again from those would
    find no doubt at all, however few they are. Otherwise by drawing questions anew.
    """
    if set(each) <= {0.0, 1.0} or len(set(each)) == 1:
        low, high = wilson(mean(each), len(each))
    else:
        low, high = drawn(each)
    return _rounded(low), _rounded(high)


def wilson(share: float, count: int) -> tuple[float, float]:
    """Wilson's score interval of a share, at 95 %."""
    z = 1.959964
    middle = share + z * z / (2 * count)
    reach = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    below = 1 + z * z / count
    return max(0.0, (middle - reach) / below), min(1.0, (middle + reach) / below)


def drawn(each: Sequence[float]) -> tuple[float, float]:
    """The middle 95 % of the means of questions drawn at random, with repeats."""
    chance = random.Random(_SEED)  # noqa: S311 - nothing is kept secret by it
    rounds = _rounds(len(each))
    means = sorted(math.fsum(chance.choices(each, k=len(each))) for _ in range(rounds))
    low, high = means[int(0.025 * rounds)], means[int(0.975 * rounds)]
    return low / len(each), high / len(each)


def chance_of(differences: Sequence[float]) -> float:
    """How likely such a large mean difference is by chance (p): a sign-flip test. If few questions
    differ, all sign combinations are tried."""
    differing = [difference for difference in differences if difference]
    if not differing:
        return 1.0
    seen = abs(math.fsum(differing)) - 1e-9
    if len(differing) <= _FEW:
        every = itertools.product((1, -1), repeat=len(differing))
        return _reached(every, differing, seen) / float(2 ** len(differing))
    chance = random.Random(_SEED)  # noqa: S311
    rounds = _rounds(len(differing))
    throws = (chance.choices((1, -1), k=len(differing)) for _ in range(rounds))
    return (_reached(throws, differing, seen) + 1) / (rounds + 1)


def _reached(throws: Iterable[Sequence[int]], differing: Sequence[float], seen: float) -> int:
    sums = (math.fsum(map(operator.mul, throw, differing)) for throw in throws)
    return sum(abs(total) >= seen for total in sums)


def _rounds(count: int) -> int:
    return max(_LEAST_ROUNDS, min(_MOST_ROUNDS, _WORK // count))


def _rounded(number: float) -> float:
    return round(number, 4)
