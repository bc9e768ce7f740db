"""Divides a page into paragraphs, where the layout begins one and no sentence runs on."""

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
_HIGHEST = 6.0  # times the letters' height, where a formula is, which may be several lines high
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
_IN_FORMULA = re.compile(r"[=<>+−±×≈≡∼≃∝≤≥≠←→⇒∈⊂⊆∪∩∑∏∫√∂∇∞|]")
_NUMBER = re.compile(r"\(\w{1,3}(?:\.\w{1,3})*\)$")  # of a formula
_WORD = re.compile(r"[^\W\d_]{4,}")
_TWO_WORDS = re.compile(r"[^\W\d_]{3,}[,;:]?\s+[^\W\d_]{3,}")
_NOTE_LINES = 12  # of footnotes that are looked at
# What a footnote or the number of a page begins with.
MARK = re.compile(r"\W?\s?\d{1,3}(?![\d.,])|[*†‡§¶]")
_CAPTIONS = frozenset("FfTtAaL")  # what their first words begin with; most lines do not
_CAPTION = re.compile(
    r"(?:(?i:Fig(?:ure|\.)?|Tab(?:le|elle|\.)|Abb(?:ildung|\.))|Algorithm|Listing)\s*"
    r"(?:\d|[IVX]+\b)"
    r"(?![\w.]*(?:[,)]|\s+[a-z]))"  # which begins a sentence about it
)


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
    is_caption = False
    for number, line in enumerate(lines):
        if (
            number == 0
            or (lines[number - 1].height > _ALIKE * line.height and _is_note(lines, number))
            or (line.text.isdigit() and _is_page_number(lines, number))
            or (line.left < lines[number - 1].left and _is_foot(lines, number))
            or (
                _begins(lines, gaps, number, began)
                # A single line at the head of a page is its title.
                and not (number > 1 and _goes_on(lines[number - 1], line, is_caption))
                and not _is_in_formula(lines[max(began, number - _PIECES) : number], line)
                and not (not is_caption and _is_behind_formula(lines[number - 1], line))
            )
        ):
            groups.append([])
            began = number
            is_caption = False
        is_caption = is_caption or begins_caption(line.text)
        groups[-1].append(line)
    return groups


def begins_caption(text: str) -> bool:
    return text[:1] in _CAPTIONS and _CAPTION.match(text) is not None


def ends_open(text: str) -> bool:
    """Whether a sentence is not at its end with this line: it ends in a word, a comma, a dash."""
    last = text.rstrip()[-1:]
    return last.isalpha() or last in _OPEN or (last.isdigit() and len(text) > _HEADING)


def begins_within(text: str) -> bool:
    """Whether a line begins inside a sentence: with a small letter that is no label."""
    return text.lstrip("“\"'(")[:1].islower() and not _LABEL.match(text)


def wants_more(text: str) -> bool:
    """Whether no sentence can end so, whatever follows."""
    return text.endswith((",", *HYPHENS)) or ends_small(text)


def ends_small(text: str) -> bool:
    """Whether it ends in a word that others follow; in a name or a title such a word is large."""
    word = text[-20:].rpartition(" ")[2]
    if len(text) > _HEADING / 2 and len(word) > 1 and word.istitle():
        word = word.lower()
    return word in _SMALL_WORDS


def alike(one: Line, other: Line) -> bool:
    """Whether two lines are set in letters of one size."""
    small, large = sorted((one.height, other.height))
    return large <= _ALIKE * small


def _goes_on(above: Line, line: Line, is_caption: bool) -> bool:
    """Whether a sentence goes on here, whatever the layout says: across a hyphen, around a
    formula that parts the lines, in the next column; but not below the caption of a figure."""
    gap = above.bottom - line.bottom
    if not ends_open(above.text) or gap > _FAR * line.height or line.is_row or above.is_row:
        return False
    if 0 < gap < _NEAR * max(line.height, above.height):
        return wants_more(above.text) or (
            begins_within(line.text) and above.height < _LARGER * line.height
        )
    return not is_caption and alike(above, line) and begins_within(line.text)


def _is_in_formula(before: list[Line], line: Line) -> bool:
    """Whether it stands right of an operator at its height, or beside a piece of a formula."""
    is_piece = _is_piece(line.text)
    return any(
        abs(one.bottom - line.bottom) < _NEAR * one.height
        and (
            (one.right - one.height < line.left and _OPERATOR.search(one.text))
            or (is_piece and is_formula(one.text) and _is_near(one, line))
        )
        for one in before
    )


def is_formula(text: str) -> bool:
    return _IN_FORMULA.search(text) is not None and _TWO_WORDS.search(text) is None


def _is_piece(text: str) -> bool:
    return _WORD.search(text) is None or is_formula(text)


def _is_near(one: Line, line: Line) -> bool:
    least = min(one.height, 2 * line.height)
    return (
        abs(one.bottom - line.bottom) < _NEAR * least
        and line.left - one.right < _FAR * least
        and one.left - line.right < _FAR * least
    )


def _is_behind_formula(above: Line, line: Line) -> bool:
    """Whether a sentence goes on below a formula, which may end with its number."""
    return (
        0 < above.bottom - line.bottom < _DISPLAYED * line.height
        and begins_within(line.text)
        and not above.text.endswith(".")
        and (is_formula(above.text) or _NUMBER.match(above.text) is not None)
    )


def _is_note(lines: list[Line], number: int) -> bool:
    """Whether a smaller line below the text, set apart, is a footnote or the number of the page.
    Below code, which may have numbers as well, the text goes on."""
    above, line = lines[number - 1], lines[number]
    if above.bottom - line.bottom < _WIDEST * above.height or not MARK.match(line.text):
        return False
    for last, below in pairwise(lines[number : number + _NOTE_LINES]):
        if below.bottom > last.bottom:
            break
        if below.height > _ALIKE * line.height and not below.text.isdigit():
            return False
    return True


def _is_page_number(lines: list[Line], number: int) -> bool:
    """Whether a number stands between two columns, or below the last line."""
    return lines[number].right < lines[number - 1].left or _is_last(lines, number)


def _is_foot(lines: list[Line], number: int) -> bool:
    """Whether it is below all columns, however the last of them ends."""
    line = lines[number]
    left = lines[number - 1].left - line.left
    return (
        left > _FAR * line.height > 0
        and not begins_within(line.text)  # as it does below a formula
        and _is_last(lines, number)
    )


def _is_last(lines: list[Line], number: int) -> bool:
    """Whether it stands apart, with nothing below it."""
    line = lines[number]
    is_last = (
        number + 1 == len(lines)
        or lines[number + 1].bottom - line.bottom > _JUMP * lines[number - 1].height
    )
    return is_last and lines[number - 1].bottom - line.bottom > _WIDEST * line.height


def _is_displayed(above: Line, line: Line, gap: float, after: float | None) -> bool:
    """Whether it is code or a formula that a sentence goes on with. The foot of a page, which may
    stand as near, has nothing below it."""
    if not 0 < gap < _DISPLAYED * above.height or not after or not ends_small(above.text):
        return False
    if line.left - above.left > _SET_IN * above.height:
        return True
    if after < 0 or gap > _DISPLAYED * line.height:
        return False
    is_heading = line.text[:1].isupper() or line.text[:1].isdigit()
    return not is_heading and alike(above, line)


def _begins_formula(lines: list[Line], number: int, gap: float) -> bool:
    """Whether a sentence goes on with a formula, whose first piece may be a numerator or index."""
    above, line = lines[number - 1], lines[number]
    if not 0 < gap < _HIGHEST * above.height or not ends_open(above.text):
        return False
    if line.left - above.left < _SET_IN * above.height or not _is_piece(line.text):
        return False
    return any(
        is_formula(one.text) and abs(one.bottom - line.bottom) < _NEAR * above.height
        for one in lines[number : number + 3]
    )


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
            if _is_displayed(above, line, gap, after) or _begins_formula(lines, number, gap):
                return False
            is_caption = begins_caption(lines[began].text) or begins_caption(line.text)
            return is_caption or not _is_heading(above, line, number - began, gap, before)
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
    """Whether the text above is separate, and larger or nearer: it stays with the line."""
    text = above.text
    if lines > 2 or len(text) > _HEADING or text.endswith(_SENTENCE_ENDS) or text.isdigit():
        return False
    if gap > _FAR * line.height:
        return False
    if above.height > _LARGER * line.height:
        return True
    return before is not None and before > 0 and gap <= before + 0.1 * line.height
