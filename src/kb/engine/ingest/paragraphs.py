"""Lines of a page in, its text out, with a blank line where the layout begins a paragraph."""

from dataclasses import dataclass
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


@dataclass(slots=True)
class Line:
    """A line of text and where it stands: to the right and upwards from the lower left corner."""

    text: str
    left: float = 0.0
    right: float = 0.0
    bottom: float = 0.0
    height: float = 0.0  # of its letters; 0 where it is not known


def paragraphs(lines: list[Line]) -> str:
    """The lines as text. A heading stays with what it is the heading of."""
    gaps = [_gap(above, line) for above, line in pairwise(lines)]
    out: list[str] = []
    began = 0  # the line that this paragraph began with
    for number, line in enumerate(lines):
        if number and _begins(lines, gaps, number, began):
            out.append("")
            began = number
        out.append(line.text)
    return "\n".join(out)


def _gap(above: Line, line: Line) -> float | None:
    """How much lower a line stands than the one before it, if both are somewhere."""
    return above.bottom - line.bottom if above.height and line.height else None


def _begins(lines: list[Line], gaps: list[float | None], number: int, began: int) -> bool:
    above, line, gap = lines[number - 1], lines[number], gaps[number - 1]
    if gap is None:
        return False
    if gap < -_JUMP * line.height:
        return not line.text[:1].islower()  # a sentence may go on in the next column
    before = gaps[number - 2] if number > 1 else None
    after = gaps[number] if number < len(gaps) else None
    if gap > _WIDER * _spacing(line.height, before, after):
        return not _is_heading(above, line, number - began, gap, before)
    left = lines[number + 1].left if number + 1 < len(lines) else above.left
    shortest, longest = (times * line.height for times in _INDENT)
    indented = shortest < line.left - above.left < longest and abs(left - above.left) < shortest / 4
    return indented and above.text.endswith(_ENDS)


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
