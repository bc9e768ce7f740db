"""Reads OpenDocument files that are a single XML file, which stands for every part."""

from pathlib import Path

from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.extract.zip_package import MAX_PART, Element, Package

_PARTS = frozenset({"content.xml", "styles.xml", "meta.xml"})
_ARCHIVE = b"PK"


def is_flat(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_ARCHIVE)) != _ARCHIVE


class FlatPackage(Package):
    def __init__(self, path: Path, filename: str) -> None:
        Refusals.__init__(self, filename)
        self.names = ()
        self._data = self.bytes_of(path, MAX_PART)
        self._root: Element | None = None

    def __contains__(self, name: str) -> bool:
        return name in _PARTS

    def read(self, name: str) -> bytes:
        if name not in _PARTS:
            raise self.damaged(f"its part {name} is missing")
        return self._data

    def xml(self, name: str, *, doctype: bool = False) -> Element:
        if self._root is None:
            self._root = super().xml(name, doctype=doctype)
        # Some programs put the parts into it whole, each as an element of its own.
        part = self._root.find(f"{{*}}document-{name.removesuffix('.xml')}")
        return self._root if part is None else part
