"""The styles of an OpenDocument file in: which begin a page, and how list items are marked, out."""

from kb.engine.ingest.extract.counting import counted
from kb.engine.ingest.extract.opendocument import FO, STYLE, TEXT, OpenDocument
from kb.engine.ingest.extract.package import Element

_DEEPEST = 20  # styles that are derived from each other
_FAMILIES = frozenset({"paragraph", "table"})
_COUNTING = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}


class Styles:
    """Looks up paragraph, table and list styles by name."""

    def __init__(self, document: OpenDocument) -> None:
        self._styles: dict[str, Element] = {}
        self._lists: dict[str, dict[str, Element]] = {}
        self._found: dict[tuple[str, str], str | None] = {}
        for style in document.all_styles():
            name = style.get(f"{STYLE}name", "")
            if style.tag == f"{TEXT}list-style":
                self._lists[name] = {level.get(f"{TEXT}level", ""): level for level in style}
            elif style.tag == f"{STYLE}style" and style.get(f"{STYLE}family") in _FAMILIES:
                self._styles[name] = style

    def has_breaks(self) -> bool:
        return any(self.breaks_before(name) or self.breaks_after(name) for name in self._styles)

    def breaks_before(self, name: str) -> bool:
        """Also where a page of another kind is asked for, which can only begin a new one."""
        style = self._styles.get(name)
        asked = style is not None and bool(style.get(f"{STYLE}master-page-name"))
        return asked or self._property(name, f"{FO}break-before") == "page"

    def breaks_after(self, name: str) -> bool:
        return self._property(name, f"{FO}break-after") == "page"

    def is_title(self, name: str) -> bool:
        return any(ancestor == "Title" for ancestor, _ in self._ancestry(name))

    def mark(self, name: str | None, level: int, count: int) -> str:
        """What stands before an item: its number as it is written, else a dash."""
        style = self._lists.get(name or "", {}).get(str(level))
        if style is None or style.tag != f"{TEXT}list-level-style-number":
            return "-"
        form = style.get(f"{STYLE}num-format", "")
        if not form:
            return "-"
        number = counted(count, _COUNTING.get(form, "decimal"))
        return f"{style.get(f'{STYLE}num-prefix', '')}{number}{style.get(f'{STYLE}num-suffix', '')}"

    def _property(self, name: str, wanted: str) -> str | None:
        """From the style itself or the nearest it is derived from; asked for every paragraph."""
        if (name, wanted) not in self._found:
            styles = (style for _, style in self._ancestry(name))
            values = (properties.get(wanted) for style in styles for properties in style)
            self._found[name, wanted] = next((value for value in values if value is not None), None)
        return self._found[name, wanted]

    def _ancestry(self, name: str) -> list[tuple[str, Element]]:
        found: list[tuple[str, Element]] = []
        style = self._styles.get(name)
        while style is not None and len(found) < _DEEPEST:
            found.append((name, style))
            name = style.get(f"{STYLE}parent-style-name", "")
            style = self._styles.get(name)
        return found
