"""Reads the lines of a page and their positions. pdfium's lines are mostly right, but it cuts table
rows at wide gaps and lines at raised letters, joins lines at a hyphen, and sometimes drops a narrow
space. The positions of the first and last letter mostly show what is right."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import accumulate, pairwise
from operator import itemgetter

from kb.engine.ingest.extract.pdf.accents import ACCENT, set_accents
from kb.engine.ingest.extract.pdf.letters import Box, Letters
from kb.engine.ingest.extract.pdf.spaces import is_torn, lone_letters, missing_and_torn
from kb.engine.ingest.extract.pdf.text import LINE_END_HYPHEN
from kb.engine.ingest.paragraphs import Cell, Line

_SPACE = 0.1  # times the letters' height; what is further apart is two words
_SAME_ROW = 0.2  # times the letters' height, up or down
_RAISED = 0.85  # times the height of the letters before: an index, an exponent, a footnote's mark
_SHARED = 0.3  # of the height of a raised letter that is beside the others
_STACKED = 0.8  # times the letters' height: an index below an exponent
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
# A line of such characters alone is one of the signs that a font has no letters for, or nothing: it
# would part the text around it.
_NOTHING = "".join(map(chr, range(0x21))) + "\x7f\xad\ufeff"
_PAGE_DIGITS = 4
_FROM_THE_RIGHT = re.compile("[\u0590-\u08ff]")  # Hebrew, Arabic
_FEWEST_ROWS = 2  # on a page that has a table
_SHORT, _MANY = 30, 8  # characters, and lines of so few
_BESIDE = 0.6  # times the letters' height, up or down; lines of prose are further apart
_ENOUGH_LETTERS = 60  # of a line, to know how high it is
_ENOUGH_LONE = 20  # letters that stand alone, to know whether they are pieces of words
_SPACES = re.compile(" +")
_LONG = 25  # letters, of what may be several words
_LONG_WORD = re.compile(rf"[^\W\d_]{{{_LONG},}}")

Stand = tuple[float, float]  # how high a letter is, and where it stands


def read_lines(letters: Letters, doubtful: bool = False) -> list[Line]:
    """As pdfium parts them. With `doubtful`, each space is held against where the letters stand."""
    lines = list(_measured(letters, doubtful or _are_words_torn(letters)))
    told = [line for line in lines if line.text.strip(_NOTHING)]
    return told if 2 * len(told) > len(lines) else lines  # a page of such signs is to be seen


def _are_words_torn(letters: Letters) -> bool:
    places = lone_letters(letters.text)[:_ENOUGH_LONE]
    torn = [is_torn([letters.box(place - back) for back in (3, 2, 0)]) for place in places]
    return 2 * sum(torn) > len(torn)


def may_have_tables(lines: list[Line]) -> bool:
    """Whether there are lines as the rows of tables are: beside others, with gaps in them, or many
    short ones."""
    found = sum([len(line.cells) > 1 for line in lines])
    if found >= _FEWEST_ROWS or sum([len(line.text) < _SHORT for line in lines]) >= _MANY:
        return True
    places = sorted([(line.bottom, line.height) for line in lines if line.height])
    found += sum([one[0] - low < _BESIDE * high for (low, high), one in pairwise(places)])
    return found >= _FEWEST_ROWS


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
    """The lines of the text, one after the other."""
    text = letters.text
    seams = _seams(text)
    has_accents = ACCENT.search(text) is not None
    start = passed = 0
    for part, behind in _parted(letters):
        line = _line(letters, part, start)
        start += len(part) + behind
        inside = bisect_left(seams, start, passed)
        if line.height and (inside > passed or has_accents or doubtful):
            found = [seam - line.start for seam in seams[passed:inside] if _is_seam(letters, seam)]
            is_short = len(line.text) <= _LONGEST_LINE
            accents = has_accents and is_short and ACCENT.search(line.text) is not None
            if found or accents or (doubtful and is_short):
                _mend(letters, line, found, accents, doubtful and is_short)
        passed = inside
        yield line


def _parted(letters: Letters) -> Iterator[tuple[str, int]]:
    """The text of each line, and how many characters are behind it that are none of its own."""
    start = 0
    for row in letters.text.split("\r\n"):
        end = start + len(row) + 2
        if LINE_END_HYPHEN in row:
            *torn, row = row.split(LINE_END_HYPHEN)
            yield from ((part + LINE_END_HYPHEN, 0) for part in torn)
        if row[-1:].isdigit() and (foot := _foot(letters, row, end - len(row) - 2)):
            yield row[:foot], 0
            row = row[foot:]
        yield row, 2
        start = end


def _foot(letters: Letters, row: str, start: int) -> int:
    """Where in a line the page's number begins, which pdfium may tell as the end of the last one
    though it stands below it, or before the column; 0 for nowhere."""
    text, _, number = row.rpartition(" ")
    if not text.strip() or not number.isdigit() or len(number) > _PAGE_DIGITS:
        return 0
    last, foot = letters.box(start + len(text.rstrip()) - 1), letters.box(start + len(text) + 1)
    if last is None or foot is None:
        return 0
    is_below = last.bottom - foot.bottom >= last.top - last.bottom
    is_before = foot.right < last.left and not _FROM_THE_RIGHT.search(text)
    return len(text) + 1 if is_below or is_before else 0


def _line(letters: Letters, part: str, start: int) -> Line:
    bare = part.strip()
    if not bare:
        return Line(part)
    if part[0].isspace():
        start += len(part) - len(part.lstrip())
    ends = letters.ends(start, start + len(bare) - 1)
    if ends is None:
        return Line(part)
    left, top, _, bottom, _, last_top, right, last_bottom = ends
    height = last_top - last_bottom
    if letters.are_tight:
        height, bottom = _extent(letters, bare, start)
    elif top - bottom == height:
        bottom = last_bottom
    else:
        height, bottom = _usual(letters, bare, start, (top - bottom, bottom), (height, last_bottom))
    height = max(0.0, height)
    line = Line(bare, left, right, bottom, height, start)
    if right - left > _LOOSE * len(bare) * height:
        line.cells = _cells(letters, line)
    else:
        line.cells = [Cell(0, left, right)]
    return line


def _mend(
    letters: Letters, line: Line, seams: list[int], has_accents: bool, doubtful: bool
) -> None:
    """Add missing spaces to a line, remove those within words, and set its accents."""
    signs = list(line.text)
    boxes: list[Box | None] = []
    if has_accents or doubtful:
        boxes = [letters.box(line.start + number) for number in range(len(line.text))]
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


def _usual(letters: Letters, text: str, start: int, first: Stand, last: Stand) -> Stand:
    """Of a letter that is as high as most: the first may be a bullet or a raised number."""
    middle = len(text) // 2
    while middle and not text[middle].isalnum():
        middle -= 1
    box = letters.box(start + middle)
    between = first if box is None else (box.top - box.bottom, box.bottom)
    return sorted([first, last, between], key=itemgetter(0))[1]


def _extent(letters: Letters, text: str, start: int) -> Stand:
    """Of all letters, since only some have ascenders and descenders."""
    step = len(text) // _ENOUGH_LETTERS + 1
    boxes = [letters.box(start + place) for place in range(0, len(text), step)]
    found = [box for box in boxes if box is not None and box.top > box.bottom]
    if not found:
        return 0.0, 0.0
    bottom = min(box.bottom for box in found)
    return max(box.top for box in found) - bottom, bottom


def _cells(letters: Letters, line: Line) -> list[Cell]:
    """The parts of a line that stand far from each other."""
    cells = [Cell(0, line.left, line.right)]
    for space in _SPACES.finditer(line.text):
        begin, end = space.span()
        gap = letters.gap(line.start + begin - 1, line.start + end)
        if gap > _CELL * line.height and (after := letters.box(line.start + end)):
            cells[-1].right = after.left - gap
            cells.append(Cell(end, after.left, line.right))
    return cells


def _seams(text: str) -> list[int]:
    """Positions in the text of a page where pdfium may have overlooked a space."""
    seams = {match.start() for match in _SEAM_BEFORE.finditer(text)}
    seams.update(match.end() for match in _SEAM_BEHIND.finditer(text))
    tokens = text.split()
    longest = max(map(len, tokens), default=0)
    long = [one for one in tokens if len(one) >= _LONG] if longest >= _LONG else []
    if any(map(_LONG_WORD.search, long)):
        for word in _LONG_WORD.finditer(text):
            seams.update(range(word.start() + 1, word.end()))
    return sorted(seams)


def _is_seam(letters: Letters, place: int) -> bool:
    before, after = letters.box(place - 1), letters.box(place)
    return (
        before is not None
        and after is not None
        and after.left - before.right > _SPACE * (after.top - after.bottom)
    )


def _same_row(above: Line, line: Line) -> bool:
    """Whether a line goes on where the one before it ended, further to the right. An index at the
    beginning of one may stand below an exponent at the end of the other."""
    if not above.height or not line.height or line.right <= above.right:
        return False
    overlap = above.right - line.left
    if abs(above.bottom - line.bottom) < _SAME_ROW * line.height:
        return overlap < _STACKED * line.height
    if overlap >= _SAME_ROW * line.height:
        return False
    small, large = sorted((above, line), key=lambda one: one.height)
    if small.height > _RAISED * large.height or line.left - above.right > _NEAR * large.height:
        return False
    top = min(small.bottom + small.height, large.bottom + large.height)
    return top - max(small.bottom, large.bottom) > _SHARED * small.height
