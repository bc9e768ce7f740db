"""Shows the number in a cell as Excel does, in English unless its format names a language."""

from collections.abc import Callable
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise

from kb.engine.ingest.extract.number_formats import digits, moments
from kb.engine.ingest.extract.number_formats.code import Section, sections_of

Show = Callable[[str], str]

_LONGEST_NUMBER = 40  # characters; what is longer is no number that a program wrote
_LONGEST_CODE = 1_000
_LARGEST_EXACT = 2**53  # whole numbers up to here have all their digits
_ACCOUNTING = '_(* #,##0_);_(* \\(#,##0\\);_(* "-"_);_(@_)'
_BUILT_IN = {
    1: "0",
    2: "0.00",
    3: "#,##0",
    4: "#,##0.00",
    5: "$#,##0_);($#,##0)",
    6: "$#,##0_);($#,##0)",
    7: "$#,##0.00_);($#,##0.00)",
    8: "$#,##0.00_);($#,##0.00)",
    9: "0%",
    10: "0.00%",
    11: "0.00E+00",
    12: "# ?/?",
    13: "# ??/??",
    14: "m/d/yyyy",
    15: "d-mmm-yy",
    16: "d-mmm",
    17: "mmm-yy",
    18: "h:mm AM/PM",
    19: "h:mm:ss AM/PM",
    20: "h:mm",
    21: "h:mm:ss",
    22: "m/d/yyyy h:mm",
    37: "#,##0_);(#,##0)",
    38: "#,##0_);(#,##0)",
    39: "#,##0.00_);(#,##0.00)",
    40: "#,##0.00_);(#,##0.00)",
    41: _ACCOUNTING,
    42: _ACCOUNTING.replace("*", "$*"),
    43: _ACCOUNTING.replace("#,##0", "#,##0.00").replace('"-"', '"-"??'),
    44: _ACCOUNTING.replace("#,##0", "#,##0.00").replace('"-"', '"-"??').replace("*", "$*"),
    45: "mm:ss",
    46: "[h]:mm:ss",
    47: "mm:ss.0",
    48: "##0.0E+0",
    # Dates and times that look another way in each country of East Asia.
    **dict.fromkeys((*range(27, 32), 36, *range(50, 59)), "yyyy/m/d"),
    **dict.fromkeys((32, 33, 34, 35), "h:mm:ss"),
}


def built_in(number: int) -> str:
    """The code of a format that has a number only."""
    return _BUILT_IN.get(number, "")


@lru_cache(maxsize=1_000)
def reader_of(code: str, since_1904: bool = False) -> Show | None:
    """A function that shows numbers in this format; None if they are shown as they are."""
    if code in ("", "@") or code.lower() == "general":
        return None
    sections = sections_of(code[:_LONGEST_CODE])[:3]
    choices = [(s, _writer(s, since_1904)) for s in sections if not s.has("text")]

    def show(raw: str) -> str:
        number = _number(raw)
        if number is None:
            return raw
        for section, write in choices:
            if section.condition is None or section.condition.holds(number):
                written = write(number)
                return raw if written is None else written.strip()
        return plain(raw)

    return show


@lru_cache(maxsize=1_000)
def text_reader_of(code: str) -> Show | None:
    """What shows texts in this format; None where they are shown as they are, or hidden."""
    if "@" not in code or code == "@":
        return None
    sections = sections_of(code[:_LONGEST_CODE])
    found = sections[3] if len(sections) > 3 else sections[-1]
    before, at, after = found.around("text")
    if not at or not (before + after).strip():
        return None
    return lambda text: f"{before}{text}{after}".strip()


def plain(raw: str) -> str:
    """A stored number without the last digits, which are only rounding errors."""
    if "." not in raw and "E" not in raw and "e" not in raw:
        return raw
    number = _number(raw)
    return raw if number is None else f"{number:.15G}"


def _writer(section: Section, since_1904: bool) -> Callable[[float], str | None]:
    if section.has("date", "elapsed", "half"):
        if _is_mixed(section):
            return lambda number: plain(f"{number}")
        return moments.writer_of(section, since_1904)
    write = digits.writer_of(section, lambda number: plain(f"{number}"))
    is_signed = section.condition is None or not section.condition.is_negative

    def written(number: float) -> str:
        positive = abs(number)
        is_exact = positive < _LARGEST_EXACT and positive.is_integer()
        exact = Decimal(int(positive) if is_exact else f"{positive:.15g}")
        text = write(exact)
        if number < 0 and is_signed and any(sign in text for sign in "123456789"):
            return f"-{text.lstrip()}"
        return text

    return written


def _is_mixed(section: Section) -> bool:
    """Whether a format asks for digits beside a date, which Excel refuses to take."""
    kinds: list[str] = ["", *(token.kind for token in section.tokens)]
    return any(
        kind == "digit" and before not in ("point", "digit") for before, kind in pairwise(kinds)
    )


def _number(raw: str) -> float | None:
    try:
        number = float(raw) if len(raw) <= _LONGEST_NUMBER else None
    except ValueError:
        return None
    return number if number is None or abs(number) < float("inf") else None
