"""Writes the number of a list item in its style: 1, a, iv."""

_ROMAN = {1000: "M", 900: "CM", 500: "D", 400: "CD", 100: "C", 90: "XC", 50: "L", 40: "XL"}
_SMALL_ROMAN = {10: "X", 9: "IX", 5: "V", 4: "IV", 1: "I"}
_LARGEST = 5_000  # in letters; what is larger is written in digits


def counted(count: int, kind: str) -> str:
    """`kind` as Word names it: lowerLetter, upperRoman and so on; digits for what is not known."""
    if kind == "none":
        return ""
    if kind == "decimalZero":
        return f"{count:02}"
    if kind == "ordinal":
        return f"{count}{_ordinal_ending(count)}"
    if not 0 < count <= _LARGEST or not kind.endswith(("Letter", "Roman")):
        return str(count)
    letters = _roman(count) if kind.endswith("Roman") else _letters(count)
    return letters.lower() if kind.startswith("lower") else letters


def _ordinal_ending(count: int) -> str:
    """As in English: the language of a list is not known."""
    return "th" if count // 10 % 10 == 1 else {1: "st", 2: "nd", 3: "rd"}.get(count % 10, "th")


def _letters(count: int) -> str:
    """Z is followed by AA and BB: the same letter once more."""
    rounds, letter = divmod(count - 1, 26)
    return chr(ord("A") + letter) * (rounds + 1)


def _roman(count: int) -> str:
    written = []
    for value, letters in (_ROMAN | _SMALL_ROMAN).items():
        times, count = divmod(count, value)
        written.append(letters * times)
    return "".join(written)
