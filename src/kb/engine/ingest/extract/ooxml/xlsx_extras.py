"""Reads comments, text boxes, charts and table names of a sheet, each with its cell."""

from collections.abc import Iterator
from typing import NamedTuple

from kb.engine.ingest.extract.ooxml.drawing import CHARTS, drawn, picture_text, text_of
from kb.engine.ingest.extract.ooxml.office_file import Office, S, targets, whole
from kb.engine.ingest.extract.ooxml.xlsx_cells import letters_of, place_of, rich_text
from kb.engine.ingest.extract.paging import MAX_PAGE
from kb.engine.ingest.extract.zip_package import Element, Package, Relation
from kb.engine.pages import Grid, Page

_XDR = "{http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing}"
_ANCHORS = tuple(f"{_XDR}{kind}Anchor" for kind in ("twoCell", "oneCell", "absolute"))
_LONGEST_TEXT = 100_000  # characters of a comment, a text box or the labels of a chart
_COPIED = "[Threaded comment]"  # begins what Excel writes for older versions of itself


class Extra(NamedTuple):
    """A text and the cell at which it stands."""

    row: int
    column: int
    text: str


def persons(office: Office) -> dict[str, str]:
    """Those who wrote comments in threads, by id."""
    found = {}
    for part in office.related("person"):
        for person in office.package.xml(part):
            found[person.get("id", "")] = " ".join(person.get("displayName", "").split())
    return found


def extras(package: Package, part: str, persons: dict[str, str]) -> list[Extra]:
    """All of one sheet, from its top to its bottom."""
    relations = package.relations(part)
    found: list[Extra] = []
    for target in targets(package, relations, "table"):
        root = package.xml(target)
        name = root.get("displayName") or root.get("name") or ""
        reference = root.get("ref", "")
        found.append(Extra(*place_of(reference), f"Table {name} ({reference})"))
    threads = [
        comment
        for target in targets(package, relations, "threadedComment")
        for comment in _threaded(package.xml(target), persons)
    ]
    found += threads
    for target in targets(package, relations, "comments"):
        found += _comments(package.xml(target), bool(threads))
    for target in targets(package, relations, "drawing"):
        found += drawings(package, package.xml(target), package.relations(target))
    return sorted(found, key=lambda extra: extra[:2])


def extras_pages(found: list[Extra], number: int, name: str, location: str) -> Iterator[Page]:
    """One line for each, parted by blank lines: they have nothing to do with each other."""
    lines: list[str] = []
    rows: list[int] = []
    columns: list[int] = []
    length = 0
    for count, extra in enumerate(found, start=1):
        if not lines:
            lines, rows = [f"# {' '.join(name.split())}"], [extra.row]
        lines += [" ".join(extra.text.split())[:_LONGEST_TEXT], ""]
        rows += [extra.row, extra.row]
        columns.append(extra.column)
        length += len(lines[-2]) + 2
        if count == len(found) or length > MAX_PAGE - _LONGEST_TEXT:
            grid = Grid(tuple(rows[:-1]), (letters_of(min(columns)), letters_of(max(columns))))
            text = "\n".join(lines[:-1])
            yield Page(text, number, location, "markdown", grid=grid, lines_count=False)
            lines, rows, columns, length = [], [], [], 0


def _threaded(root: Element, persons: dict[str, str]) -> Iterator[Extra]:
    for comment in root.iter("{*}threadedComment"):
        text = comment.findtext("{*}text") or ""
        author = persons.get(comment.get("personId", ""), "")
        yield _comment(comment.get("ref", ""), author, text)


def _comments(root: Element, in_threads: bool) -> Iterator[Extra]:
    authors = [author.text or "" for author in root.iterfind(f"{S}authors/{S}author")]
    for comment in root.iterfind(f"{S}commentList/{S}comment"):
        text = comment.find(f"{S}text")
        words = "" if text is None else rich_text(text)
        number = whole(comment.get("authorId"), len(authors))
        author = authors[number] if number < len(authors) else ""
        if words.strip() and not (in_threads and words.startswith(_COPIED)):
            yield _comment(comment.get("ref", ""), author, words)


def _comment(reference: str, author: str, text: str) -> Extra:
    by = f" by {' '.join(author.split())}" if author.strip() and author[:3] != "tc=" else ""
    return Extra(*place_of(reference), f"Comment on {reference}{by}: {text}")


def drawings(package: Package, root: Element, relations: dict[str, Relation]) -> Iterator[Extra]:
    """Text boxes, charts and pictures, by the cells at which they begin."""
    for anchor in root.iter(*_ANCHORS):
        row, column = (
            whole(anchor.findtext(f"{_XDR}from/{_XDR}{name}")) + 1 for name in ("row", "col")
        )
        said = [picture_text(properties) for properties in anchor.iter(f"{_XDR}cNvPr")]
        said += [text_of(body) for body in anchor.iter(f"{_XDR}txBody")]
        for drawing in anchor.iter(*CHARTS):
            said += [item.text for item in drawn(package, drawing, relations, data=False)]
        for text in dict.fromkeys(filter(None, said)):
            yield Extra(row, column, text)
