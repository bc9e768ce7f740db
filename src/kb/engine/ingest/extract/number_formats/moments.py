"""Writes a date or a time by a section of its format."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

from kb.engine.ingest.extract.number_formats.code import Section, Token
from kb.engine.ingest.extract.number_formats.names import Names, names_in

_DAY = 86_400  # seconds
_YEAR_10000 = 2_958_466  # days since 1900
_NOISE = 4  # decimals of a second; what is behind them only tells how computers calculate
_MOST_DECIMALS = 6


class _Moment(NamedTuple):
    day: date
    seconds: int  # of the day
    elapsed: int  # seconds since the first day
    part: str  # the digits of the last second
    halves: bool  # hours are counted up to twelve
    names: Names


Write = Callable[[_Moment], str]


def writer_of(section: Section, since_1904: bool) -> Callable[[float], str | None]:
    """None is written for numbers that are no date: before day one, or after the year 9999."""
    tokens, decimals = _read(section.tokens)
    writes = [_write(token) for token in tokens]
    counts_on = any(token.kind == "elapsed" for token in tokens)
    halves = section.has("half")
    names = names_in(section.language)
    if any(token.kind == "date" and token.text in ("d", "dd") for token in tokens):
        names = names._replace(months=names.months_of_days)
    unit = 10**decimals

    def write(number: float) -> str | None:
        if not 0 <= abs(number) < _YEAR_10000 or (number < 0 and not counts_on):
            return None
        seconds = round(abs(number) * _DAY, _NOISE)
        ticks = round(seconds * unit) if decimals or counts_on else int(seconds)
        elapsed, part = divmod(ticks, unit)
        days, clock = divmod(elapsed, _DAY)
        day = _first_day(days, since_1904) + timedelta(days)
        moment = _Moment(day, clock, elapsed, f"{part:0{decimals}}", halves, names)
        return ("-" if number < 0 else "") + "".join(write(moment) for write in writes)

    return write


def _first_day(days: int, since_1904: bool) -> date:
    if since_1904:
        return date(1904, 1, 1)
    # Day 60 is 29 February 1900, which never was: the days before it are one off.
    return date(1899, 12, 31) if 1 <= days < 60 else date(1899, 12, 30)


def _read(tokens: list[Token]) -> tuple[list[Token], int]:
    """The tokens with minutes (`m` right after hours or right before seconds) told from months, and
    how many digits the last second has."""
    found: list[Token] = []
    decimals = 0
    last = ""
    for at, (kind, text) in enumerate(tokens):
        letters = text.lower()
        if kind == "date" or kind == "elapsed":
            if letters[0] == "m" and kind == "date" and len(letters) < 3:
                following = next(
                    (t for t in tokens[at + 1 :] if t.kind in ("date", "elapsed")), None
                )
                before_seconds = following is not None and following.text[:1].lower() == "s"
                if last == "h" or before_seconds:
                    letters = letters.replace("m", "n")
            last = letters[0]
            found.append(Token(kind, letters))
        elif kind == "digit" and decimals < _MOST_DECIMALS and _is_part(tokens[:at], last):
            decimals += 1
        else:
            found.append(Token(kind, text))
    if decimals:
        point = max(at for at, token in enumerate(found) if token.kind == "point")
        found[point] = Token("point", "part")
    return found, decimals


def _is_part(before: list[Token], last: str) -> bool:
    """Whether a place for a digit is one of a part of a second, as in `ss.00`."""
    while before and before[-1].kind == "digit":
        before = before[:-1]
    return bool(before) and before[-1].kind == "point" and last == "s"


def _write(token: Token) -> Write:
    if token.kind == "elapsed":
        size = {"h": 3_600, "m": 60, "s": 1}[token.text[0].replace("n", "m")]
        width = len(token.text)
        return lambda moment: f"{moment.elapsed // size:0{width}}"
    if token.kind == "half":
        return _half_day(token.text)
    if token.kind == "date":
        return _DATES.get(token.text) or _DATES[_longest(token.text)]
    if token.kind == "point" and token.text == "part":
        return lambda moment: f".{moment.part}"
    words = token.text
    return lambda _: words


def _longest(letters: str) -> str:
    """The form that more letters than there are forms stand for: `yyyyyy` is `yyyy`."""
    return max((form for form in _DATES if form[0] == letters[0]), key=len)


def _half_day(words: str) -> Write:
    morning, _, evening = words.partition("/")
    return lambda moment: morning if moment.seconds < _DAY // 2 else evening


def _hour(moment: _Moment) -> int:
    hour = moment.seconds // 3_600
    return (hour - 1) % 12 + 1 if moment.halves else hour


def _minute(moment: _Moment) -> int:
    return moment.seconds // 60 % 60


def _year(moment: _Moment) -> str:
    return f"{moment.day.year:04}"


def _day_name(moment: _Moment) -> str:
    return moment.names.days[moment.day.weekday()]


def _short_day_name(moment: _Moment) -> str:
    return moment.names.short_days[moment.day.weekday()]


def _month(moment: _Moment) -> str:
    return moment.names.months[moment.day.month - 1]


_DATES: dict[str, Write] = {
    "y": lambda moment: _year(moment)[2:],
    "yy": lambda moment: _year(moment)[2:],
    "yyy": _year,
    "yyyy": _year,
    "e": _year,  # of a reign, where there are emperors
    "g": lambda _: "",  # the reign
    "b": lambda moment: f"{(moment.day.year + 543) % 100:02}",  # by the Buddhist calendar
    "bbbb": lambda moment: f"{moment.day.year + 543}",
    "m": lambda moment: str(moment.day.month),
    "mm": lambda moment: f"{moment.day.month:02}",
    "mmm": lambda moment: moment.names.short_months[moment.day.month - 1],
    "mmmmm": lambda moment: _month(moment)[0],
    "mmmm": _month,
    "d": lambda moment: str(moment.day.day),
    "dd": lambda moment: f"{moment.day.day:02}",
    "ddd": _short_day_name,
    "aaa": _short_day_name,
    "dddd": _day_name,
    "aaaa": _day_name,
    "h": lambda moment: str(_hour(moment)),
    "hh": lambda moment: f"{_hour(moment):02}",
    "n": lambda moment: str(_minute(moment)),
    "nn": lambda moment: f"{_minute(moment):02}",
    "s": lambda moment: str(moment.seconds % 60),
    "ss": lambda moment: f"{moment.seconds % 60:02}",
}
