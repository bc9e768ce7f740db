"""Writes a number, without its sign, by a section of its format."""

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

from kb.engine.ingest.extract.number_formats.code import Section, Token

Write = Callable[[Decimal], str]

_MOST_PLACES = 30
_EXACT = Context(prec=400, rounding=ROUND_HALF_UP)  # the largest number has 309 digits
_LONGEST_DENOMINATOR = 5  # digits


def writer_of(section: Section, general: Write) -> Write:
    if section.has("general", "text"):
        return lambda number: "".join(_said(token, number, general) for token in section.tokens)
    if section.has("slash") and section.has("digit"):
        return _fraction(section.tokens)
    if section.has("exponent"):
        return _power(section.tokens)
    return _fixed(section.tokens)


def _said(token: Token, number: Decimal, general: Write) -> str:
    return general(number) if token.kind in ("general", "text") else token.text


def _fixed(tokens: Sequence[Token]) -> Write:
    tokens, groups, thousands = _without_commas(tokens)
    hundreds = sum(token.kind == "percent" for token in tokens)
    factor = Decimal(10) ** (2 * hundreds - 3 * thousands)
    point = next((at for at, token in enumerate(tokens) if token.kind == "point"), len(tokens))
    before, after = tokens[:point], tokens[point + 1 :]
    places = min(_digits(after), _MOST_PLACES)
    step = Decimal(1).scaleb(-places)
    if places and not _digits(before):  # what stands before the point is shown all the same
        before = [*before, Token("digit", "#")]
    if not _digits(tokens):
        words = "".join(token.text for token in tokens)
        return lambda _: words
    plain = _plain(before, after, groups, places)
    if plain is not None:
        prefix, form, suffix = plain

        def write_plain(number: Decimal) -> str:
            rounded = (number * factor).quantize(step, context=_EXACT)
            return f"{prefix}{rounded:{form}}{suffix}"

        return write_plain

    def write(number: Decimal) -> str:
        rounded = (number * factor).quantize(step, context=_EXACT)
        whole, _, rest = f"{rounded:f}".partition(".")
        decimals = _decimals(after, rest)
        has_point = point < len(tokens) and any(map(str.isdigit, decimals))
        return _whole(before, whole.lstrip("0"), groups) + ("." if has_point else "") + decimals

    return write


def _plain(
    before: Sequence[Token], after: Sequence[Token], groups: bool, places: int
) -> tuple[str, str, str] | None:
    """Words before and after, and how Python writes the number between them, if it can: most
    formats are of that kind, and it is many times faster."""
    marks = "".join(token.text if token.kind == "digit" else " " for token in before)
    form = marks.strip()
    decimals = "".join(token.text if token.kind == "digit" else " " for token in after).rstrip()
    if not form.endswith("0") or form.count("0") > 1 or " " in form or "?" in form:
        return None
    if decimals.strip("0"):
        return None
    start = marks.index(form)
    prefix = "".join(token.text for token in before[:start])
    words = [token.text for token in [*before[start + len(form) :], *after[len(decimals) :]]]
    if places and len(before) > start + len(form):
        return None
    return prefix, f"{',' if groups else ''}.{places}f", "".join(words)


def _without_commas(tokens: Sequence[Token]) -> tuple[list[Token], bool, int]:
    """A comma between digits parts thousands; one after the last digit takes three digits away."""
    point = next((at for at, token in enumerate(tokens) if token.kind == "point"), len(tokens))
    kept: list[Token] = []
    groups, thousands = False, 0
    for at, token in enumerate(tokens):
        if token.kind != "comma":
            kept.append(token)
            continue
        end = point if at < point else len(tokens)
        follows = at + 1 < end and _digits(tokens[at + 1 : end]) > 0
        if not _digits(tokens[:at]):
            kept.append(Token("words", ","))
        elif follows and at < point:
            groups = True
        elif tokens[at - 1].kind in ("digit", "comma"):
            thousands += 1
        else:
            kept.append(Token("words", ","))
    return kept, groups, thousands


def _digits(tokens: Sequence[Token]) -> int:
    return sum(token.kind == "digit" for token in tokens)


def _whole(tokens: Sequence[Token], digits: str, groups: bool) -> str:
    """Digits from the right to the left into their places, the first of which takes all that is
    left. Words between them stay where they are."""
    written: list[str] = []
    places = _digits(tokens)
    count = 0
    for token in reversed(tokens):
        if token.kind != "digit":
            written.append(token.text[::-1])
            continue
        places -= 1
        take = len(digits) - count if places == 0 else 1
        for digit in (digits[::-1][count : count + take]) or _missing(token):
            if groups and count and count % 3 == 0 and digit != " ":
                written.append(",")
            written.append(digit)
            count += 1
    return "".join(written)[::-1]


def _missing(token: Token) -> str:
    return {"0": "0", "?": " "}.get(token.text, "")


def _decimals(tokens: Sequence[Token], digits: str) -> str:
    """Zeros at the end appear only where the format has a 0."""
    marks = [token.text for token in tokens if token.kind == "digit"][: len(digits)]
    shown = list(digits)
    for at in range(len(marks) - 1, -1, -1):
        if digits[at] != "0" or marks[at] == "0":
            break
        shown[at] = " " if marks[at] == "?" else ""
    left = iter(shown)
    return "".join(next(left, "") if token.kind == "digit" else token.text for token in tokens)


def _power(tokens: Sequence[Token]) -> Write:
    at = next(at for at, token in enumerate(tokens) if token.kind == "exponent")
    mantissa, exponent = list(tokens[:at]), tokens[at + 1 :]
    point = next((at for at, token in enumerate(mantissa) if token.kind == "point"), len(mantissa))
    step = max(_digits(mantissa[:point]), 1)
    places = min(_digits(mantissa[point:]), _MOST_PLACES)
    write_mantissa = _fixed(mantissa)
    always_signed = tokens[at].text.endswith("+")

    def write(number: Decimal) -> str:
        power = 0
        if number:
            power = number.adjusted() // step * step
            rounded = round(number.scaleb(-power), places)
            if rounded.adjusted() >= step:  # 9.99 becomes 10.0
                power += step
        sign = "-" if power < 0 else "+" if always_signed else ""
        written = _whole(exponent, str(abs(power)).lstrip("0"), groups=False)
        return f"{write_mantissa(number.scaleb(-power))}E{sign}{written}"

    return write


def _fraction(tokens: Sequence[Token]) -> Write:
    slash = next(at for at, token in enumerate(tokens) if token.kind == "slash")
    start, end = slash, slash + 1
    while start > 0 and tokens[start - 1].kind == "digit":
        start -= 1
    while end < len(tokens) and tokens[end].kind in ("digit", "fixed"):
        end += 1
    denominator = "".join(token.text for token in tokens[slash + 1 : end])
    before, after = tokens[:start], "".join(token.text for token in tokens[end:])
    has_whole = _digits(before) > 0
    length = min(len(denominator), _LONGEST_DENOMINATOR)
    fixed = int(denominator) if denominator.isdecimal() and len(denominator) == length else 0
    most = 10**length - 1 or 1

    def write(number: Decimal) -> str:
        exact = Fraction(number)
        whole = int(exact) if has_whole else 0
        rest = exact - whole
        if fixed:
            upper, lower = int(rest * fixed + Fraction(1, 2)), fixed
        else:
            near = rest.limit_denominator(most)
            upper, lower = near.numerator, near.denominator
        if has_whole and upper == lower:
            whole, upper = whole + 1, 0
        shown = "" if has_whole and upper == 0 else f"{upper}/{lower}"
        digits = str(whole) if whole or not shown else ""
        return f"{_whole(before, digits, groups=False)}{shown}{after}"

    return write
