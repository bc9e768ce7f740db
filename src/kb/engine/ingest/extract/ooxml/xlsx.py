"""Workbooks, sheet by sheet: the stored cells as tables, then what lies over them."""

from collections.abc import Iterator

from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.ooxml.office_file import (
    Office,
    R,
    S,
    extraction,
    open_office,
    targets,
)
from kb.engine.ingest.extract.ooxml.xlsx_cells import Cells, place_of
from kb.engine.ingest.extract.ooxml.xlsx_extras import Extra, extras, extras_pages, persons
from kb.engine.ingest.extract.ooxml.xlsx_layout import Layout, Sheet
from kb.engine.ingest.extract.zip_package import Element
from kb.engine.pages import Page

_ENDINGS = ("xlsx", "xlsm", "xltx", "xltm")
_MOST_SHEETS = 5_000
_HIDDEN = ("hidden", "veryHidden")


def extract(source: Source) -> Extraction:
    office = open_office(source)
    workbook = office.package.xml(office.main)
    properties = workbook.find(f"{S}workbookPr")
    since_1904 = properties is not None and properties.get("date1904") in ("1", "true", "on")
    sheets = list(_sheets(office, workbook.iterfind(f"{S}sheets/{S}sheet")))
    pages = _pages(office, sheets, since_1904)
    return extraction("xlsx", _ENDINGS, source, pages, office.title, office.metadata)


def _sheets(office: Office, entries: Iterator[Element]) -> Iterator[Sheet]:
    for number, entry in enumerate(entries, start=1):
        if number > _MOST_SHEETS:
            raise office.package.too_large(f"it has more than {_MOST_SHEETS:,} sheets")
        relation = office.relations.get(entry.get(f"{R}id", ""))
        if relation is not None and relation.target in office.package:
            name = entry.get("name", "")
            location = f"{name} (hidden)" if entry.get("state") in _HIDDEN else name
            yield Sheet(number, name, location, relation.target, relation.kind != "chartsheet")


def _pages(office: Office, sheets: list[Sheet], since_1904: bool) -> Iterator[Page]:
    cells = Cells(office, since_1904)
    authors = persons(office)
    for sheet in sheets:
        found = extras(office.package, sheet.part, authors)
        if sheet.has_cells:
            tables = targets(office.package, office.package.relations(sheet.part), "table")
            references = (office.package.xml(table).get("ref", "") for table in tables)
            starts = {place_of(reference)[0] for reference in references}
            layout = Layout(sheet.number, sheet.name, sheet.location, starts)
            yield from layout.pages(cells.rows(sheet.part))
            found = [Extra(1, 1, text) for text in cells.margins] + found
        yield from extras_pages(found, sheet.number, sheet.name, sheet.location)
