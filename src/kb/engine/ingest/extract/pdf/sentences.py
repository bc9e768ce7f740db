"""Joins the paragraphs of a page so that no sentence is broken at the end of a column. Footnotes,
figures and the page number in between are moved behind the paragraph."""

import re
from statistics import median_low

from kb.engine.ingest.paragraphs import (
    HYPHENS,
    MARK,
    Line,
    alike,
    begins_caption,
    begins_within,
    ends_open,
    ends_small,
    is_formula,
    wants_more,
)

Paragraph = list[Line]

_FAR = 60  # paragraphs between the parts of a sentence, at most: most are words of a drawing
_BODY_LINES = 3  # a paragraph of so many lines is no caption, footnote or number of a page
_FEW_LINES = 3  # whose letters are compared
_ENOUGH_LINES = 20  # of a paragraph, to know how wide it is
_FULL = 1.5  # times the letters' height, from the right edge of the paragraph
_RAGGED = 6.0  # the same, behind a word that no sentence ends with, in lines that are not justified
_WIDE = 0.85  # times the widest line; code and figures have shorter ones
_BEHIND_FIGURE = re.compile(r".{1,30}\b(?:Figure|Table) \d{1,3}[.:] ")  # and its last words
_SMALL = 0.9  # times the letters' height; no heading is smaller
_SMALLER = 0.95  # the same of a footnote, which may be hardly smaller
_LABEL = 30  # characters; the words in a drawing have fewer
_LABEL_LINES = 20
_WIDE_TEXT = 0.6  # the same of text, which may be ragged, or have a formula in it
_CLOSING = "’”»)]\"'"
# A word, a figure, a command, a bracket: no bullet, and no number of a section or a reference.
_TEXT = re.compile(r"(?![\d.]+\s+[^\W\d]|(?:[^\WA-Z]|\d{2,3}|[ivxIVX]{2,4})[.)]\s)[\w\\(“\"'‘§]")


def whole_sentences(paragraphs: list[Paragraph]) -> list[Paragraph]:
    """In the order in which they are read."""
    paragraphs = _labels_together(paragraphs)
    done: list[Paragraph] = []
    taken: set[int] = set()
    for number, paragraph in enumerate(paragraphs):
        if number in taken:
            continue
        whole, last = list(paragraph), number
        is_title = number == 0 and len(paragraph) == 1
        while not is_title and (rest := _rest(paragraphs, whole, last, taken)) is not None:
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
    heights = [
        line.height
        for paragraph in paragraphs
        for line in paragraph
        if len(line.text) >= _LABEL and line.text[0].isalpha()
    ]
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
        is_foot = len(paragraph) == 1 and (last.height > 1.05 * height or _stands_out(last, lines))
        is_body = last.height > 0.95 * height and not is_foot and not first.is_row and is_line
        widest = max(line.right - line.left for line in paragraph)
        is_wide = widest > width or (len(paragraph) >= _BODY_LINES and wants_more(last.text))
        if is_body and is_wide and not _is_caption(first):
            return number if is_open(paragraph) else None
    return None


def _stands_out(line: Line, lines: list[Line]) -> bool:
    """Whether no other line begins below or above it."""
    return sum(abs(line.left - other.left) < line.height for other in lines) == 1


def first_rest(paragraphs: list[Paragraph], before: Paragraph) -> int | None:
    """Which paragraph of a page continues the sentence that `before` began."""
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
    ends = last.text.rstrip(_CLOSING)
    is_within = last.text.endswith(HYPHENS) or (
        len(paragraph) > 1 and ends_small(last.text) and _is_wide(paragraph, paragraph[-2])
    )
    return is_within or ((is_body or ends_open(ends) or ends.endswith(":")) and last.right > full)


def _rest(
    paragraphs: list[Paragraph], paragraph: Paragraph, last: int, taken: set[int]
) -> int | None:
    if not is_open(paragraph):
        return None
    is_row = len(paragraph) < _BODY_LINES and len(paragraph[-1].cells) > 1
    if (is_row and not _are_labels(paragraph)) or begins_caption(paragraph[0].text):
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
    if not found[0].text.strip() or not _are_alike(paragraph, found):
        return False
    begin = found[:_FEW_LINES]
    if begins_within(found[0].text):
        if _are_labels(paragraph) and _are_labels(found):
            return True
        return _is_as_wide(paragraph[-_ENOUGH_LINES:], begin) and (
            len(found) == 1 or _is_as_wide(begin, paragraph[-_FEW_LINES:])
        )
    if paragraph[-1].text.endswith(HYPHENS) and found[0].text[0].islower():
        return True  # what would be a label is the rest of a word
    if ends_small(paragraph[-1].text) and is_formula(found[0].text):
        return True
    return (
        wants_more(paragraph[-1].text)
        and _TEXT.match(found[0].text) is not None
        and _is_as_wide(found[:1], paragraph[-2:])
        and (len(found) >= _BODY_LINES or _is_short_rest(paragraph, found))
        and not _is_caption(found[0])
    )


def _is_short_rest(paragraph: Paragraph, found: Paragraph) -> bool:
    """A single line that begins with a capital or a section's sign may be the page's title."""
    first = found[0].text[0]
    is_title = len(found) == 1 and (first.isupper() or first == "§")
    return not is_title and _is_wide(paragraph, found[0])


def _is_body(paragraph: Paragraph, found: Paragraph) -> bool:
    """Whether it is text as the paragraph is, so that no sentence goes on behind it."""
    if len(found) < _BODY_LINES or _is_aside(paragraph, found):
        return False
    return 2 * sum(_is_wide(paragraph, line) for line in found) >= len(found)


def _is_wide(paragraph: Paragraph, found: Line) -> bool:
    return found.right - found.left > _WIDE * _widest(paragraph[-_ENOUGH_LINES:])


def _are_labels(paragraph: Paragraph) -> bool:
    return all(len(line.text) < _LABEL for line in paragraph[-_ENOUGH_LINES:])


def _is_as_wide(lines: list[Line], others: list[Line]) -> bool:
    """Whether lines are about as wide as others, and no labels."""
    return _widest(lines) > _WIDE_TEXT * _widest(others)


def _widest(lines: list[Line]) -> float:
    return max(line.right - line.left for line in lines)


def _is_aside(paragraph: Paragraph, found: Paragraph) -> bool:
    first = found[0]
    if first.is_row or not _are_alike(paragraph, found[:1]) or _is_caption(first):
        return True
    if not _is_as_wide(found[:_FEW_LINES], paragraph[-2:]):
        return True
    return MARK.match(first.text) is not None and first.height < _SMALLER * paragraph[-1].height


def _are_alike(paragraph: Paragraph, found: Paragraph) -> bool:
    """Whether both are set in letters of one size; a line of either may have a formula in it."""
    return any(alike(one, other) for one in paragraph[-_FEW_LINES:] for other in found[:_FEW_LINES])


def _is_caption(line: Line) -> bool:
    return begins_caption(line.text) or _BEHIND_FIGURE.match(line.text) is not None
