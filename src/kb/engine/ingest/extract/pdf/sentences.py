"""Joins the paragraphs of a page so that no sentence is broken.

A column ends where it is full, mostly within a sentence, and behind it stand footnotes, figures and
the page's number before the sentence goes on. What stands between is put behind the paragraph.
"""

import re
from statistics import median_low

from kb.engine.ingest.paragraphs import HYPHENS, Line, alike, begins_within, ends_open, wants_more

Paragraph = list[Line]

_FAR = 60  # paragraphs between the parts of a sentence, at most: most are words of a drawing
_BODY_LINES = 3  # a paragraph of so many lines is no caption, footnote or number of a page
_ENOUGH_LINES = 20  # of a paragraph, to know how wide it is
_FULL = 1.5  # times the letters' height, from the right edge of the paragraph
_RAGGED = 6.0  # the same, behind a word that no sentence ends with, in lines that are not justified
_WIDE = 0.85  # times the widest line; code and figures have shorter ones
_CAPTION = re.compile(
    r"(?:Fig(?:ure|\.)|Tab(?:le|elle|\.)|Abb(?:ildung|\.)|Algorithm|Listing)\s*\d"
    r"(?![\w.]*(?:[,)]|\s+[a-z]))"  # which begins a sentence about it
    r"|.{1,30}\b(?:Figure|Table) \d{1,3}[.:] "  # behind the last words of the figure
)
_SMALL = 0.9  # times the letters' height; no heading is smaller
_LABEL = 30  # characters; the words in a drawing have fewer
_LABEL_LINES = 20
_CLOSING = "’”»)]\"'"
# A word, a figure, a command, a bracket: no bullet, and no number of a section or a reference.
_TEXT = re.compile(r"(?![\d.]+\s+[^\W\d]|\w{1,3}[.)]\s)[\w\\(“\"'‘]")


def whole_sentences(paragraphs: list[Paragraph]) -> list[Paragraph]:
    """In the order in which they are read."""
    paragraphs = _labels_together(paragraphs)
    done: list[Paragraph] = []
    taken: set[int] = set()
    for number, paragraph in enumerate(paragraphs):
        if number in taken:
            continue
        whole, last = list(paragraph), number
        while (rest := _rest(paragraphs, whole, last, taken)) is not None:
            whole += paragraphs[rest]
            taken.add(rest)
            last = rest
        done.append(whole)
    return done


def _labels_together(paragraphs: list[Paragraph]) -> list[Paragraph]:
    """The words in a drawing, which stand about in it by themselves, as one paragraph."""
    small = _SMALL * _usual_height(paragraphs)
    done: list[Paragraph] = []
    is_open = False
    for paragraph in paragraphs:
        is_label = len(paragraph) <= _LABEL_LINES and all(
            0 < line.height < small and len(line.text) < _LABEL for line in paragraph
        )
        if is_label and is_open:
            done[-1] = done[-1] + paragraph
        else:
            done.append(paragraph)
        is_open = is_label
    return done


def _usual_height(paragraphs: list[Paragraph]) -> float:
    """Of the letters in lines of text; formulas and drawings have more lines of small letters."""
    heights = [line.height for one in paragraphs for line in one if len(line.text) >= _LABEL]
    return median_low(heights) if heights else 0.0


def open_end(paragraphs: list[Paragraph]) -> int | None:
    """Which paragraph ends within a sentence that the next page will go on with: the last that is
    set as most of the page is. Behind it are footnotes, captions, and the page's number."""
    lines = [line for paragraph in paragraphs for line in paragraph if line.height]
    if not lines:
        return None
    height = _usual_height(paragraphs) or median_low(line.height for line in lines)
    body = [line.right - line.left for line in lines if 0.95 * height < line.height < 1.05 * height]
    width = _WIDE * median_low(body)
    for number in range(len(paragraphs) - 1, max(len(paragraphs) - _FAR, 0) - 1, -1):
        paragraph = paragraphs[number]
        first, last = paragraph[0], paragraph[-1]
        is_line = len(last.cells) == 1 or wants_more(last.text)  # and no row of a table
        is_body = last.height > 0.95 * height and not first.is_row and is_line
        widest = max(line.right - line.left for line in paragraph)
        is_wide = widest > width or (len(paragraph) >= _BODY_LINES and wants_more(last.text))
        if is_body and is_wide and not _CAPTION.match(first.text):
            return number if is_open(paragraph) else None
    return None


def first_rest(paragraphs: list[Paragraph], before: Paragraph) -> int | None:
    """Which paragraph of a page goes on with the sentence that `before` has begun."""
    for number, paragraph in enumerate(paragraphs[:_FAR]):
        if _is_rest(before, paragraph):
            return number
        if _is_body(before, paragraph):
            return None
    return None


def is_open(paragraph: Paragraph) -> bool:
    last = paragraph[-1]
    free = _RAGGED if wants_more(last.text) else _FULL
    full = max(line.right for line in paragraph[-4:]) - free * last.height
    is_body = last.text[-1:].isdigit() and len(paragraph) >= _BODY_LINES  # no title of a page
    return (is_body or ends_open(last.text.rstrip(_CLOSING))) and (
        last.right > full or last.text.endswith(HYPHENS)
    )


def _rest(
    paragraphs: list[Paragraph], paragraph: Paragraph, last: int, taken: set[int]
) -> int | None:
    if not is_open(paragraph):
        return None
    for number in range(last + 1, min(last + 1 + _FAR, len(paragraphs))):
        if number in taken:
            continue
        found = paragraphs[number]
        if (
            _is_rest(paragraph, found)
            and (
                number == last + 1
                or found[0].bottom > paragraph[-1].bottom  # another column
                or all(_is_aside(paragraph, one) for one in paragraphs[last + 1 : number])
            )
        ):
            return number
        if _is_body(paragraph, found):
            return None
    return None


def _is_rest(paragraph: Paragraph, found: Paragraph) -> bool:
    if not found[0].text.strip() or not alike(paragraph[-1], found[0]):
        return False
    if begins_within(found[0].text):
        return True
    if paragraph[-1].text.endswith(HYPHENS) and found[0].text[0].islower():
        return True  # what would be a label is the rest of a word
    return (
        wants_more(paragraph[-1].text)
        and _TEXT.match(found[0].text) is not None
        and (len(found) >= _BODY_LINES or _is_short_rest(paragraph, found[0]))
        and not _CAPTION.match(found[0].text)
    )


def _is_short_rest(paragraph: Paragraph, found: Line) -> bool:
    """What begins with a capital may be the title of the page, which is as wide."""
    return not found.text[0].isupper() and _is_wide(paragraph, found)


def _is_body(paragraph: Paragraph, found: Paragraph) -> bool:
    """Whether it is text as the paragraph is, so that no sentence goes on behind it."""
    if len(found) < _BODY_LINES or _is_aside(paragraph, found):
        return False
    return 2 * sum(_is_wide(paragraph, line) for line in found) >= len(found)


def _is_wide(paragraph: Paragraph, found: Line) -> bool:
    width = max(line.right - line.left for line in paragraph[-_ENOUGH_LINES:])
    return found.right - found.left > _WIDE * width


def _is_aside(paragraph: Paragraph, found: Paragraph) -> bool:
    first = found[0]
    return first.is_row or not alike(paragraph[-1], first) or bool(_CAPTION.match(first.text))
