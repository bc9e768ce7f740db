"""A quick look at whether a file may have embedded objects; it is seldom wrong."""

import mmap
import re
from collections.abc import Callable
from pathlib import Path

from kb.engine.errors import KbError
from kb.engine.ingest.extract.list_of_contents import list_of_contents, names_in
from kb.engine.ingest.extract.odf.flat import is_flat
from kb.engine.ingest.extract.zip_package import Package

_EMBEDDED = "embeddings/"
_CHART = re.compile(r"/charts/[^/]*\.xml$")
_MOST_CHARTS = 500
# Something of which is in each name that is wanted: to look for them all takes a few µs.
_WANTED = (
    *(_EMBEDDED.encode(), b"obj", b".emf", b".wmf", b".emz", b".wmz"),
    *(b".htm", b".xhtm", b".mht", b".rtf", b".txt", b".doc", b".dot", b".dat"),
)
# The picture that Office keeps of a whole file (docProps/thumbnail.emf) is not one inside it.
_DRAWING = re.compile(r"^(?!docprops/).*\.[ew]m[fz]$", re.DOTALL)
# What Word takes in as it is (altChunk) may have any name, but not any ending.
_TAKEN_IN = re.compile(r"\.(?:x?html?|mht|mhtml|rtf|txt|do[ct][xm]?|dat)$")
_ODF = ("odt", "odp", "ods")
_INSIDE = {
    "doc": re.compile("ObjectPool".encode("utf-16-le")),
    "xls": re.compile("MBD0".encode("utf-16-le")),
    # The number of a record, behind a byte that is nought: most bytes are, so that comes last.
    "ppt": re.compile(rb"\x11\x10(?<=\0\x11\x10)"),
    "rtf": re.compile(rb"\\objdata"),
}
_IN_FLAT = re.compile(rb"<draw:object-ole\b")


def are_in(path: Path, kind: str) -> bool:
    flat = kind in _ODF and is_flat(path)
    if kind in _IN_ZIP and not flat:
        wanted = [name for name in _names(path) if _IN_ZIP[kind](name)]
        return bool(wanted) and not _are_behind_charts(path, wanted)
    if (flat or kind in _INSIDE) and path.stat().st_size:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return (_IN_FLAT if flat else _INSIDE[kind]).search(data) is not None
    return False


def _are_behind_charts(path: Path, parts: list[str]) -> bool:
    """Whether all of them are sheets that charts were drawn from, whose points the charts have."""
    if not all(_EMBEDDED in name for name in parts):
        return False
    try:
        package = Package(path, path.name)
        charts = [name for name in package.names if _CHART.search(name)]
        relations = (package.relations(chart).values() for chart in charts[:_MOST_CHARTS])
        behind = {relation.target.lower() for each in relations for relation in each}
    except KbError:  # which its reader will tell
        return False
    return behind.issuperset(parts)


def _in_office(name: str) -> bool:
    return _EMBEDDED in name or _DRAWING.search(name) is not None


def _in_word(name: str) -> bool:
    return _in_office(name) or _TAKEN_IN.search(name) is not None


def _in_opendocument(name: str) -> bool:
    """Objects of other programs are files; those of its own are folders."""
    is_object = name.startswith("obj") and "/" not in name and "." not in name
    return is_object or _DRAWING.search(name) is not None


_IN_ZIP: dict[str, Callable[[str], bool]] = {
    "docx": _in_word,
    **dict.fromkeys(("pptx", "xlsx", "xlsb"), _in_office),
    **dict.fromkeys(_ODF, _in_opendocument),
}


def _names(path: Path) -> list[str]:
    """Those in an archive, in small letters, if any of them may be wanted."""
    with path.open("rb") as file:
        listed = list_of_contents(file)
    small = listed.lower()
    found = names_in(listed) if any(each in small for each in _WANTED) else []
    return [name.lower().replace("\\", "/") for name in found]
