import struct
import zipfile
import zlib
from pathlib import Path
from types import SimpleNamespace as Told

import pytest
from planted import text_of
from small_office import OFFICE, W, docx, links, p, pptx, row, xlsx, zipped
from small_ole import Tree, compound, ppt, record, slide, wrapped

from kb.engine.ingest.extract import Source, embedded, extract
from kb.engine.ingest.extract.embedded import old_office
from kb.engine.ingest.extract.ole.doc_file import Piece
from kb.engine.pages import Page, Remark

O = "urn:schemas-microsoft-com:office:office"  # noqa: E741 (as Office calls it)

TYPES = "[Content_Types].xml"  # by which Office files are told from other archives


def read(path: Path) -> tuple[dict[str, str], list[str]]:
    """The texts that are cited by a place, and the warnings."""
    items = list(extract(Source(path, path.name)).pages)
    texts = {item.location: item.text for item in items if isinstance(item, Page) and item.location}
    return texts, [item.text for item in items if isinstance(item, Remark)]


NOTES = compound(wrapped("notes.txt", b"A bittern boomed."))


def rtf_object(names: bytes = bytes(12)) -> bytes:
    data = struct.pack("<II", 0x501, 2) + names + struct.pack("<I", len(NOTES)) + NOTES
    return rb"{\object\objemb{\*\objdata " + data.hex().encode() + rb"}}"


@pytest.fixture
def workbook(tmp_path) -> bytes:
    book = xlsx(tmp_path / "in.xlsx", row(1, "heron", 12) + row(2, "otter", 7))
    with zipfile.ZipFile(book, "a") as archive:
        archive.writestr(TYPES, "")
    return book.read_bytes()


def with_objects(path: Path, objects: dict[str, bytes]) -> Path:
    """A Word document with a paragraph, then objects of these names."""
    shown = "".join(
        f'<w:p><w:r><w:object><o:OLEObject xmlns:o="{O}" xmlns:r="{OFFICE}" r:id="package_{n}"/>'
        "</w:object></w:r></w:p>"
        for n, _ in enumerate(objects)
    )
    files = {
        f"package_{n}": (f"embeddings/{name}", objects[name]) for n, name in enumerate(objects)
    }
    return with_files(path, p("The birds we counted:") + shown, files)


def with_files(path: Path, body: str, files: dict[str, tuple[str, bytes]]) -> Path:
    """A Word document that relates to files of these names and contents, each by an id."""
    parts: dict[str, str | bytes] = {
        TYPES: "",
        "_rels/.rels": links(officeDocument="word/document.xml"),
        "word/_rels/document.xml.rels": links(**{key: name for key, (name, _) in files.items()}),
        "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
    }
    return zipped(path, parts | {f"word/{name}": data for name, data in files.values()})


def test_a_workbook_in_a_text_is_read_where_it_stands(tmp_path, workbook):
    texts, warnings = read(with_objects(tmp_path / "a.docx", {"Sheet1.xlsx": workbook}))
    assert "| otter | 7 |" in texts["object after “The birds we counted:” (Sheet1.xlsx), Sheet 1"]
    assert warnings == []


def test_a_file_that_was_dropped_onto_a_document_has_its_name(tmp_path):
    texts, _ = read(with_objects(tmp_path / "a.docx", {"oleObject1.bin": NOTES}))
    assert texts["object after “The birds we counted:” (notes.txt)"] == "A bittern boomed."


def test_objects_that_are_not_read_are_named_once(tmp_path):
    formula = compound({"Equation Native": b"x"})
    about = bytes(28) + struct.pack("<I", 14) + b"Acme Diagrams\0"
    foreign = compound({"\x01CompObj": about, "Drawing": b"y"})
    damaged = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(30)
    objects = {f"oleObject{n}.bin": d for n, d in enumerate([formula, formula, foreign, damaged])}
    _, warnings = read(with_objects(tmp_path / "a.docx", objects))
    place = "object after “The birds we counted:”"
    assert warnings == [
        f"2 objects were not read, as formulas of the Equation Editor are not read: {place}",
        f"1 object was not read, as objects of Acme Diagrams are not read: {place}",
        f"1 object was not read, as damaged ones are not read: {place}",
    ]


def test_a_warning_about_an_object_names_its_kind(tmp_path):
    song = compound(wrapped("song.mp3", b"ID3\4\0" + bytes(99)))
    songs = {"oleObject1.bin": song, "oleObject2.bin": song}
    other = {"oleObject3.bin": compound(wrapped("plan.rar", b"Rar!\x1a\x07" + bytes(99)))}
    _, warnings = read(with_objects(tmp_path / "a.docx", songs | other))
    assert [warning.partition(": object")[0] for warning in warnings] == [
        "2 objects were not read, as each is a sound recording: add what is said in it as text",
        "1 object was not read, as it is a RAR archive: unpack it and add the files",
    ]


def test_an_object_that_cannot_be_opened_costs_itself_alone(tmp_path, workbook):
    objects = {"a.xlsx": workbook[:300], "b.xlsx": workbook}
    items = list(extract(Source(with_objects(tmp_path / "a.docx", objects), "a.docx")).pages)
    assert any(isinstance(item, Page) and "otter" in item.text for item in items)
    assert any(isinstance(item, Remark) and "a.xlsx" in item.text for item in items)


def test_objects_within_objects_are_read_three_deep(tmp_path, workbook):
    inner = workbook
    for depth in range(4):
        path = with_objects(tmp_path / f"{depth}.docx", {f"level{depth}.zip": inner})
        inner = path.read_bytes()
    _, warnings = read(path)
    assert any("inside too many other files" in warning for warning in warnings)


def test_pages_that_are_done_are_passed_over(tmp_path, workbook):
    path = with_objects(tmp_path / "a.docx", {"Sheet1.xlsx": workbook})
    every = list(extract(Source(path, path.name)).pages)
    assert list(extract(Source(path, path.name, start=2)).pages) == every[2:]


def test_an_object_that_kills_its_reader_is_named(tmp_path, workbook):
    path = with_objects(tmp_path / "a.docx", {"Sheet1.xlsx": workbook})
    items = list(extract(Source(path, path.name, start=2, careful=True)).pages)
    assert [item.text for item in items if isinstance(item, Remark)] == [
        "object after “The birds we counted:” was not read: it kills its reader"
    ]


def test_a_web_page_that_word_takes_in_is_read(tmp_path):
    body = f'{p("Before it.")}<w:altChunk xmlns:r="{OFFICE}" r:id="aFChunk"/>'
    page = b"<html><body><p>The kingfisher came at noon.</p></body></html>"
    texts, _ = read(with_files(tmp_path / "a.docx", body, {"aFChunk": ("part.html", page)}))
    assert any("kingfisher" in text and "taken in" in place for place, text in texts.items())


def test_an_object_on_a_slide_and_the_sheet_behind_a_chart(tmp_path, workbook):
    words = "<p:sp><p:txBody><a:p><a:r><a:t>Counts</a:t></a:r></a:p></p:txBody></p:sp>"
    path = pptx(tmp_path / "a.pptx", words)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("ppt/slides/_rels/slide1.xml.rels", links(package="../embeddings/b.xlsx"))
        archive.writestr("ppt/charts/_rels/chart1.xml.rels", links(package="../embeddings/c.xlsx"))
        archive.writestr(TYPES, "")
        archive.writestr("ppt/embeddings/b.xlsx", workbook)
        archive.writestr("ppt/embeddings/c.xlsx", workbook)
    texts, _ = read(path)
    assert list(texts) == ["slide 1", "object on slide 1", "object on slide 1 (b.xlsx), Sheet 1"]


def test_sheets_behind_charts_alone_are_not_looked_at(tmp_path, workbook):
    path = pptx(tmp_path / "a.pptx", "")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("ppt/charts/chart1.xml", "<c/>")
        archive.writestr("ppt/charts/_rels/chart1.xml.rels", links(package="../embeddings/C.xlsx"))
        archive.writestr("ppt/embeddings/C.xlsx", workbook)
    assert not embedded.are_in(path, "pptx")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("ppt/embeddings/b.xlsx", workbook)
    assert embedded.are_in(path, "pptx")


def test_an_object_in_an_old_presentation_stands_on_its_slide(tmp_path):
    packed = struct.pack("<I", len(NOTES)) + zlib.compress(NOTES)
    inner = record(0xF011, record(3009, struct.pack("<I", 1)), container=True)
    shown = record(0xF004, inner, container=True)
    group = record(0xF003, shown, container=True)
    drawing = record(1036, record(0xF002, group, container=True), container=True)
    atom = record(4035, struct.pack("<6I", 0, 0, 1, 0, 3, 0))
    listed = record(1033, record(4044, atom, container=True), container=True)
    data = ppt([slide(more=drawing)], document=listed, stored=record(4113, packed, 1))
    (tmp_path / "a.ppt").write_bytes(data)
    texts, _ = read(tmp_path / "a.ppt")
    assert texts["object on slide 1 (notes.txt)"] == "A bittern boomed."


def test_a_chart_of_microsoft_graph_is_the_table_it_was_drawn_from(tmp_path):
    def cell(kind: int, line: int, column: int, value: bytes) -> bytes:
        data = struct.pack("<HHBBB", line, column, 0, 9 if kind == 3 else 0, 0) + value
        return struct.pack("<HH", kind, len(data)) + data

    def label(line: int, column: int, text: str) -> bytes:
        return cell(4, line, column, struct.pack("<BB", len(text), 0) + text.encode("latin-1"))

    graph = struct.pack("<HHHH12x", 0x809, 16, 0x680, 5)
    graph += label(0, 1, "1st Qtr") + label(1, 0, "East") + cell(3, 1, 1, struct.pack("<d", 0.29))
    chart = compound({"Workbook": graph})
    texts, _ = read(with_objects(tmp_path / "a.docx", {"oleObject1.bin": chart}))
    assert "| East | 29% |" in "\n".join(texts.values())


def test_an_object_in_an_rtf_is_read_where_it_stands(tmp_path):
    written = rtf_object(struct.pack("<I", 8) + b"Acme.1\0\0" + bytes(8))
    text = rb"{\rtf1 Before it.\par" + written + rb"\par Below.\par" + written * 2 + rb"}"
    (tmp_path / "a.rtf").write_bytes(text)
    texts, _ = read(tmp_path / "a.rtf")
    assert texts["object after “Before it.” (notes.txt)"] == "A bittern boomed."
    assert texts["object after “Below.” (notes.txt)"] == "A bittern boomed."
    assert texts["object 2 after “Below.” (notes.txt)"] == "A bittern boomed."


def test_an_object_in_an_rtf_that_is_not_shown_is_counted(tmp_path):
    (tmp_path / "a.rtf").write_bytes(rb"{\rtf1 Before it.\par{\v " + rtf_object() + rb"}}")
    texts, _ = read(tmp_path / "a.rtf")
    assert texts["object 1 (notes.txt)"] == "A bittern boomed."


def record_of_sheet(kind: int, data: bytes) -> bytes:
    return struct.pack("<HH", kind, len(data)) + data


def test_an_object_in_an_old_workbook_stands_on_its_sheet(tmp_path):
    begin = record_of_sheet(0x809, struct.pack("<HHHH8x", 0x600, 5, 0, 0))
    end = record_of_sheet(0x0A, b"")
    said = struct.pack("<HHHHIHHI", 0x15, 4, 8, 1, 0, 9, 4, 0x5A2F1)  # of what, then its number
    listed = struct.pack("<IBB", len(begin) + 4 + 14 + len(end), 0, 0) + b"\x06\0Boats2"
    workbook = begin + record_of_sheet(0x85, listed) + end
    workbook += begin + record_of_sheet(0x5D, said) + end
    one = {"\x01Ole": b"x"}
    stored: Tree = {"Workbook": workbook, "MBD0005A2F1": one, "MBD00000007": one}
    (tmp_path / "a.xls").write_bytes(compound(stored))
    found = old_office.found(Source(tmp_path / "a.xls", "a.xls"))
    assert [each.place for each in found] == ["object 1", "object on Boats2"]


def test_an_object_in_an_old_text_stands_behind_the_words_before_it(tmp_path, monkeypatch):
    text = "Boats\rSee the sheet: \x13 EMBED Excel.Sheet.8 \x14\x01\x15 and so on.\r"
    at = text.index("\x01")
    said = struct.pack("<HI", 0x6A03, 1066129853)
    page = struct.pack("<3I", 0, 2 * at, 2 * at + 2) + bytes([0, 16])
    page = page.ljust(32, b"\0") + bytes([len(said)]) + said
    file = Told(
        is_old=True,
        structure=lambda index: struct.pack("<3I", 0, 99, 0) if index == 12 else b"",
        main=page.ljust(511, b"\0") + b"\x02",
        stretches=lambda: [Piece(0, len(text), 0, 2)],
        text=text,
    )
    monkeypatch.setattr(old_office, "WordFile", lambda opened: file)
    one = {"\x01Ole": b"x"}
    stored: Tree = {"WordDocument": b"x", "ObjectPool": {"_1066129853": one, "_7": one, "_x": one}}
    (tmp_path / "a.doc").write_bytes(compound(stored))
    found = [each.place for each in old_office.found(Source(tmp_path / "a.doc", "a.doc"))]
    assert sorted(found) == ["object 2", "object 3", "object after “See the sheet:”"]


def test_a_document_of_nothing_but_an_object_is_read(tmp_path):
    (tmp_path / "a.rtf").write_bytes(rb"{\rtf1 " + rtf_object() + rb"}")
    texts, _ = read(tmp_path / "a.rtf")
    assert "A bittern boomed." in texts.values()


def test_a_document_without_objects_is_not_looked_at_twice(tmp_path):
    assert not embedded.are_in(docx(tmp_path / "a.docx", p("Nothing.")), "docx")
    assert not embedded.are_in(pptx(tmp_path / "a.pptx", ""), "pptx")


@pytest.mark.parametrize(("make", "inside"), [(docx, p("Nothing.")), (pptx, "")])
def test_the_picture_that_a_file_has_of_itself_is_no_object(tmp_path, make, inside):
    path = make(tmp_path / "a", inside)
    kind = make.__name__
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("docProps/thumbnail.emf", "")
    assert not embedded.are_in(path, kind)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("media/image1.emf", "")
    assert embedded.are_in(path, kind)


SPACES = " ".join(
    f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{full}:1.0"'
    for name, full in {
        **{name: name for name in ("office", "text", "table", "form")},
        "draw": "drawing",
    }.items()
)


def content(body: str, kind: str = "text") -> str:
    return (
        f'<office:document-content {SPACES} xmlns:xlink="http://www.w3.org/1999/xlink">'
        f"<office:body><office:{kind}>{body}</office:{kind}></office:body></office:document-content>"
    )


def odt(path: Path, body: str, parts: dict[str, str | bytes]) -> Path:
    kind = "application/vnd.oasis.opendocument.text"
    return zipped(path, {"mimetype": kind, "content.xml": content(body), **parts})


def test_a_sheet_in_an_opendocument_text_is_read_in_its_place(tmp_path):
    words = ("otter", "7")
    cells = (f"<table:table-cell><text:p>{word}</text:p></table:table-cell>" for word in words)
    row = f"<table:table-row>{''.join(cells)}</table:table-row>"
    sheet = content(f"<table:table>{row}</table:table>", "spreadsheet")
    body = (
        '<text:p>Before it.</text:p><text:p><draw:frame><draw:object xlink:href="./Object 1"/>'
        "</draw:frame></text:p><text:p>Behind it.</text:p>"
    )
    path = odt(tmp_path / "a.odt", body, {"Object 1/content.xml": sheet})
    pages = [page.text for page in extract(Source(path, path.name)).pages]
    assert pages[0] == "Before it.\n\n| otter | 7 |\n\nBehind it."


def test_an_object_of_another_program_in_an_opendocument_text_is_read(tmp_path):
    body = (
        '<text:p>Before it.<draw:frame><draw:object-ole xlink:href="./Object 1"/></draw:frame>'
        "</text:p>"
    )
    texts, _ = read(odt(tmp_path / "a.odt", body, {"Object 1": NOTES}))
    assert texts["object after “Before it.” (notes.txt)"] == "A bittern boomed."


def test_an_object_that_holds_itself_is_read_once(tmp_path):
    shown = (
        '<text:p>Around.<draw:frame><draw:object xlink:href="./Object 1"/></draw:frame></text:p>'
    )
    path = odt(tmp_path / "a.odt", shown, {"Object 1/content.xml": content(shown)})
    assert text_of(extract(Source(path, path.name))).count("Around") == 2


def test_controls_of_a_form_show_their_labels_and_values(tmp_path):
    forms = (
        '<office:forms><form:form><form:checkbox xml:id="a" form:label="Heron seen"'
        ' form:current-state="checked"/><form:text xml:id="b" form:current-value="at the weir"/>'
        '<form:listbox xml:id="c"><form:option form:label="May"/>'
        '<form:option form:label="June" form:current-selected="true"/></form:listbox>'
        '<form:password xml:id="d" form:current-value="secret"/></form:form></office:forms>'
    )
    shown = "".join(f'<draw:control draw:control="{each}"/>' for each in "abcd")
    path = odt(tmp_path / "a.odt", f"{forms}<text:p>Form {shown}</text:p>", {})
    assert (
        text_of(extract(Source(path, path.name))) == "Form\n\n☒ Heron seen\n\nat the weir\n\nJune"
    )
