"""A page of a PDF in, the lines of its text and where they stand out.

pdfium gives the text in the order in which it was drawn. Its lines are mostly those of the page,
but it cuts rows of tables at wide gaps and lines at raised letters, goes on behind a hyphen at the
end of a line, and now and then leaves a narrow space out. Where the letters stand tells better, and
a look at the first and the last of each line is mostly enough.
"""

import re
from collections.abc import Iterator
from ctypes import c_ushort
from itertools import accumulate

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from kb.engine.ingest.extract.pdf_accents import ACCENT, set_accents
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
_SEAM = re.compile(
    r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)
_SPACES = re.compile(" +")
_LONG_WORD = re.compile(r"[^\W\d_]{25,}")


def read_lines(page: pdfium.PdfTextPage, doubtful: bool = False) -> list[Line]:
    """With `doubtful`, the spaces are held against where the letters stand, all of them."""
    lines: list[Line] = []
    row: list[str] = []  # what stands on one line of the page, put together once
    length = 0
    text = _text(page)
    for line in _measured(page, text, doubtful or looks_torn(text)):
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


def _text(page: pdfium.PdfTextPage) -> str:
    """All of the text. Characters that are not text may stand at both ends; pdfium trips on them.

    pypdfium2 steps over them with one nested call each, which a page can make too many.
    """
    first, last = 0, page.count_chars() - 1
    while first <= last and pdfium_c.FPDFText_GetTextIndexFromCharIndex(page, first) < 0:
        first += 1
    while last >= first and pdfium_c.FPDFText_GetTextIndexFromCharIndex(page, last) < 0:
        last -= 1
    count = last - first + 1
    if count <= 0:
        return ""
    buffer = (c_ushort * (count + 1))()
    written = pdfium_c.FPDFText_GetText(page, first, count, buffer)
    return bytes(memoryview(buffer)[: max(written - 1, 0)]).decode("utf-16-le", "surrogatepass")


def _measured(page: pdfium.PdfTextPage, text: str, doubtful: bool) -> Iterator[Line]:
    """The lines of the text, one after the other; `offset` counts as pdfium does, in UTF-16."""
    start = offset = 0
    for end in _LINE_END.finditer(text):
        part = text[start : end.start()]
        yield _line(page, part, offset, doubtful)
        offset += _units(part) + len(end[0])
        start = end.end()
    yield _line(page, text[start:], offset, doubtful)


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _line(page: pdfium.PdfTextPage, part: str, offset: int, doubtful: bool) -> Line:
    bare = part.strip()
    if not bare:
        return Line(part)
    start = offset + _units(part[: len(part) - len(part.lstrip())])
    first = _box(page, start)
    last = _box(page, start + _units(bare) - 1)
    if first is None or last is None:
        return Line(part)
    usual = _usual(page, bare, start, first, last)
    height = max(0.0, usual.top - usual.bottom)
    line = Line(bare, first.left, last.right, usual.bottom, height, start)
    if (line.right - line.left) > _LOOSE * len(bare) * height:
        line.cells = _cells(page, line)
    else:
        line.cells = [Cell(0, line.left, line.right)]
    seams = list(_seams(page, bare, start))
    is_short = len(bare) <= _LONGEST_LINE
    has_accents = is_short and ACCENT.search(bare) is not None
    if seams or has_accents or (doubtful and is_short):
        _mend(page, line, seams, has_accents, doubtful and is_short)
    return line


def _mend(
    page: pdfium.PdfTextPage, line: Line, seams: list[int], has_accents: bool, doubtful: bool
) -> None:
    """Give a line the spaces that it lacks, take those within words, and set its accents."""
    letters = list(line.text)
    boxes: list[pdfium_c.FS_RECTF | None] = []
    if has_accents or doubtful:
        offsets = accumulate(map(_units, line.text), initial=line.start)
        boxes = [_box(page, offset) for offset, _ in zip(offsets, line.text, strict=False)]
    if doubtful:
        missing, torn = missing_and_torn(line.text, boxes)
        seams = sorted({*seams, *missing})
        for space in torn:
            letters[space] = ""
    for seam in seams:
        letters[seam] = " " + letters[seam]
    if has_accents:
        set_accents(letters, boxes)
    ends = list(accumulate(map(len, letters), initial=0))
    for cell in line.cells:
        cell.start = ends[cell.start]
    line.text = "".join(letters)


def _usual(
    page: pdfium.PdfTextPage,
    text: str,
    start: int,
    first: pdfium_c.FS_RECTF,
    last: pdfium_c.FS_RECTF,
) -> pdfium_c.FS_RECTF:
    """The box of a letter that is as high as most: the first may be a bullet or a raised number."""
    middle = len(text) // 2
    while middle and not text[middle].isalnum():
        middle -= 1
    boxes = [first, last, _box(page, start + _units(text[:middle])) or first]
    return sorted(boxes, key=lambda box: box.top - box.bottom)[1]


def _cells(page: pdfium.PdfTextPage, line: Line) -> list[Cell]:
    """The parts of a line that stand far from each other."""
    cells = [Cell(0, line.left, line.right)]
    offset, seen = line.start, 0
    for space in _SPACES.finditer(line.text):
        offset += _units(line.text[seen : space.start()])
        before, after = _box(page, offset - 1), _box(page, offset + len(space[0]))
        offset, seen = offset + len(space[0]), space.end()
        if before and after and after.left - before.right > _CELL * line.height:
            cells[-1].right = before.right
            cells.append(Cell(seen, after.left, line.right))
    return cells


def _box(page: pdfium.PdfTextPage, offset: int) -> pdfium_c.FS_RECTF | None:
    """The room a character takes, as high as its font."""
    box = pdfium_c.FS_RECTF()
    index = pdfium_c.FPDFText_GetCharIndexFromTextIndex(page, offset)
    found = index >= 0 and pdfium_c.FPDFText_GetLooseCharBox(page, index, box)
    return box if found else None


def _seams(page: pdfium.PdfTextPage, text: str, offset: int) -> Iterator[int]:
    """Where in a line a space is missing that pdfium has overlooked."""
    seams = {match.start() for match in _SEAM.finditer(text)}
    for word in _LONG_WORD.finditer(text):
        seams.update(range(word.start() + 1, word.end()))
    seen = 0
    for seam in sorted(seams):
        offset += _units(text[seen:seam])
        seen = seam
        before, after = _box(page, offset - 1), _box(page, offset)
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
