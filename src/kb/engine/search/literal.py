"""Finds passages that contain a query letter by letter.

Words lose their signs in the index: `--force` is found as *force*, `a->b` as *a* and *b*. People
who type signs have nearly always copied them from somewhere, and mean the passage that has them
too.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, compress

import numpy as np

from kb.engine.scoring import Floats, idf
from kb.engine.store import Look, Rows
from kb.engine.text.terms import runs

# A perfect match of all words scores 1. A passage that holds the whole query as it is gets more
# than that, and one that holds what stands in quotes as much. One that holds only some words with
# their signs gets the share that these words have in the weight of the query.
WHOLE_WEIGHT = 1.5
PARTS_WEIGHT = 1.0
_MOST_PARTS = 4
_LONGEST_PHRASE = 8
# To find terms side by side takes a microsecond for each passage that has the rarest of them; to
# find that one alone ends as soon as there are enough.
_COMMON = 20_000
_HOLDERS = 50

# Signs as any sentence has them: what ends it or a part of it, and what stands within words.
_ORDINARY = re.compile(r"(?<=\w)(?:[.,;!?]+(?=\s|$)|['.-](?=\w))")
_SIGN = re.compile(r"[!-/:-@\[-`{-~]")
_QUOTED = re.compile(r"""(?<!\S)(["`])(.+?)\1(?!\w)""")
_CURLY = str.maketrans("\u201c\u201d", '""')
_AROUND = ".,;:!?\"'()"


@dataclass(frozen=True, slots=True)
class _Needle:
    """A text to be found as it is, in lower case and with single spaces."""

    text: str
    is_quoted: bool = False

    @property
    def longest_word(self) -> str:
        return max(self.text.split(), key=len)

    def is_in(self, text: str) -> bool:
        lower = text.lower()
        if self.text in lower:
            return True
        # It may stand on two lines.
        is_likely = " " in self.text and self.longest_word in lower
        return is_likely and self.text in " ".join(lower.split())

    def phrase(self, counts: Mapping[str, int]) -> list[str] | None:
        """The rarest terms of it that stand side by side; None where no passage has all of them.

        Empty where it is made of signs alone.
        """
        beginnings = [run[:_LONGEST_PHRASE] for run in runs(self.text)]
        known = [each for each in beginnings if all(term in counts for term in each)]
        rarest = min(known, key=lambda each: min(map(counts.__getitem__, each)), default=[])
        if not all(map(counts.__getitem__, rarest)):
            return None
        term = min(rarest, key=counts.__getitem__, default="")
        return [term] if counts.get(term, 0) > _COMMON else rarest


class Literal:
    """The signs of one query, in one look at the store. A query in plain language has none."""

    def __init__(self, look: Look, query: str, counts: Mapping[str, int]) -> None:
        """`counts` says how many passages have each of the query's terms."""
        self._look = look
        self._counts = counts
        self._needles = _needles(query)

    def holders(self) -> list[Rows]:
        """Some rows that seem to hold the query or parts of it, as far as signs are concerned."""
        found = []
        for needle in self._needles:
            phrase = needle.phrase(self._counts)
            if phrase is not None:
                found.append(
                    self._look.holding_text(phrase, needle.text, needle.longest_word, _HOLDERS)
                )
        return found

    def scores(self, rows: Rows) -> Floats:
        """What it counts that a passage has the query, or parts of it, letter by letter."""
        scores = np.zeros(len(rows))
        if not self._needles:
            return scores
        whole, *parts = self._needles
        shares = self._shares(parts)
        for number, text in enumerate(self._look.texts(rows)):
            if whole.is_in(text):
                scores[number] = WHOLE_WEIGHT
            else:
                held = [part.is_in(text) for part in parts]
                scores[number] = PARTS_WEIGHT * min(1.0, sum(compress(shares, held)))
        return scores

    def _shares(self, parts: Sequence[_Needle]) -> list[float]:
        """The share of each part: quoted parts count alike, the others by the weight of their
        words."""
        weights = idf(list(self._counts.values()), len(self._look.view.ids))
        by_term: dict[str, float] = dict(zip(self._counts, weights.tolist(), strict=True))
        total = float(weights.sum()) or 1.0
        quoted = sum(part.is_quoted for part in parts)

        def share(part: _Needle) -> float:
            if part.is_quoted:
                return 1 / quoted
            return sum(by_term.get(term, 0.0) for term in {*chain(*runs(part.text))}) / total

        return [share(part) for part in parts]


def _needles(query: str) -> list[_Needle]:
    """The whole query, then quoted parts and words with signs; nothing that is plain language."""
    whole = " ".join(query.translate(_CURLY).lower().split())
    if not _has_signs(whole):
        return []
    quoted = [inner for _, inner in _QUOTED.findall(whole) if any(map(str.isalnum, inner))]
    signed = [core for word in whole.split() if _has_signs(core := word.strip(_AROUND))]
    parts = [part for part in dict.fromkeys((*quoted, *signed)) if part != whole]
    return [_Needle(whole), *(_Needle(part, part in quoted) for part in parts[:_MOST_PARTS])]


def _has_signs(text: str) -> bool:
    return _SIGN.search(_ORDINARY.sub("", text)) is not None
