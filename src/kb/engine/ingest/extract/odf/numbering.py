"""Numbers the lists and headings of an OpenDocument text as they come."""

from kb.engine.ingest.extract.counting import counted
from kb.engine.ingest.extract.odf.odf_file import STYLE, TEXT, OpenDocument
from kb.engine.ingest.extract.ooxml.office_file import whole
from kb.engine.ingest.extract.zip_package import Element

_COUNTING = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_ID = "{http://www.w3.org/XML/1998/namespace}id"
_BULLET = "-"
_LIST_STYLE, _OUTLINE_STYLE = f"{TEXT}list-style", f"{TEXT}outline-style"

Counts = dict[int, int]  # by level, from 1


class Numbering:
    """Knows the count of every list, since a later one may continue it."""

    def __init__(self, document: OpenDocument) -> None:
        self._styles: dict[str, dict[int, Element]] = {}
        self._outline: dict[int, Element] = {}
        self._headings: Counts = {}
        self._last: dict[str, Counts] = {}  # by style
        self._lists: dict[str, Counts] = {}  # by id
        for style in document.all_styles(_LIST_STYLE, _OUTLINE_STYLE):
            levels = {whole(level.get(f"{TEXT}level")): level for level in style}
            if style.tag == _LIST_STYLE:
                self._styles[style.get(f"{STYLE}name", "")] = levels
            else:
                self._outline = levels

    def begin(self, element: Element, style: str) -> Counts:
        """What a list that is not within another one starts from."""
        before = element.get(f"{TEXT}continue-list")
        counts: Counts = {}
        if before is not None:
            counts = self._lists.get(before, {})
        elif element.get(f"{TEXT}continue-numbering") == "true":
            counts = self._last.get(style, {})
        self._last[style] = self._lists[element.get(_ID, "")] = counts
        return counts

    def item(self, element: Element, style: str, level: int, counts: Counts) -> str:
        """The label of an item: its number as it is written, else a dash."""
        levels = self._styles.get(style, {})
        _count(counts, levels, level, element.get(f"{TEXT}start-value"))
        return _written(levels, level, counts) or _BULLET

    def heading(self, element: Element, level: int) -> str:
        """The number of a heading; empty if it has none."""
        if not self._outline or element.get(f"{TEXT}is-list-header") == "true":
            return ""
        start = element.get(f"{TEXT}start-value")
        if element.get(f"{TEXT}restart-numbering") == "true":  # some write -1 for where to start
            start = str(whole(start, _start(self._outline, level)))
        _count(self._headings, self._outline, level, start)
        return _written(self._outline, level, self._headings)


def _count(counts: Counts, levels: dict[int, Element], level: int, start: str | None) -> None:
    following = counts.get(level, _start(levels, level) - 1) + 1
    counts[level] = whole(start, following)
    for deeper in [deeper for deeper in counts if deeper > level]:
        del counts[deeper]


def _start(levels: dict[int, Element], level: int) -> int:
    style = levels.get(level)
    return 1 if style is None else whole(style.get(f"{TEXT}start-value"), 1)


def _written(levels: dict[int, Element], level: int, counts: Counts) -> str:
    style = levels.get(level)
    if style is None or not style.get(f"{STYLE}num-format"):
        return ""
    shown = min(max(whole(style.get(f"{TEXT}display-levels"), 1), 1), level)
    numbers = []
    for outer in range(level - shown + 1, level + 1):
        form = levels[outer].get(f"{STYLE}num-format", "") if outer in levels else ""
        if form:
            count = counts.get(outer, _start(levels, outer))
            numbers.append(counted(count, _COUNTING.get(form, "decimal")))
    before, after = style.get(f"{STYLE}num-prefix", ""), style.get(f"{STYLE}num-suffix", "")
    return f"{before}{'.'.join(numbers)}{after}".strip()
