"""A page of a PDF in, the lines of its text and where they stand out.

pdfium gives the text in the order in which it was drawn. Its lines are mostly those of the page,
but it cuts rows of tables at wide gaps and lines at raised letters, goes on behind a hyphen at the
end of a line, and now and then leaves a narrow space out. Where the letters stand tells better, and
a look at the first and the last of each line is mostly enough.
"""

import re
from collections.abc import Iterator
from itertools import accumulate, pairwise

from kb.engine.ingest.extract.pdf_accents import ACCENT, set_accents
from kb.engine.ingest.extract.pdf_letters import Box, Letters, units
from kb.engine.ingest.extract.pdf_spaces import looks_torn, missing_and_torn
from kb.engine.ingest.extract.pdf_text import LINE_END_HYPHEN
from kb.engine.ingest.paragraphs import Cell, Line

_LINE_END = re.compile(f"\r\n|(?<={LINE_END_HYPHEN})")
_SPACE = 0.1  # times the letters' height; what is further apart is two words
_SAME_ROW = 0.2  # times the letters' height, up or down
_RAISED = 0.85  # times the height of the letters before: an index, an exponent, a footnote's mark
_SHARED = 0.3  # of the height of a raised letter that is beside the others
_NEAR = 0.6  # times the letters' height
# Width over number of letters and their height: prose has .4 to .5, what is wider may have cells.
_LOOSE = 0.55
_LONGEST_LINE = 500  # characters, of those whose letters are all looked at
_CELL = 0.8  # times the letters' height; words of one sentence are nearer, in a wide line, too
# Where a space may be missing: between digit and letter, small and capital letter, or anywhere in
# what is too long for a word. Only there the letters are looked at: a look at each would double
# the time for a page.
# Each begins with what is rare in a text, so that most of it is passed over quickly.
_SEAM_BEFORE = re.compile(r"[\dA-Z](?:(?<=[a-z][A-Z])|(?<=[^\W\d_]\d)|(?<=[A-Z][A-Z])(?=[a-z]))")
_SEAM_BEHIND = re.compile(r"\d(?=[^\W\d_])")
_FEWEST_CELLS = 5  # on a page that has a table
_SHORT = 30  # characters
_SPACES = re.compile(" +")
_LONG = 25  # letters, of what may be several words
_LONG_WORD = re.compile(rf"[^\W\d_]{{{_LONG},}}")


def read_lines(letters: Letters, doubtful: bool = False) -> list[Line]:
    """As pdfium parts them. With `doubtful`, the spaces are held against where the letters stand,
    all of them."""
    return list(_measured(letters, doubtful or looks_torn(letters.text)))


def may_have_tables(lines: list[Line]) -> bool:
    """Whether there are lines as cells are: short, beside others, or with gaps in them."""
    found = 0
    for above, line in pairwise(lines):
        beside = above.height and above.bottom < line.bottom + _SAME_ROW * line.height
        found += len(line.text) < _SHORT or bool(beside) or len(line.cells) > 1
        if found >= _FEWEST_CELLS:
            return True
    return False


def whole_rows(parts: list[Line]) -> list[Line]:
    """The lines as they are on the page: what stands side by side is one."""
    lines: list[Line] = []
    row: list[str] = []  # what stands on one line of the page, put together once
    length = 0
    for line in parts:
        if lines and _same_row(lines[-1], line):
            near = line.left - lines[-1].right < _SPACE * line.height
            space = "" if near and line.height > _RAISED * lines[-1].height else " "
            length += len(space)
            _widen(lines[-1], line, length)
            row += [space, line.text]
        else:
            if lines:
                lines[-1].text = "".join(row)
            row, length = [line.text], 0
            lines.append(line)
        length += len(line.text)
    if lines:
        lines[-1].text = "".join(row)
    return lines


def _widen(row: Line, line: Line, at: int) -> None:
    """Add to a row what stands right of it; `at` is where its text goes."""
    cells = [Cell(cell.start + at, cell.left, cell.right) for cell in line.cells]
    if cells and row.cells and line.left - row.right <= _CELL * line.height:
        row.cells[-1].right = cells.pop(0).right
    row.cells += cells
    row.right = line.right
    if line.height > row.height:
        row.bottom, row.height = line.bottom, line.height


def _measured(letters: Letters, doubtful: bool) -> Iterator[Line]:
    """The lines of the text, one after the other; `offset` counts as pdfium does, in UTF-16."""
    text = letters.text
    start = offset = 0
    for end in _LINE_END.finditer(text):
        part = text[start : end.start()]
        yield _line(letters, part, offset, doubtful)
        offset += units(part) + len(end[0])
        start = end.end()
    yield _line(letters, text[start:], offset, doubtful)


def _line(letters: Letters, part: str, offset: int, doubtful: bool) -> Line:
    bare = part.strip()
    if not bare:
        return Line(part)
    start = offset + units(part[: len(part) - len(part.lstrip())])
    first = letters.box(start)
    last = letters.box(start + units(bare) - 1)
    if first is None or last is None:
        return Line(part)
    usual = _usual(letters, bare, start, first, last)
    height = max(0.0, usual.top - usual.bottom)
    line = Line(bare, first.left, last.right, usual.bottom, height, start)
    if (line.right - line.left) > _LOOSE * len(bare) * height:
        line.cells = _cells(letters, line)
    else:
        line.cells = [Cell(0, line.left, line.right)]
    seams = list(_seams(letters, bare, start))
    is_short = len(bare) <= _LONGEST_LINE
    has_accents = is_short and ACCENT.search(bare) is not None
    if seams or has_accents or (doubtful and is_short):
        _mend(letters, line, seams, has_accents, doubtful and is_short)
    return line


def _mend(
    letters: Letters, line: Line, seams: list[int], has_accents: bool, doubtful: bool
) -> None:
    """Give a line the spaces that it lacks, take those within words, and set its accents."""
    signs = list(line.text)
    boxes: list[Box | None] = []
    if has_accents or doubtful:
        offsets = accumulate(map(units, line.text), initial=line.start)
        boxes = [letters.box(offset) for offset, _ in zip(offsets, line.text, strict=False)]
    if doubtful:
        missing, torn = missing_and_torn(line.text, boxes)
        seams = sorted({*seams, *missing})
        for space in torn:
            signs[space] = ""
    for seam in seams:
        signs[seam] = " " + signs[seam]
    if has_accents:
        set_accents(signs, boxes)
    ends = list(accumulate(map(len, signs), initial=0))
    for cell in line.cells:
        cell.start = ends[cell.start]
    line.text = "".join(signs)


def _usual(letters: Letters, text: str, start: int, first: Box, last: Box) -> Box:
    """The box of a letter that is as high as most: the first may be a bullet or a raised number."""
    if first.top - first.bottom == last.top - last.bottom:
        return last
    middle = len(text) // 2
    while middle and not text[middle].isalnum():
        middle -= 1
    boxes = [first, last, letters.box(start + units(text[:middle])) or first]
    return sorted(boxes, key=lambda box: box.top - box.bottom)[1]


def _cells(letters: Letters, line: Line) -> list[Cell]:
    """The parts of a line that stand far from each other."""
    cells = [Cell(0, line.left, line.right)]
    offset, seen = line.start, 0
    for space in _SPACES.finditer(line.text):
        offset += units(line.text[seen : space.start()])
        before, after = letters.box(offset - 1), letters.box(offset + len(space[0]))
        offset, seen = offset + len(space[0]), space.end()
        if before and after and after.left - before.right > _CELL * line.height:
            cells[-1].right = before.right
            cells.append(Cell(seen, after.left, line.right))
    return cells


def _seams(letters: Letters, text: str, offset: int) -> Iterator[int]:
    """Where in a line a space is missing that pdfium has overlooked."""
    seams = {match.start() for match in _SEAM_BEFORE.finditer(text, 1)}
    seams.update(match.end() for match in _SEAM_BEHIND.finditer(text))
    if max(map(len, text.split())) >= _LONG:
        for word in _LONG_WORD.finditer(text):
            seams.update(range(word.start() + 1, word.end()))
    seen = 0
    for seam in sorted(seams):
        offset += units(text[seen:seam])
        seen = seam
        before, after = letters.box(offset - 1), letters.box(offset)
        if before and after and after.left - before.right > _SPACE * (after.top - after.bottom):
            yield seam


def _same_row(above: Line, line: Line) -> bool:
    """Whether a line goes on where the one before it ended, further to the right."""
    if not above.height or not line.height or line.left <= above.right - _SAME_ROW * line.height:
        return False
    if abs(above.bottom - line.bottom) < _SAME_ROW * line.height:
        return True
    small, large = sorted((above, line), key=lambda one: one.height)
    if small.height > _RAISED * large.height or line.left - above.right > _NEAR * large.height:
        return False
    top = min(small.bottom + small.height, large.bottom + large.height)
    return top - max(small.bottom, large.bottom) > _SHARED * small.height
