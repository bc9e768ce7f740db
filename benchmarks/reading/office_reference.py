"""An Office file in, what LibreOffice finds in it out: texts as text, sheets as they are shown,
slides by the paragraphs on them. Charts are left out, as their axes are drawn and not written.

What a formula gives need not be found: LibreOffice reckons many anew, so that there is today's date
or another random number where the file has what its program showed when it was saved. Nor need
a pivot table: LibreOffice writes it anew in words of its own. OpenDocument writes down how a number
was shown when it was saved, and that is what should be found: LibreOffice shows some with other
digits, or in another language."""

import atexit
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from lxml import etree

from benchmarks.reading.reference import Reference

_SECONDS = 120
_PROFILES = Path(tempfile.mkdtemp("-kb-libreoffice"))  # no two may use one at a time
atexit.register(shutil.rmtree, _PROFILES, ignore_errors=True)
_TEXT = "txt:Text (encoded):UTF8"
_CELLS = "fods"
_SLIDES = "fodp"
_FORMS = {
    **dict.fromkeys(("docx", "doc", "odt", "rtf"), _TEXT),
    **dict.fromkeys(("xlsx", "xls", "xlsb", "ods"), _CELLS),
    **dict.fromkeys(("pptx", "ppt", "odp"), _SLIDES),
}
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_T = f"{{{_ODF}text:1.0}}"
_TABLE = f"{{{_ODF}table:1.0}}"
_PLACE = re.compile(r"(.*)\.\$?([A-Z]+)\$?(\d+):.*\.\$?([A-Z]+)\$?(\d+)")  # 'A sheet'.A1:…
_KIND = f"{{{_ODF}office:1.0}}value-type"
_Cell = tuple[str, int, int]  # its sheet, line and column
_MOST_COPIES = 1_000  # of a row or a cell that is repeated
_GAPS = (f"{_T}s", f"{_T}tab", f"{_T}line-break")
_FILLED_IN = (f"{_T}date", f"{_T}time", f"{_T}page-number", f"{_T}file-name")  # with what is now


def read(path: Path) -> Reference | None:
    if shutil.which("soffice") is None:
        raise SystemExit("Office files are held against LibreOffice: install it")
    form = _FORMS[path.suffix[1:].lower()]
    with tempfile.TemporaryDirectory() as folder:
        profile = f"-env:UserInstallation=file://{_PROFILES}/{threading.get_ident()}"
        command = ["soffice", profile, "--headless", "--convert-to", form, "--outdir", folder, path]
        made = sorted(Path(folder).iterdir()) if _converted(command) else []
        if not made:
            return None
        if form == _SLIDES:
            return Reference(_slides(made[0]))
        if form == _CELLS:
            return _sheets(made[0], _written(path) if path.suffix.lower() == ".ods" else {})
        return Reference("\n".join(file.read_text("utf-8", "replace") for file in made))


def _converted(command: list[str | Path]) -> bool:
    """Whether it ended in time. If not, all that it started ends with it: the program behind
    `soffice` would go on, and take the next file into the same trouble."""
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet, start_new_session=True) as process:
        try:
            process.wait(_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return False
    return True


def _sheets(file: Path, written: dict[_Cell, str]) -> Reference:
    stored, reckoned = [], []
    root = _without_charts(_parsed(file))
    for other in root.xpath("//*[local-name()='table'][@*[local-name()='style-name']='ta_extref']"):
        other.getparent().remove(other)  # a sheet of another workbook
    pivots = [_Pivot.of(table) for table in root.iter(f"{_TABLE}data-pilot-table")]
    for (sheet, line, column), times, cell in _cells(root):
        words = _words(cell)
        if words and cell.get(_KIND, "string") != "string":
            words = written.get((sheet, line, column), words)
        if words:
            is_reckoned = cell.get(f"{_TABLE}formula") is not None
            is_summed_up = any(p.sheet == sheet and p.holds(line, column) for p in pivots)
            where = reckoned if is_reckoned or is_summed_up else stored
            where += [words] * min(times, _MOST_COPIES)
    return Reference("\n".join(stored), allowed="\n".join(reckoned))


def _written(file: Path) -> dict[_Cell, str]:
    """What the program that saved a workbook showed in its cells."""
    try:
        with zipfile.ZipFile(file) as archive, archive.open("content.xml") as content:
            root = _without_charts(_parsed(content))
    except (zipfile.BadZipFile, KeyError, RuntimeError, OSError, etree.XMLSyntaxError):
        return {}
    return {place: words for place, _, cell in _cells(root) if (words := _words(cell))}


def _cells(root: etree._Element) -> Iterator[tuple[_Cell, int, etree._Element]]:
    """Each by where its last copy stands, and how many copies of it there are."""
    for sheet in root.iter(f"{_TABLE}table"):
        line = 0
        for row in sheet.iter(f"{_TABLE}table-row"):
            line += _copies(row, "rows")
            column = 0
            for cell in row.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
                column += _copies(cell, "columns")
                times = _copies(row, "rows") * _copies(cell, "columns")
                yield (sheet.get(f"{_TABLE}name", ""), line, column), times, cell


def _words(cell: etree._Element) -> str:
    return " ".join(map(_said, cell.iterchildren(f"{_T}p")))


@dataclass(frozen=True)
class _Pivot:
    """Where a table stands that sums up others."""

    sheet: str
    lines: range
    columns: range

    @classmethod
    def of(cls, table: etree._Element) -> "_Pivot":
        found = _PLACE.fullmatch(table.get(f"{_TABLE}target-range-address", ""))
        if found is None:
            return cls("", range(0), range(0))
        sheet, left, top, right, bottom = found.groups()
        lines = range(int(top), int(bottom) + 1)
        return cls(sheet.strip("$'"), lines, range(_column(left), _column(right) + 1))

    def holds(self, line: int, column: int) -> bool:
        return line in self.lines and column in self.columns


def _column(letters: str) -> int:
    number = 0
    for letter in letters:
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _copies(element: etree._Element, what: str) -> int:
    return int(element.get(f"{_TABLE}number-{what}-repeated", "1"))


def _parsed(file: Path | IO[bytes]) -> etree._Element:
    # LibreOffice gives some ids twice.
    parser = etree.XMLParser(huge_tree=True, resolve_entities=False, recover=True)
    return etree.parse(file, parser).getroot()


def _without_charts(root: etree._Element) -> etree._Element:
    for drawn in list(root.iter(f"{{{_ODF}drawing:1.0}}object")):
        drawn.getparent().remove(drawn)
    return root


def _slides(file: Path) -> str:
    root = _without_charts(_parsed(file))
    slides = root.find(f"{{*}}body/{{{_ODF}office:1.0}}presentation")
    paragraphs = () if slides is None else slides.iter(f"{_T}p", f"{_T}h")
    return "\n".join(map(_said, paragraphs))


def _said(paragraph: etree._Element) -> str:
    pieces = [paragraph.text or ""]
    for element in paragraph.iterdescendants():
        pieces.append(" " if element.tag in _GAPS else "")
        pieces.append("" if element.tag in _FILLED_IN else element.text or "")
        pieces.append(element.tail or "")
    return "".join(pieces)
