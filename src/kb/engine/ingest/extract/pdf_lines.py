"""A page of a PDF in, the lines of its text and where they stand out.

pdfium gives the text in the order in which it was drawn. Its lines are mostly those of the page,
but it cuts rows of tables at wide gaps, and now and then leaves a narrow space out. Where the
letters stand tells better, and a look at the first and the last of each line is enough.
"""

import re
from collections.abc import Iterator
from ctypes import c_ushort

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from kb.engine.ingest.paragraphs import Line

_BREAK = "\r\n"
_SPACE = 0.1  # times the letters' height; what is further apart is two words
_SAME_ROW = 0.2  # times the letters' height, up or down
# Where a space may be missing: between digit and letter, small and capital letter, or anywhere in
# what is too long for a word. Only there the letters are looked at: a look at each would double
# the time for a page.
_SEAM = re.compile(
    r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
)
_LONG_WORD = re.compile(r"[^\W\d_]{25,}")


def read_lines(page: pdfium.PdfTextPage) -> list[Line]:
    lines: list[Line] = []
    row: list[str] = []  # what stands on one line of the page, put together once
    for line in _measured(page, _text(page)):
        if lines and _same_row(lines[-1], line):
            adjacent = line.left - lines[-1].right < _SPACE * line.height
            row += [line.text] if adjacent else [" ", line.text]
            lines[-1].right = line.right
        else:
            if lines:
                lines[-1].text = "".join(row)
            row = [line.text]
            lines.append(line)
    if lines:
        lines[-1].text = "".join(row)
    return lines


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


def _measured(page: pdfium.PdfTextPage, text: str) -> Iterator[Line]:
    """The lines of the text, one after the other; `offset` counts as pdfium does, in UTF-16."""
    start = offset = 0
    while start <= len(text):
        end = text.find(_BREAK, start)
        part = text[start : end if end >= 0 else len(text)]
        yield _line(page, part, offset)
        offset += _units(part) + len(_BREAK)
        start += len(part) + len(_BREAK)


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def _line(page: pdfium.PdfTextPage, part: str, offset: int) -> Line:
    bare = part.strip()
    if not bare:
        return Line(part)
    start = offset + _units(part[: len(part) - len(part.lstrip())])
    first = _box(page, start)
    last = _box(page, start + _units(bare) - 1)
    if first is None or last is None:
        return Line(part)
    height = max(0.0, first.top - first.bottom)
    return Line(_parted(page, bare, start), first.left, last.right, first.bottom, height)


def _box(page: pdfium.PdfTextPage, offset: int) -> pdfium_c.FS_RECTF | None:
    """The room a character takes, as high as its font."""
    box = pdfium_c.FS_RECTF()
    index = pdfium_c.FPDFText_GetCharIndexFromTextIndex(page, offset)
    found = index >= 0 and pdfium_c.FPDFText_GetLooseCharBox(page, index, box)
    return box if found else None


def _parted(page: pdfium.PdfTextPage, text: str, offset: int) -> str:
    """The text of a line with the spaces that pdfium has overlooked."""
    seams = {match.start() for match in _SEAM.finditer(text)}
    for word in _LONG_WORD.finditer(text):
        seams.update(range(word.start() + 1, word.end()))
    parts = []
    cut = seen = 0
    for seam in sorted(seams):
        offset += _units(text[seen:seam])
        seen = seam
        before, after = _box(page, offset - 1), _box(page, offset)
        if before and after and after.left - before.right > _SPACE * (after.top - after.bottom):
            parts.append(text[cut:seam])
            cut = seam
    return " ".join([*parts, text[cut:]])


def _same_row(above: Line, line: Line) -> bool:
    """Whether a line goes on where the one before it ended, further to the right."""
    if not above.height or not line.height:
        return False
    near = abs(above.bottom - line.bottom) < _SAME_ROW * line.height
    return near and line.left > above.right - _SAME_ROW * line.height
