"""Divides a page into paragraphs: where the layout begins one and no sentence runs on."""

import re
from dataclasses import dataclass, field
from itertools import pairwise

# Times the distance of the lines beside it: 1.05 in real tables, 1.4 and more between paragraphs.
_WIDER = 1.25
_WIDEST = 1.6  # times the letters' height, for two lines that have no others beside them
_JUMP = 3.0  # times the letters' height, upwards: the next column, or a header drawn last
_INDENT = (0.8, 6.0)  # times the letters' height, to the right
_SENTENCE_ENDS = tuple(".!?;…。！？；")
_ENDS = (*_SENTENCE_ENDS, *":”\"')：」』）")
_HEADING = 80  # characters; what is longer is a paragraph
_LARGER = 1.15  # times the letters' height
_ALIKE = 1.12  # times the letters' height, at most, within one sentence
_FAR = 8.0  # times the letters' height: a sentence does not go on behind so much nothing
_NEAR = 2.5  # times the letters' height, around a formula
_DISPLAYED = 4.5  # times the letters' height, where code or a formula is set apart in a sentence
_SET_IN = 0.6  # times the letters' height: a formula, which may begin with anything
_LABEL = re.compile(r"(?:[a-z]|[ivx]{1,4})[.)]\s")  # of a list's item: a small letter or numeral
# No sentence ends with them, in the languages that most documents are written in.
_WORDS_WITHIN = """
    a an the of and or in into to for with by on at from as than that which is are was be its this
    der die das den dem des und oder von mit für zu im ein eine einer einem le la les de et ou du un
    une en par pour que el los las y con por del al il lo gli di e da per o em do dos das na het een
    van op
"""
_SMALL_WORDS = frozenset(_WORDS_WITHIN.split())
HYPHENS = ("-", "\u2010", "\ufffe")
_OPEN = (",", "—", *HYPHENS)
# A formula has more behind them, which may stand higher or lower: a fraction, the bounds of a sum.
_OPERATOR = re.compile(r"(?:(?:^|\s)[=+−±×≈≤≥≠←∈∑∏∫√]|[(\[{⎛⎜⎝⎡⎢⎣\uf8eb-\uf8f0])$")
_PIECES = 8  # of a formula, each a line for itself
_NOTE_LINES = 12  # of footnotes that are looked at
# What a footnote or the number of a page begins with.
_MARK = re.compile(r"\W?\s?\d{1,3}(?![\d.,])|[*†‡§¶]")


@dataclass(slots=True)
class Cell:
    """A part of a line that stands apart; its text goes from `start` to where the next begins."""

    start: int
    left: float
    right: float


@dataclass(slots=True)
class Line:
    """A line of text and where it stands: to the right and upwards from the lower left corner."""

    text: str
    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    height: float = 0.0  # of its letters; 0 where it is not known
    start: int = -1  # of its first letter on the page, as its reader counts them
    cells: list[Cell] = field(default_factory=list)
    is_row: bool = False  # of a table, with its cells parted by |


def paragraphs(lines: list[Line]) -> str:
    """The lines as text, with a blank line where a paragraph begins."""
    return "\n\n".join("\n".join(line.text for line in group) for group in grouped(lines))


def grouped(lines: list[Line]) -> list[list[Line]]:
    """The lines of each paragraph. A heading stays with what it is the heading of."""
    gaps = [_gap(above, line) for above, line in pairwise(lines)]
    groups: list[list[Line]] = []
    began = 0  # the line that this paragraph began with
    for number, line in enumerate(lines):
        if (
            number == 0
            or (lines[number - 1].height > _ALIKE * line.height and _is_note(lines, number))
            or (line.text.isdigit() and _is_page_number(lines, number))
            or (
                _begins(lines, gaps, number, began)
                and not _goes_on(lines[number - 1], line)
                and not _is_in_formula(lines[max(began, number - _PIECES) : number], line)
            )
        ):
            groups.append([])
            began = number
        groups[-1].append(line)
    return groups


def ends_open(text: str) -> bool:
    """Whether a sentence is not at its end with this line: it ends in a word, a comma, a dash."""
    last = text.rstrip()[-1:]
    return last.isalpha() or last in _OPEN or (last.isdigit() and len(text) > _HEADING)


def begins_within(text: str) -> bool:
    """Whether a line begins inside a sentence: with a small letter that is no label."""
    return text.lstrip("“\"'(")[:1].islower() and not _LABEL.match(text)


def wants_more(text: str) -> bool:
    """Whether no sentence can end so, whatever follows."""
    return text.endswith((",", *HYPHENS)) or _ends_small(text)


def _ends_small(text: str) -> bool:
    """Whether it ends in a word that others follow; in a name or a title such a word is large."""
    word = text[-20:].rpartition(" ")[2]
    if len(text) > _HEADING / 2 and len(word) > 1 and word.istitle():
        word = word.lower()
    return word in _SMALL_WORDS


def alike(one: Line, other: Line) -> bool:
    """Whether two lines are set in letters of one size."""
    small, large = sorted((one.height, other.height))
    return large <= _ALIKE * small


def _goes_on(above: Line, line: Line) -> bool:
    """Whether a sentence goes on here, whatever the layout says: across a hyphen, around a
    formula that parts the lines, in the next column."""
    gap = above.bottom - line.bottom
    if not ends_open(above.text) or gap > _FAR * line.height or line.is_row or above.is_row:
        return False
    if 0 < gap < _NEAR * max(line.height, above.height):
        return wants_more(above.text) or (
            begins_within(line.text) and above.height < _LARGER * line.height
        )
    return alike(above, line) and begins_within(line.text)


def _is_in_formula(before: list[Line], line: Line) -> bool:
    """Whether it stands right of an operator, at about its height."""
    return any(
        one.right - one.height < line.left
        and abs(one.bottom - line.bottom) < _NEAR * one.height
        and _OPERATOR.search(one.text)
        for one in before
    )


def _is_note(lines: list[Line], number: int) -> bool:
    """Whether a smaller line below the text, set apart, is a footnote or the number of the page.
    Below code, which may have numbers as well, the text goes on."""
    above, line = lines[number - 1], lines[number]
    if above.bottom - line.bottom < _WIDEST * above.height or not _MARK.match(line.text):
        return False
    for last, below in pairwise(lines[number : number + _NOTE_LINES]):
        if below.bottom > last.bottom:
            break
        if below.height > _ALIKE * line.height and not below.text.isdigit():
            return False
    return True


def _is_page_number(lines: list[Line], number: int) -> bool:
    """Whether a number stands between two columns, or below the last line."""
    above, line = lines[number - 1], lines[number]
    if line.right < above.left:
        return True
    is_last = number + 1 == len(lines) or lines[number + 1].bottom > line.bottom
    return is_last and above.bottom - line.bottom > _WIDEST * line.height


def _is_displayed(above: Line, line: Line, gap: float, after: float | None) -> bool:
    """Whether it is code or a formula that a sentence goes on with. The foot of a page, which may
    stand as near, has nothing below it."""
    if not 0 < gap < _DISPLAYED * above.height or not after or not _ends_small(above.text):
        return False
    if line.left - above.left > _SET_IN * above.height:
        return True
    if after < 0 or gap > _DISPLAYED * line.height:
        return False
    is_heading = line.text[:1].isupper() or line.text[:1].isdigit()
    return not is_heading and alike(above, line)


def _gap(above: Line, line: Line) -> float | None:
    """How much lower a line stands than the one before it, if both are somewhere."""
    return above.bottom - line.bottom if above.height and line.height else None


def _begins(lines: list[Line], gaps: list[float | None], number: int, began: int) -> bool:
    above, line, gap = lines[number - 1], lines[number], gaps[number - 1]
    if gap is None:
        return False
    if gap < -_JUMP * line.height:
        return True  # the next column
    if gap > _WIDER * line.height:  # most lines are nearer, whatever stands beside them
        before = gaps[number - 2] if number > 1 else None
        after = gaps[number] if number < len(gaps) else None
        if gap > _WIDER * _spacing(line.height, before, after):
            if _is_displayed(above, line, gap, after):
                return False
            return not _is_heading(above, line, number - began, gap, before)
    shortest, longest = _INDENT
    if not shortest * line.height < line.left - above.left < longest * line.height:
        return False
    left = lines[number + 1].left if number + 1 < len(lines) else above.left
    return abs(left - above.left) < shortest * line.height / 4 and above.text.endswith(_ENDS)


def _spacing(height: float, *gaps: float | None) -> float:
    """From line to line, by the neighbours; not less than lines can be apart at that size."""
    beside = [gap for gap in gaps if gap and gap > 0.5 * height]
    return max(height, min(beside, default=_WIDEST * height))


def _is_heading(above: Line, line: Line, lines: int, gap: float, before: float | None) -> bool:
    """Whether what is above stands for itself, and larger or nearer: it stays with the line."""
    text = above.text
    if lines > 2 or len(text) > _HEADING or text.endswith(_SENTENCE_ENDS) or text.isdigit():
        return False
    if above.height > _LARGER * line.height:
        return True
    return before is not None and before > 0 and gap <= before + 0.1 * line.height
