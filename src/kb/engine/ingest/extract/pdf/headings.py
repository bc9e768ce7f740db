"""Finds headings, and the title of a document, by the size and weight of their letters."""

import re
from collections import Counter
from ctypes import c_int, create_string_buffer

import pypdfium2.raw as pdfium_c

from kb.engine.ingest.extract.pdf.letters import Letters
from kb.engine.ingest.extract.pdf.lines import read_lines, whole_rows
from kb.engine.ingest.paragraphs import Line, begins_caption

_LONGEST = 120  # characters of a heading
_MOST_LINES = 3
_MOST_HEADINGS = 3  # one below the other
_LEVELS = ((1.6, 1), (1.3, 2), (1.12, 3))  # times the height of the letters of the text
_BOLD_LEVEL = 4
_BOLD = re.compile(r"bold|black|heavy|demi|cmbx|cmssbx|bx\d|[-,]B\b|Medi\b", re.IGNORECASE)
_HEAVY = 600
_REGULAR = re.compile(r"roman$|regular$", re.IGNORECASE)  # whatever its weight is said to be
_ALIKE = 0.08  # times the height of letters that are set alike
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s+[^\W\d]")
_NO_HEADING = re.compile(
    r"[.,;:!?，；：！？]$|。|^[^\w(“\"¿¡]|^\W*\d[\d\W]*$|^(?:Figure|Fig\.|Table|Abb|[表图圖図]\s*\d)"
)
_LETTERS = re.compile(r"[^\W\d_]{2}")
_PAGE_NUMBER = re.compile(r"^\d+\s+|\s+\d+$")
_TITLE_LARGER = 1.15  # times the height of the letters of the text
_TITLE_LINES = 4
_TITLE_APART = 2.2  # times the letters' height, from one of its lines to the next
_NOTE_MARKS = " :*∗†‡§¶"
_MOST_EDGES = 1_000
_NAME = 100  # bytes of a font's name
_FIXED = 1  # of a font's flags: all letters of one width

Heading = tuple[int, int]  # how many lines, and of which level


class Styles:
    """How the text of a document is set, as far as it has been read."""

    def __init__(self) -> None:
        self._heights: Counter[float] = Counter()
        self.body = 0.0  # the height of most letters
        self._edges: set[tuple[str, int]] = set()  # first and last lines of pages

    def learn(self, lines: list[Line]) -> None:
        for line in lines:
            if line.height:
                self._heights[round(line.height * 4) / 4] += len(line.text)
        if self._heights:
            self.body = self._heights.most_common(1)[0][0]

    def page_headings(self, letters: Letters, paragraphs: list[list[Line]]) -> list[list[Heading]]:
        """Of each paragraph. What repeats at the top or the bottom of pages is none."""
        found = [self.headings(letters, paragraph) for paragraph in paragraphs]
        for edge, paragraph in [(0, paragraphs[:1]), (-1, paragraphs[1:][-1:])]:
            if paragraph and self._repeats(paragraph[0][0]):
                found[edge] = []
        return found

    def _repeats(self, line: Line) -> bool:
        """Whether such a line has been at the edge of a page before, with another page's number."""
        text = line.text.strip()
        bare = _PAGE_NUMBER.sub("", text)
        edge = (bare if len(bare.split()) > 1 else text, round(line.height))  # not "Chapter 2"
        if edge in self._edges:
            return True
        if len(self._edges) < _MOST_EDGES:
            self._edges.add(edge)
        return False

    def headings(self, letters: Letters, paragraph: list[Line]) -> list[Heading]:
        """Those at its head, one below the other."""
        found: list[Heading] = []
        start = 0
        while start < len(paragraph) and len(found) < _MOST_HEADINGS:
            count, level = self._heading(letters, paragraph[start:])
            if not level:
                break
            found.append((count, level))
            start += count
        return found

    def _heading(self, letters: Letters, paragraph: list[Line]) -> Heading:
        """The first; none and 0 without."""
        if not self.body or paragraph[0].is_row:
            return 0, 0
        level = self._level(letters, paragraph[0], self.body)
        if not level:
            return 0, 0
        count = 1
        for line in paragraph[1 : _MOST_LINES + 1]:
            if not self._same(letters, paragraph[0], line):
                break
            count += 1
        texts = [line.text for line in paragraph[:count]]
        if count > _MOST_LINES or len(" ".join(texts)) > _LONGEST:
            return 0, 0
        numbered = _NUMBERED.match(texts[0])
        for count, below in enumerate(texts[1:], start=1):
            if begins_caption(below) or (numbered and _NUMBERED.match(below)):
                texts = texts[:count]
                break
        if _NO_HEADING.search(" ".join(texts).strip()):
            return 0, 0
        return len(texts), min(numbered[1].count(".") + 2, 6) if numbered else level

    def _level(self, letters: Letters, line: Line, body: float) -> int:
        text = line.text.strip()
        if len(text) > _LONGEST or not _LETTERS.search(text) or line.height < 0.9 * body:
            return 0
        for times, level in _LEVELS:
            if line.height >= times * body:
                return level
        if text[:1].islower() or not is_bold(letters, line.start):
            return 0
        return _BOLD_LEVEL if is_bold(letters, line.start + len(text) - 1) else 0

    def _same(self, letters: Letters, one: Line, other: Line) -> bool:
        if not _alike(other.height, one.height):
            return False
        return is_bold(letters, one.start) == is_bold(letters, other.start)


def largest_text(letters: Letters) -> str:
    """The text of a page in its largest letters, if they are larger than those of the text."""
    styles = Styles()
    lines = [line for line in whole_rows(read_lines(letters)) if line.height]
    styles.learn(lines)
    worded = [line for line in lines if _is_worded(line.text)]
    height = max((line.height for line in worded), default=0.0)
    first = next((line for line in worded if _alike(line.height, height)), None)
    if first is None or height < _TITLE_LARGER * styles.body:
        return ""
    title = [first]
    for line in lines[lines.index(first) + 1 :][: _TITLE_LINES - 1]:
        below = title[-1].bottom - line.bottom
        if not _alike(line.height, height) or not 0 < below < _TITLE_APART * height:
            break
        title.append(line)
    return " ".join(line.text.strip() for line in title).rstrip(_NOTE_MARKS)


def _is_worded(text: str) -> bool:
    """Whether it is mostly letters, unlike the stamp of an archive or a date."""
    letters = sum(map(str.isalpha, text))
    return letters > 3 and 2 * letters >= len(text)


def _alike(one: float, other: float) -> bool:
    return abs(one - other) <= _ALIKE * other


def is_bold(letters: Letters, start: int) -> bool:
    index = letters.number(start)
    if index < 0:
        return False
    name = font(letters, index)[0]
    if pdfium_c.FPDFText_GetFontWeight(letters.page, index) >= _HEAVY:
        return _REGULAR.search(name) is None
    return _BOLD.search(name) is not None


def is_fixed(letters: Letters, line: Line) -> bool:
    """Whether it is set as code is, with all letters of one width."""
    index = letters.number(line.start)
    name, flags = font(letters, index) if index >= 0 else ("", 0)
    return (
        bool(flags & _FIXED) or re.search(r"mono|courier|typewriter|cmtt", name, re.I) is not None
    )


def font(letters: Letters, index: int) -> tuple[str, int]:
    """Its name, and what pdfium knows of it."""
    buffer, flags = create_string_buffer(_NAME), c_int()
    length = pdfium_c.FPDFText_GetFontInfo(letters.page, index, buffer, _NAME, flags)
    name = buffer.raw[: max(min(length, _NAME) - 1, 0)].decode("utf-8", "replace")
    return name, flags.value
