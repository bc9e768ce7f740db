"""Workbooks in binary form, Visio drawings, and books for Kindle."""

import struct
import zipfile
from pathlib import Path

import pytest
from small_office import links, zipped

from kb.engine.errors import DamagedFile, NoTextFound, PasswordNeeded
from kb.engine.ingest.extract import Source, extract

V = "http://schemas.microsoft.com/office/visio/2012/main"
RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
HTML = (
    "<html><body><h1>Morning</h1><p>First words, größer.</p><mbp:pagebreak/>"
    "<h1>Evening</h1><p>Last words.</p></body></html>"
)


def brt(kind: int, data: bytes) -> bytes:
    """A record of a workbook in binary form."""
    number = bytes((kind,)) if kind < 0x80 else bytes((kind & 0x7F | 0x80, kind >> 7))
    return number + bytes((len(data),)) + data


def wide(text: str) -> bytes:
    return struct.pack("<I", len(text)) + text.encode("utf-16-le")


def xlsb(path: Path) -> Path:
    cell = struct.pack("<II", 0, 0)
    rows = brt(0, struct.pack("<I", 0)) + brt(7, cell + struct.pack("<I", 0))
    rows += brt(6, struct.pack("<II", 1, 0) + wide("Due"))
    rows += brt(0, struct.pack("<I", 1)) + brt(5, cell + struct.pack("<d", 12.5))
    rows += brt(2, struct.pack("<II", 1, 1) + struct.pack("<i", 45_356 << 2 | 2))
    rows += brt(4, struct.pack("<II", 2, 0) + b"\1") + brt(3, struct.pack("<II", 3, 0) + b"\x2a")
    rows += brt(479, bytes(2) + wide("&LHarbour &P") + b"\xff" * 20)
    styles = brt(617, bytes(4)) + brt(47, struct.pack("<HH", 0, 0))
    styles += brt(47, struct.pack("<HH", 0, 14)) + brt(618, b"")
    sheet = struct.pack("<II", 1, 1) + wide("worksheet") + wide("Budget")
    return zipped(
        path,
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": links(officeDocument="xl/workbook.bin"),
            "xl/workbook.bin": brt(153, bytes(8)) + brt(156, sheet),
            "xl/_rels/workbook.bin.rels": links(
                worksheet="sheet.bin", sharedStrings="strings.bin", styles="styles.bin"
            ),
            "xl/strings.bin": brt(19, b"\0" + wide("Amount")),
            "xl/styles.bin": styles,
            "xl/sheet.bin": rows,
        },
    )


def test_a_binary_workbook_is_read_as_it_is_shown(tmp_path):
    extraction = extract(Source(xlsb(tmp_path / "stored"), "budget.xlsb"))
    pages = list(extraction.pages)
    assert (extraction.doc_type, extraction.format) == ("xlsx", "xlsb")
    assert pages[0].text == ("# Budget\n| Amount | Due |  |  |\n| 12.5 | 3/5/2024 | TRUE | #N/A |")
    assert pages[0].location == "Budget (hidden)"
    assert "Harbour" in pages[1].text


def test_a_cell_of_a_binary_workbook_that_names_no_column_is_the_next_one(tmp_path):
    path = xlsb(tmp_path / "stored")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    style, text = bytes(4), brt(6, struct.pack("<II", 1, 0) + wide("second"))
    row = text + brt(18, style + bytes(4)) + brt(12, style) + brt(17, style + wide("fifth"))
    full = b"".join(brt(17, style + wide(letter)) for letter in "abcde")
    parts["xl/sheet.bin"] = brt(0, bytes(4)) + row + brt(0, struct.pack("<I", 1)) + full
    page, *_ = extract(Source(zipped(path, parts), "budget.xlsb")).pages
    assert page.text == "# Budget\n|  | second | Amount |  | fifth |\n| a | b | c | d | e |"


def test_a_binary_workbook_whose_records_are_cut_off_has_what_came_before(tmp_path):
    path = xlsb(tmp_path / "stored")
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["xl/sheet.bin"] = parts["xl/sheet.bin"][:40]
    zipped(path, parts)
    [page] = extract(Source(path, "budget.xlsb")).pages
    assert "Amount" in page.text


def test_a_drawing_is_read_page_by_page_with_what_its_masters_say(tmp_path):
    page = (
        f'<PageContents xmlns="{V}"><Shapes><Shape ID="1"><Text>Pump<cp IX="0"/> room</Text>'
        '<Section N="Property"><Row N="a"><Cell N="Label" V="Cost"/><Cell N="Value" V="12"/></Row>'
        '</Section><Shapes><Shape ID="2"><Text>Inner</Text></Shape></Shapes></Shape>'
        '<Shape ID="3" Master="7"/></Shapes></PageContents>'
    )
    visio = "http://schemas.microsoft.com/visio/2010/relationships"
    path = zipped(
        tmp_path / "stored",
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": links(document="visio/document.xml").replace(RELATIONS, visio),
            "visio/document.xml": f'<VisioDocument xmlns="{V}"/>',
            "visio/_rels/document.xml.rels": links(pages="pages.xml", masters="masters.xml"),
            "visio/pages.xml": f'<Pages xmlns="{V}" xmlns:r="{RELATIONS}">'
            '<Page Name="Ground floor"><Rel r:id="page"/></Page></Pages>',
            "visio/_rels/pages.xml.rels": links(page="page1.xml"),
            "visio/page1.xml": page,
            "visio/masters.xml": f'<Masters xmlns="{V}" xmlns:r="{RELATIONS}">'
            '<Master ID="7"><Rel r:id="master"/></Master></Masters>',
            "visio/_rels/masters.xml.rels": links(master="master1.xml"),
            "visio/master1.xml": f'<MasterContents xmlns="{V}"><Shapes><Shape ID="5">'
            "<Text>Valve</Text></Shape></Shapes></MasterContents>",
        },
    )
    extraction = extract(Source(path, "plan.vsdx"))
    [read] = extraction.pages
    assert (extraction.doc_type, read.location) == ("vsdx", "page 1, Ground floor")
    assert read.text == "# Ground floor\n\nPump room\nCost: 12\n\nInner\n\nValve"


def mobi(
    html: bytes, *, packing: int = 1, lock: int = 0, texts: list[bytes] | None = None
) -> bytes:
    texts = [html] if texts is None else texts
    head = struct.pack(">HHIHHHH", packing, 0, len(html), len(texts), 4_096, lock, 0)
    mobi_head = bytearray(232)
    struct.pack_into(">4s5I", mobi_head, 0, b"MOBI", 232, 2, 65_001, 0, 6)
    struct.pack_into(">II", mobi_head, 84 - 16, 16 + 232, 7)
    records = [head + bytes(mobi_head) + b"Harbour", *texts]
    start = 78 + 8 * len(records) + 2
    data = bytearray(78)
    data[60:68] = b"BOOKMOBI"
    struct.pack_into(">H", data, 76, len(records))
    for record in records:
        data += struct.pack(">II", start, 0)
        start += len(record)
    return bytes(data) + b"\0\0" + b"".join(records)


@pytest.fixture
def read(extracted):
    def read(data, filename="book.mobi"):
        extraction = extracted(data, filename)
        return extraction, list(extraction.pages)

    return read


def test_a_book_is_read_chapter_by_chapter(read):
    extraction, pages = read(mobi(HTML.encode()))
    assert (extraction.doc_type, extraction.format) == ("epub", "mobi")
    assert extraction.title == "Harbour"
    assert [page.location for page in pages] == ["Morning", "Evening"]
    assert pages[0].text == "# Morning\n\nFirst words, größer."


def test_a_packed_book_is_unpacked(read):
    # `ab`, then three letters from three back, a space with a letter, and bytes as they are.
    packed = b"<p>ab" + bytes((0x80 | 5 << 3 >> 8, 5 << 3 & 0xFF)) + b"\xf8\x02\xc3\xb6</p>"
    _, pages = read(mobi(b"", packing=2, texts=[packed]))
    assert "x\u00f6" in pages[0].text


def test_a_book_that_is_locked_is_refused(read):
    with pytest.raises(PasswordNeeded, match="locked against copying"):
        read(mobi(HTML.encode(), lock=2))


@pytest.mark.parametrize("cut", [70, 90, 120, 300])
def test_a_book_that_is_cut_off_is_damaged(read, cut):
    data = mobi(HTML.encode())[:cut].ljust(80, b"\0")
    with pytest.raises((DamagedFile, NoTextFound)):
        read(data)
