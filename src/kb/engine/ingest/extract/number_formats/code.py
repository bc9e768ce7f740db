"""Parses a number format's code into up to four sections: positive, negative, zero, text."""

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Kind = Literal[
    "words", "digit", "point", "comma", "percent", "exponent", "slash", "fixed", "date", "elapsed",
    "half", "text", "general",
]  # fmt: skip

# A quoted text, a sign as it stands, room left, a sign that fills a column, something in brackets,
# and what stands for a part of the number; else one character that stands for itself.
_TOKEN = re.compile(
    r"""
    "(?P<quoted>[^"]*)"? | \\(?P<escaped>.) | (?P<room>_.) | (?P<fill>\*.) | \[(?P<bracket>[^\]]*)\]
    | (?P<general>General) | (?P<half>AM/PM|A/P) | (?P<exponent>E[+-])
    | (?P<date>y+|m+|d+|h+|s+|e+|a{3,4}|g+|b+)
    | (?P<digit>[0#?]) | (?P<fixed>[1-9][0-9]*) | (?P<point>\.) | (?P<comma>,) | (?P<percent>%)
    | (?P<slash>/) | (?P<text>@) | (?P<end>;) | (?P<words>.)
    """,
    re.IGNORECASE | re.DOTALL | re.VERBOSE,
)
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?[0-9]{1,15}(?:\.[0-9]{1,15})?)")
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
# What Windows calls these: the long date and the time, as whoever looks has set them.
_OWN_DATE, _OWN_TIME = 0xF800, 0xF400
_OWN = {_OWN_DATE: "dddd, mmmm d, yyyy", _OWN_TIME: "hh:mm:ss AM/PM"}


class Token(NamedTuple):
    kind: Kind
    text: str


class Condition(NamedTuple):
    """The numbers that a section is for."""

    comparison: str
    limit: float

    def holds(self, number: float) -> bool:
        return _COMPARISONS[self.comparison](number, self.limit)

    @property
    def is_negative(self) -> bool:
        """Such a section writes the sign itself, if at all."""
        return self.comparison in ("<", "<=") and self.limit == 0


@dataclass(slots=True)
class Section:
    tokens: list[Token] = field(default_factory=list)
    condition: Condition | None = None
    language: int = 0  # as Windows numbers them

    def has(self, *kinds: Kind) -> bool:
        return any(token.kind in kinds for token in self.tokens)

    def around(self, kind: Kind) -> tuple[str, bool, str]:
        """What stands before and after the first token of a kind, and whether there is one."""
        for at, token in enumerate(self.tokens):
            if token.kind == kind:
                before, after = self.tokens[:at], self.tokens[at + 1 :]
                return "".join(t.text for t in before), True, "".join(t.text for t in after)
        return "", False, ""

    def put(self, kind: Kind, text: str) -> None:
        self.tokens.append(Token(kind, text))


def sections_of(code: str) -> list[Section]:
    """At least one. Those without conditions get the ones that spreadsheets give them."""
    found = [Section()]
    for match in _TOKEN.finditer(code):
        kind, text = match.lastgroup, match[match.lastgroup or 0]
        if kind == "end":
            found.append(Section())
        elif kind == "bracket":
            _bracket(found[-1], text)
        elif kind == "room":
            found[-1].put("words", " ")
        elif kind in ("quoted", "escaped"):
            found[-1].put("words", text)
        elif kind != "fill":
            found[-1].put(kind, text)  # type: ignore[arg-type]
    found = [_as_set(section) for section in found[:4]]
    numbers = [section for section in found[:3] if not section.has("text")]
    if len(numbers) > 1 and numbers[0].condition is None:
        numbers[0].condition = Condition(">" if len(numbers) > 2 else ">=", 0)
        numbers[1].condition = numbers[1].condition or Condition("<", 0)
    elif len(numbers) > 2:
        numbers[1].condition = numbers[1].condition or Condition("<", 0)
    return found


def _as_set(section: Section) -> Section:
    own = _OWN.get(section.language)
    return section if own is None else sections_of(own)[0]


def _bracket(section: Section, text: str) -> None:
    """A currency with a language, a condition, time that counts on; colours are not shown."""
    condition = _CONDITION.fullmatch(text.strip())
    if text.startswith("$"):
        currency, _, language = text[1:].partition("-")
        section.put("words", currency)
        if re.fullmatch("[0-9A-Fa-f]{1,8}", language):
            section.language = int(language, 16) & 0xFFFF
    elif condition is not None:
        section.condition = Condition(condition[1], float(condition[2]))
    elif _ELAPSED.fullmatch(text):
        section.put("elapsed", text.lower())
