"""A number and the format of its cell in, what a reader sees out: dates, percentages, units.

Numbers keep all their digits and get no thousands separators: a search for the number finds it, and
a reader can still calculate. Dates are written as ISO 8601 whatever the cell says.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

Show = Callable[[str], str]

_LONGEST_NUMBER = 40  # characters; what is longer is no number that a program wrote
_LONGEST_CODE = 1_000
_YEAR_10000 = 2_958_466  # days since 1900
_BUILT_IN = (
    {9: "0%", 10: "0.00%", 22: "yyyy-mm-dd hh:mm", 46: "[h]:mm:ss"}
    | dict.fromkeys((14, 15, 16, 17, *range(27, 32), 36, *range(50, 59)), "yyyy-mm-dd")
    | dict.fromkeys((18, 19, 20, 21, 32, 33, 34, 35, 45, 47), "hh:mm:ss")
)
# A quoted text, a character as it stands, room left, something in brackets; else one character.
_TOKEN = re.compile(r'"([^"]*)"?|\\(.)|[_*].|\[([^\]]*)\]|(General|AM/PM|A/P|.)', re.I | re.S)
_PLACES = frozenset("0#?")
_MONTHS = ("mmm", "mmmm", "mmmmm")
_ELAPSED = ("h", "hh", "m", "mm", "s", "ss")
_SCALED = re.compile(r"[0#?],+(?![0#?,])")  # commas after the last digit: in thousands, millions


class _Format(NamedTuple):
    """The words before and after a number, and the letters that say how to write it."""

    prefix: str = ""
    suffix: str = ""
    letters: str = ""
    elapsed: bool = False  # counts hours beyond a day


def built_in(number: int) -> str:
    """The code of a format that has a number only."""
    return str(_BUILT_IN.get(number, ""))


@lru_cache(maxsize=1_000)
def reader_of(code: str, since_1904: bool = False) -> Show | None:
    """What shows numbers in this format; None if they are shown as they are."""
    prefix, suffix, letters, elapsed = _taken_apart(code[:_LONGEST_CODE])
    if "%" in letters:
        decimals = sum(letter in _PLACES for letter in letters.partition(".")[2])
        return lambda raw: _percent(raw, min(decimals, 15))
    if elapsed:
        return _elapsed
    has_date = "y" in letters or "d" in letters or letters in _MONTHS
    has_time = "h" in letters or "s" in letters
    if has_date or has_time:
        return lambda raw: _moment(raw, since_1904, has_date, has_time)
    if prefix or suffix:
        return lambda raw: f"{prefix}{plain(raw)}{suffix}"
    return None


def plain(raw: str) -> str:
    """A stored number without the last digits, which only tell how computers calculate."""
    if "." not in raw and "E" not in raw and "e" not in raw:
        return raw
    number = _number(raw)
    return raw if number is None else f"{number:.15g}"


def _taken_apart(code: str) -> _Format:
    """The format for positive numbers, which is the first of up to four."""
    before: list[str] = []
    after: list[str] = []
    letters: list[str] = []
    elapsed = False
    words = before
    for quoted, escaped, bracket, other in _TOKEN.findall(code):
        if bracket[:1] in ("<", ">", "="):  # a format for some numbers only
            return _Format()
        if other == ";":
            break
        if bracket:
            elapsed = elapsed or bracket.lower() in _ELAPSED
            words += bracket[1:].partition("-")[0] if bracket.startswith("$") else ""
        elif quoted or escaped or other in "$€£¥ ":
            words += quoted or escaped or other
        else:
            letters.append("0" if other.lower() == "general" else other.lower())
            words = after if other in _PLACES or len(other) > 5 else words
    spelled = "".join(letters)
    if words is before or _SCALED.search(spelled):
        return _Format("", "", spelled, elapsed)
    prefix, suffix = "".join(before).lstrip(), "".join(after).rstrip()
    return _Format(prefix, suffix, spelled, elapsed)


def _number(raw: str) -> float | None:
    try:
        return float(raw) if len(raw) <= _LONGEST_NUMBER else None
    except ValueError:
        return None


def _percent(raw: str, decimals: int) -> str:
    number = _number(raw)
    return raw if number is None else f"{number * 100:.{decimals}f}%"


def _elapsed(raw: str) -> str:
    number = _number(raw)
    if number is None or not 0 <= number < _YEAR_10000:
        return raw
    minutes, seconds = divmod(round(number * 86_400), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}"


def _moment(raw: str, since_1904: bool, has_date: bool, has_time: bool) -> str:
    number = _number(raw)
    if number is None or not 0 <= number < _YEAR_10000:
        return raw
    if since_1904:
        start = datetime(1904, 1, 1)
    else:
        # Day 60 is 29 February 1900, which never was: the days before it are one off.
        start = datetime(1899, 12, 31) if number < 60 else datetime(1899, 12, 30)
    try:
        moment = start + timedelta(seconds=round(number * 86_400))
    except OverflowError:
        return raw
    day, clock = moment.isoformat(" ", "seconds").split(" ")
    if not has_date or (number < 1 and has_time):
        return clock.removesuffix(":00")
    return f"{day} {clock.removesuffix(':00')}" if has_time and clock != "00:00:00" else day
