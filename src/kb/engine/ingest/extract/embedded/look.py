"""A file in, whether other programs may have set something into it out: quick, and seldom wrong."""

import mmap
import re
from pathlib import Path

from kb.engine.ingest.extract.list_of_contents import list_of_contents
from kb.engine.ingest.extract.odf.flat import is_flat

_DRAWING = rb"\.[ew]m[fz](?:PK|[^\w.]|$)"
_OFFICE = re.compile(rb"embeddings/|" + _DRAWING, re.IGNORECASE)
# What Word takes in as it is (altChunk) may have any name, but not any ending.
_WORD = re.compile(
    rb"embeddings/|/[^/\0]{1,100}\.(?:x?html?|mht|mhtml|rtf|txt|do[ct][xm]?|dat)(?:PK|[^\w.]|$)|"
    + _DRAWING,
    re.IGNORECASE,
)
_OBJECT = re.compile(rb"Obj[^/\0]{1,40}|" + _DRAWING, re.IGNORECASE)
_IN_ZIP = {
    "docx": _WORD,
    **dict.fromkeys(("pptx", "xlsx", "xlsb"), _OFFICE),
    **dict.fromkeys(("odt", "odp", "ods"), _OBJECT),
}
_INSIDE = {
    "doc": re.compile("ObjectPool".encode("utf-16-le")),
    "xls": re.compile("MBD0".encode("utf-16-le")),
    "ppt": re.compile(rb"[\0\x10]\0\x11\x10"),
    "rtf": re.compile(rb"\\objdata"),
}
_FLAT_KINDS = ("odt", "odp", "ods")
_IN_FLAT = re.compile(rb"<draw:object-ole\b")


def are_in(path: Path, kind: str) -> bool:
    flat = kind in _FLAT_KINDS and is_flat(path)
    if kind in _IN_ZIP and not flat:
        with path.open("rb") as archive:
            return _IN_ZIP[kind].search(list_of_contents(archive)) is not None
    if (flat or kind in _INSIDE) and path.stat().st_size:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return (_IN_FLAT if flat else _INSIDE[kind]).search(data) is not None
    return False
