"""A format's name in, its endings, its reference and who else reads it out."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.reading import (
    html_reference,
    nested_reference,
    office_reference,
    pdf_reference,
    picture_reference,
    text_reference,
)
from benchmarks.reading.reference import Read, Reference
from benchmarks.reading.remembered import remembered

_CODE = "py js ts tsx java c h cpp cs rs hs lua go sh sql proto pyj"


@dataclass(frozen=True)
class Format:
    endings: tuple[str, ...]
    read: Read
    peers: tuple[str, ...] = ()
    is_picture: bool = False
    begins: tuple[bytes, ...] = ()  # what has this name and begins otherwise is something else


def reference_of(path: Path) -> Reference | None:
    """That of a file within another one, which is known by its name, or is text."""
    ending = path.suffix[1:].lower()
    found = next((each for each in FORMATS.values() if ending in each.endings), None)
    if found is None:
        return text_reference.unknown(path)
    return None if found.is_picture else found.read(path)


def _nested(read: Callable[[Path, Read], Reference | None]) -> Read:
    return partial(read, of=reference_of)


_PLAIN = ("markitdown",)
_OLE = b"\xd0\xcf\x11\xe0"
FORMATS: dict[str, Format] = {
    "html": Format(("html", "htm", "xhtml"), html_reference.read, ("trafilatura", "markitdown")),
    "pdf": Format(("pdf",), pdf_reference.read, _PLAIN),
    **{
        name: Format((name,), remembered(office_reference.read), _PLAIN)
        for name in ("docx", "pptx", "xlsx")
    },
    "xls": Format(("xls",), remembered(office_reference.read), _PLAIN, begins=(_OLE, b"\x09")),
    **{
        name: Format((name,), remembered(office_reference.read), begins=(_OLE,))
        for name in ("doc", "ppt")
    },
    **{
        name: Format((name,), remembered(office_reference.read))
        for name in ("odt", "ods", "odp", "rtf", "xlsb")
    },
    "txt": Format(("txt",), text_reference.plain, _PLAIN),
    "md": Format(("md",), text_reference.markdown, _PLAIN),
    "tex": Format(("tex", "ltx"), text_reference.tex, _PLAIN),
    "code": Format(tuple(_CODE.split()), text_reference.plain, _PLAIN),
    "json": Format(("json",), text_reference.values, _PLAIN),
    "xml": Format(("xml",), text_reference.markup, _PLAIN),
    "csv": Format(("csv",), text_reference.table, _PLAIN),
    "ipynb": Format(("ipynb",), text_reference.notebook, _PLAIN),
    "svg": Format(("svg",), text_reference.drawing),
    "epub": Format(("epub",), nested_reference.book, _PLAIN),
    "mobi": Format(("mobi", "azw3", "azw", "prc"), remembered(nested_reference.kindle)),
    "fb2": Format(("fb2",), text_reference.fiction),
    "vsdx": Format(("vsdx", "vsdm"), nested_reference.drawing),
    "eml": Format(("eml",), _nested(nested_reference.mail)),
    "mbox": Format(("mbox",), _nested(nested_reference.mails)),
    "msg": Format(("msg",), remembered(_nested(nested_reference.outlook)), _PLAIN),
    "pst": Format(("pst", "ost"), _nested(nested_reference.personal_folders)),
    "zip": Format(("zip",), _nested(nested_reference.zipped), _PLAIN),
    "tar": Format(("tar", "gz", "tgz", "bz2", "xz"), _nested(nested_reference.tar)),
    "iwork": Format(("pages", "numbers", "key"), nested_reference.preview),
    **{
        name: Format(endings, remembered(picture_reference.read), is_picture=True)
        for name, endings in (
            ("picture", ("png", "jpg", "jpeg", "tif", "tiff")),
            ("heic", ("heic", "heif", "hif")),
            ("avif", ("avif",)),
            ("jp2", ("jp2", "j2k")),
        )
    },
}
