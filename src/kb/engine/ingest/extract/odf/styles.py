"""Which styles of an OpenDocument file begin a page, and which mark titles or list items."""

from kb.engine.ingest.extract.odf.odf_file import FO, STYLE, OpenDocument
from kb.engine.ingest.extract.zip_package import Element

_DEEPEST = 20  # styles that are derived from each other
_FAMILIES = frozenset({"paragraph", "table"})


class Styles:
    """Looks up styles of paragraphs and tables by name."""

    def __init__(self, document: OpenDocument) -> None:
        self._styles: dict[str, Element] = {}
        self._found: dict[tuple[str, str], str | None] = {}
        for style in document.all_styles(f"{STYLE}style"):
            if style.get(f"{STYLE}family") in _FAMILIES:
                self._styles[style.get(f"{STYLE}name", "")] = style

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

    def list_style(self, name: str) -> str | None:
        """The list that paragraphs of a style belong to; an empty name says: to none."""
        styles = (style.get(f"{STYLE}list-style-name") for _, style in self._ancestry(name))
        return next((style for style in styles if style is not None), None)

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
