"""Files that were made to harm whoever reads them: small on disk, each with what should come of it.

`TEXT` in what is expected means that the word `needle` is found, `EMPTY` that there is no text and
no error; all else are codes of errors. Whatever happens, it takes bounded time and memory, and no
text of another file comes out.
"""

import base64
import gzip
import io
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

TEXT, EMPTY = "text", "empty"
BROKEN = {"damaged_file", "content_too_large", "nested_too_deep", "extraction_failed"}
SLOW = {"took_too_long"}
NOTHING = {"no_text_found"}
UNKNOWN = {"unsupported_format"}


@dataclass(frozen=True)
class HostileFile:
    """A file by its name, how to make it, and what may come of it. `long` takes its time."""

    name: str
    make: Callable[[], bytes]
    expected: frozenset[str]
    long: bool = False


Make = Callable[[], bytes | str]
_made: list[HostileFile] = []


def all_files() -> list[HostileFile]:
    return list(_made)


def _add(name: str, expected: str | set[str], make: Make, *, long: bool = False) -> None:
    def make_bytes() -> bytes:
        content = make()
        return content.encode() if isinstance(content, str) else content

    outcomes = frozenset({expected} if isinstance(expected, str) else expected)
    _made.append(HostileFile(name, make_bytes, outcomes, long))


def _file(name: str, expected: str | set[str], *, long: bool = False) -> Callable[[Make], Make]:
    """Names a function that makes a file."""

    def add(make: Make) -> Make:
        _add(name, expected, make, long=long)
        return make

    return add


# PDF

_FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"
_SHOW = b"BT /F 12 Tf 50 700 Td (needle) Tj ET\n"
_ONE_PAGE = b"<</Type/Pages/Kids[3 0 R]/Count 1>>"
_USES_FONT = b"/Font<</F 5 0 R>>"


def _pdf(*objects: bytes, catalog: bytes = b"") -> bytes:
    """A PDF of these objects, from the second on: the first is the catalog."""
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n")
    places = []
    first = b"<</Type/Catalog/Pages 2 0 R" + catalog + b">>"
    for number, body in enumerate((first, *objects), start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n" % number + body + b"\nendobj\n")
    table = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
    out.write(b"".join(b"%010d 00000 n \n" % place for place in places))
    out.write(b"trailer<</Size %d/Root 1 0 R>>\n" % (len(places) + 1))
    out.write(b"startxref\n%d\n%%%%EOF" % table)
    return out.getvalue()


def _stream(data: bytes, entries: bytes = b"") -> bytes:
    return b"<</Length %d" % len(data) + entries + b">>stream\n" + data + b"\nendstream"


def _page(resources: bytes = b"", box: bytes = b"0 0 600 800", entries: bytes = b"") -> bytes:
    page = b"<</Type/Page/Parent 2 0 R/MediaBox[" + box + b"]/Contents 4 0 R"
    return page + b"/Resources<<" + resources + b">>" + entries + b">>"


def _form(content: bytes, entries: bytes = b"") -> bytes:
    return _stream(content, b"/Type/XObject/Subtype/Form/BBox[0 0 600 800]" + entries)


@_file("good.pdf", TEXT)
def _good_pdf() -> bytes:
    return _pdf(_ONE_PAGE, _page(_USES_FONT), _stream(_SHOW), _FONT)


_add("truncated.pdf", {TEXT, *BROKEN}, lambda: _good_pdf()[:-180])


_add(
    "pages_in_a_circle.pdf", BROKEN | NOTHING, lambda: _pdf(b"<</Type/Pages/Kids[2 0 R]/Count 1>>")
)


@_file("form_in_itself.pdf", BROKEN | NOTHING, long=True)
def _form_in_itself() -> bytes:
    form = _form(b"/X Do /X Do", b"/Resources<</XObject<</X 5 0 R>>>>")
    return _pdf(_ONE_PAGE, _page(b"/XObject<</X 5 0 R>>"), _stream(b"/X Do"), form)


@_file("forms_fanning_out.pdf", BROKEN | NOTHING | SLOW, long=True)
def _forms_fanning_out() -> bytes:
    forms = [
        _form(b"/X Do " * 10, b"/Resources<</XObject<</X %d 0 R>>>>" % number)
        for number in range(6, 15)
    ]
    page = _page(b"/XObject<</X 5 0 R>>")
    return _pdf(_ONE_PAGE, page, _stream(b"/X Do"), *forms, _form(b"0 0 1 1 re f"))


@_file("a_hundred_thousand_pages.pdf", BROKEN)
def _a_hundred_thousand_pages() -> bytes:
    pages = b"<</Type/Pages/Kids[" + b"3 0 R " * 100_000 + b"]/Count 100000>>"
    return _pdf(pages, _page(), _stream(b"q Q"))


@_file("count_that_lies.pdf", {TEXT, *BROKEN})
def _count_that_lies() -> bytes:
    pages = b"<</Type/Pages/Kids[3 0 R]/Count 2000000000>>"
    return _pdf(pages, _page(_USES_FONT), _stream(_SHOW), _FONT)


@_file("page_of_a_kilometre.pdf", TEXT)
def _page_of_a_kilometre() -> bytes:
    page = _page(_USES_FONT, b"0 0 2000000 2000000")
    return _pdf(_ONE_PAGE, page, _stream(_SHOW), _FONT)


@_file("deep_array.pdf", {EMPTY, *BROKEN, *NOTHING})
def _deep_array() -> bytes:
    deep = b"/A " + b"[" * 100_000 + b"]" * 100_000
    return _pdf(_ONE_PAGE, _page(entries=deep), _stream(b"q Q"))


@_file("packed_twice.pdf", {TEXT, *BROKEN, *SLOW}, long=True)
def _packed_twice() -> bytes:
    """Some kilobytes that become 200 MB of drawing."""
    content = zlib.compress(zlib.compress(_SHOW * 5_000_000, 9), 9)
    stream = _stream(content, b"/Filter[/FlateDecode/FlateDecode]")
    return _pdf(_ONE_PAGE, _page(_USES_FONT), stream, _FONT)


@_file("launches_a_program.pdf", TEXT)
def _launches_a_program() -> bytes:
    run = b"/OpenAction<</S/Launch/F(/bin/sh)/Win<</F(cmd.exe)>>/Next<</S/JavaScript/JS(app.alert"
    run += b"\\(1\\);this.submitForm\\('http://127.0.0.1:9/'\\))>>>>"
    return _pdf(_ONE_PAGE, _page(_USES_FONT), _stream(_SHOW), _FONT, catalog=run)


@_file("picture_elsewhere.pdf", TEXT)
def _picture_elsewhere() -> bytes:
    """A stream whose content is in another file."""
    other = b"<</Length 0/F(/etc/passwd)/Type/XObject/Subtype/Form/BBox[0 0 9 9]>>stream\nendstream"
    page = _page(b"/Font<</F 5 0 R>>/XObject<</X 6 0 R>>")
    return _pdf(_ONE_PAGE, page, _stream(_SHOW + b"/X Do"), _FONT, other)


@_file("both_pdf_and_zip.pdf", TEXT)
def _both_pdf_and_zip() -> bytes:
    return _good_pdf() + _zip({"word/document.xml": "<w:t>another</w:t>"})


# Zipped documents

_WORD = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_SHEET = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_ENTITY_BOMB = '<!ENTITY l0 "lol">' + "".join(
    f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10)
)
_FOREIGN_ENTITY = '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/passwd">]>'

Part = str | bytes | Iterable[bytes]


def _zip(parts: dict[str, Part]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, body in parts.items():
            if isinstance(body, str | bytes):
                archive.writestr(name, body)
                continue
            with archive.open(name, "w", force_zip64=True) as part:
                for block in body:
                    part.write(block)
    return out.getvalue()


def _office(main: str, kind: str, parts: dict[str, Part]) -> bytes:
    content_type = f"application/vnd.openxmlformats-officedocument.{kind}.main+xml"
    return _zip(
        {
            "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types">'
            '<Default Extension="xml" ContentType="application/xml"/>'
            f'<Override PartName="/{main}" ContentType="{content_type}"/></Types>',
            "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1"'
            f' Type="{_RELATIONS}/officeDocument" Target="{main}"/></Relationships>',
            **parts,
        }
    )


def _docx(body: Part, before: str = "", more: dict[str, Part] | None = None) -> bytes:
    if isinstance(body, str):
        body = f"{before}<w:document {_WORD}><w:body>{body}</w:body></w:document>"
    parts = {"word/document.xml": body, **(more or {})}
    return _office("word/document.xml", "wordprocessingml.document", parts)


def _paragraph(text: str) -> str:
    return f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>"


def _xlsx(sheet: Part, more: dict[str, Part] | None = None) -> bytes:
    book = f'<workbook {_SHEET} xmlns:r="{_RELATIONS}"><sheets>'
    book += '<sheet name="S" sheetId="1" r:id="r1"/></sheets></workbook>'
    relations = f'<Relationships xmlns="{_PACKAGE}/relationships">'
    relations += f'<Relationship Id="r1" Type="{_RELATIONS}/worksheet" Target="worksheets/s.xml"/>'
    relations += (
        f'<Relationship Id="r2" Type="{_RELATIONS}/sharedStrings" Target="sharedStrings.xml"/>'
    )
    parts: dict[str, Part] = {
        "xl/workbook.xml": book,
        "xl/_rels/workbook.xml.rels": relations + "</Relationships>",
        "xl/worksheets/s.xml": sheet,
        **(more or {}),
    }
    return _office("xl/workbook.xml", "spreadsheetml.sheet", parts)


def _sheet(rows: str, before: str = "") -> str:
    return f"<worksheet {_SHEET}>{before}<sheetData>{rows}</sheetData></worksheet>"


def _cell(place: str, text: str) -> str:
    return f'<c r="{place}" t="inlineStr"><is><t>{text}</t></is></c>'


_NEEDLE_ROW = f'<row r="1">{_cell("A1", "needle")}</row>'


@_file("good.docx", TEXT)
def _good_docx() -> bytes:
    return _docx(_paragraph("needle"))


@_file("foreign_entity.docx", {TEXT, *BROKEN})
def _foreign_entity_docx() -> bytes:
    return _docx(_paragraph("needle &x; after"), _FOREIGN_ENTITY)


_add(
    "entity_bomb.docx", BROKEN, lambda: _docx(_paragraph("&l9;"), f"<!DOCTYPE d [{_ENTITY_BOMB}]>")
)


@_file("deep.docx", {TEXT, *BROKEN})
def _deep_docx() -> bytes:
    opened, closed = "<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>"
    return _docx(opened * 20_000 + _paragraph("needle") + closed * 20_000)


@_file("many_paragraphs.docx", {TEXT, *BROKEN, *SLOW}, long=True)
def _many_paragraphs() -> bytes:
    return _docx(_paragraph("a") * 300_000 + _paragraph("needle"))


@_file("bomb.docx", BROKEN | {"text_too_long"})
def _bomb_docx() -> bytes:
    begin = f"<w:document {_WORD}><w:body><w:p><w:r><w:t>".encode()
    end = b"</w:t></w:r></w:p></w:body></w:document>"
    return _docx([begin, *[b"A" * 2**20] * 100, end])


@_file("template_elsewhere.docx", TEXT)
def _template_elsewhere() -> bytes:
    """Word would fetch these when it opens the document."""
    relations = f'<Relationships xmlns="{_PACKAGE}/relationships">' + "".join(
        f'<Relationship Id="e{n}" Type="{_RELATIONS}/{kind}" Target="{target}"'
        ' TargetMode="External"/>'
        for n, (kind, target) in enumerate(
            [
                ("attachedTemplate", "http://127.0.0.1:9/t.dotm"),
                ("image", "file:///etc/passwd"),
                ("hyperlink", "http://127.0.0.1:9/"),
                ("footnotes", "http://127.0.0.1:9/f.xml"),
            ]
        )
    )
    more: dict[str, Part] = {"word/_rels/document.xml.rels": relations + "</Relationships>"}
    return _docx(_paragraph("needle"), more=more)


@_file("part_outside.docx", TEXT)
def _part_outside() -> bytes:
    """A relationship and a member that lead out of the archive."""
    relations = f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="f"'
    relations += f' Type="{_RELATIONS}/footnotes" Target="../../../../../../etc/passwd"/>'
    more: dict[str, Part] = {
        "word/_rels/document.xml.rels": relations + "</Relationships>",
        "../../../../tmp/escaped.xml": "<a/>",
    }
    return _docx(_paragraph("needle"), more=more)


_add("good.xlsx", TEXT, lambda: _xlsx(_sheet(_NEEDLE_ROW)))


@_file("far_apart.xlsx", TEXT)
def _far_apart() -> bytes:
    return _xlsx(_sheet(f'{_NEEDLE_ROW}<row r="1048576">{_cell("XFD1048576", "end")}</row>'))


@_file("size_that_lies.xlsx", TEXT)
def _size_that_lies() -> bytes:
    return _xlsx(_sheet(_NEEDLE_ROW, '<dimension ref="A1:XFD1048576"/>'))


@_file("bomb.xlsx", {TEXT, *BROKEN, *SLOW, "text_too_long"}, long=True)
def _bomb_xlsx() -> bytes:
    row = b"<row>" + (_cell("A1", "A" * 25) * 16_000).encode() + b"</row>"
    begin, end = f"<worksheet {_SHEET}><sheetData>".encode(), b"</sheetData></worksheet>"
    return _xlsx([begin, *[row] * 200, end])


@_file("a_million_shared_strings.xlsx", {TEXT, *BROKEN, *SLOW}, long=True)
def _a_million_shared_strings() -> bytes:
    def strings() -> Iterator[bytes]:
        yield f"<sst {_SHEET}><si><t>needle</t></si>".encode()
        for _ in range(100):
            yield b"<si><t>another</t></si>" * 10_000
        yield b"</sst>"

    rows = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>999999999</v></c></row>'
    return _xlsx(_sheet(rows), {"xl/sharedStrings.xml": strings()})


@_file("slip.zip", {TEXT, *UNKNOWN})
def _slip_zip() -> bytes:
    names = ("../../escape.txt", "/absolute.txt", "a\\..\\b.txt")
    return _zip(dict.fromkeys(names, "needle"))


@_file("size_that_lies.docx", {TEXT, *BROKEN})
def _size_that_lies_docx() -> bytes:
    """Every length in the archive's list is two gigabytes."""
    data = bytearray(_good_docx())
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        data[place + 24 : place + 28] = struct.pack("<I", 0x7FFFFFFF)
        place = data.find(b"PK\x01\x02", place + 1)
    return bytes(data)


@_file("many_members.docx", BROKEN, long=True)
def _many_members() -> bytes:
    more: dict[str, Part] = {f"x/{number}": "" for number in range(20_000)}
    return _docx(_paragraph("needle"), more=more)


@_file("slip.epub", {TEXT, *BROKEN, *NOTHING})
def _slip_epub() -> bytes:
    """A chapter of a book that is not in the book."""
    container = '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    container += '<rootfile full-path="content.opf"/></rootfiles></container>'
    package = '<package xmlns="http://www.idpf.org/2007/opf"><manifest>' + "".join(
        f'<item id="c{n}" href="{href}" media-type="application/xhtml+xml"/>'
        for n, href in enumerate(["../../../../../etc/passwd", "/etc/passwd", "one.xhtml"])
    )
    package += '</manifest><spine><itemref idref="c0"/><itemref idref="c1"/><itemref idref="c2"/>'
    return _zip(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": container,
            "content.opf": package + "</spine></package>",
            "one.xhtml": "<html><body><p>needle</p></body></html>",
            "../../../../../etc/passwd": "<html><body>root: not the real one</body></html>",
        }
    )


# Web pages, drawings, pictures

_SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '


@_file("deep.html", {TEXT, *BROKEN, *SLOW}, long=True)
def _deep_html() -> str:
    return "<html><body>" + "<div>" * 200_000 + "needle" + "</div>" * 200_000


@_file("deep_spans.html", {TEXT, *BROKEN, *SLOW}, long=True)
def _deep_spans() -> str:
    return "<html><body>" + "<b><i>" * 100_000 + "needle"


@_file("many_attributes.html", {TEXT, *BROKEN, *SLOW}, long=True)
def _many_attributes() -> str:
    attributes = " ".join(f"a{number}=1" for number in range(200_000))
    return f"<html><body><p {attributes}>needle</p>"


@_file("charset_that_lies.html", TEXT)
def _charset_that_lies() -> bytes:
    return b"<html><meta charset=utf-16><body><p>needle caf\xe9</p>"


@_file("fetches.html", TEXT)
def _fetches() -> str:
    return (
        '<html><head><base href="http://127.0.0.1:9/"><link rel="stylesheet" href="s.css">'
        '<script src="s.js"></script></head><body><iframe src="file:///etc/passwd"></iframe>'
        '<img src="http://127.0.0.1:9/i.png"><p>needle</p></body></html>'
    )


@_file("foreign_entity.svg", {TEXT, *BROKEN})
def _foreign_entity_svg() -> str:
    return f"{_FOREIGN_ENTITY}{_SVG}><text>needle &x;</text></svg>"


@_file("entity_bomb.svg", {*BROKEN, *NOTHING, TEXT})
def _entity_bomb_svg() -> str:
    return f"<!DOCTYPE s [{_ENTITY_BOMB}]>{_SVG}><text>needle &l9;</text></svg>"


_add("huge.svg", TEXT, lambda: _SVG + 'width="200000" height="200000"><text>needle</text></svg>')


@_file("uses_fanning_out.svg", NOTHING | {EMPTY, TEXT})
def _uses_fanning_out() -> str:
    groups = "".join(
        f'<g id="a{n}">' + f'<use xlink:href="#a{n - 1}"/>' * 10 + "</g>" for n in range(1, 10)
    )
    return f'{_SVG}><defs><g id="a0"/>{groups}</defs><use xlink:href="#a9"/></svg>'


@_file("file_inside.svg", TEXT)
def _file_inside() -> str:
    return f'{_SVG}><image xlink:href="file:///etc/passwd"/><text>needle</text></svg>'


@_file("megabyte_attribute.svg", TEXT, long=True)
def _megabyte_attribute() -> str:
    path = "M0 0 L1 1 " * 200_000
    return f'{_SVG}><path d="{path}"/><text>needle</text></svg>'


def _png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    packed = zlib.compressobj(9)
    rows = b"".join(packed.compress(bytes(width + 1)) for _ in range(height)) + packed.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    head = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    return head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


_add("bomb.png", BROKEN | UNKNOWN, lambda: _png(10_000, 8_000))
_add("truncated.png", BROKEN | UNKNOWN, lambda: _png(50, 50)[:33])


@_file("bomb.gif", {*BROKEN, *UNKNOWN, *NOTHING})
def _bomb_gif() -> bytes:
    """A screen of 65,535 by 65,535 with a frame of that size in a few bytes."""
    size = struct.pack("<HH", 65_535, 65_535)
    frame = b"," + bytes(4) + size + b"\x00" + b"\x02\x02\x44\x01\x00"
    return b"GIF89a" + size + b"\x80\x00\x00" + bytes(6) + frame * 500 + b";"


@_file(
    "a_hundred_thousand_frames.tiff", {*BROKEN, *UNKNOWN, *NOTHING, *SLOW, EMPTY, TEXT}, long=True
)
def _a_hundred_thousand_frames() -> bytes:
    """Frames of one pixel, each pointing to the next."""
    count, size = 100_000, 2 + 8 * 12 + 4
    out = io.BytesIO()
    out.write(b"II*\0" + struct.pack("<I", 8))
    for number in range(count):
        place = 8 + number * size
        entries = [(256, 1), (257, 1), (258, 8), (259, 1), (262, 1), (273, 0), (278, 1), (279, 1)]
        out.write(struct.pack("<H", len(entries)))
        for tag, value in entries:
            out.write(struct.pack("<HHII", tag, 4, 1, value))
        out.write(struct.pack("<I", place + size if number < count - 1 else 0))
    return out.getvalue()


@_file("frames_in_a_circle.tiff", {*BROKEN, *UNKNOWN, *NOTHING, *SLOW, EMPTY, TEXT})
def _frames_in_a_circle() -> bytes:
    entries = [(256, 1), (257, 1), (258, 8), (259, 1), (262, 1), (273, 0), (278, 1), (279, 1)]
    directory = struct.pack("<H", len(entries)) + b"".join(
        struct.pack("<HHII", tag, 4, 1, value) for tag, value in entries
    )
    return b"II*\0" + struct.pack("<I", 8) + directory + struct.pack("<I", 8)


# Text


_add("deep.json", {TEXT, EMPTY, *BROKEN, *NOTHING}, lambda: "[" * 200_000 + "]" * 200_000)
_add("long_number.json", {TEXT, *BROKEN}, lambda: '{"needle": ' + "9" * 500_000 + "}")
_add("deep_quotes.md", TEXT, lambda: ">" * 50_000 + " needle\n")


@_file("deep_list.md", TEXT)
def _deep_list() -> str:
    return "".join(" " * (2 * depth) + "- x\n" for depth in range(2_000)) + "\nneedle\n"


_add("brackets.md", TEXT, lambda: "[" * 50_000 + " needle")
_add("one_line.txt", TEXT, lambda: "needle " + "a" * 5_000_000)


@_file("controls.txt", TEXT)
def _controls() -> str:
    return "needle\x00\x01\x1b[31m \u202etxet\u202c \ud7ff \ufeff e" + "\u0301" * 10_000


_add("open_quote.csv", TEXT, lambda: 'a,b\n1,"needle' + "x" * 300_000 + "\n")
_add("wide.csv", TEXT, lambda: "needle," * 200_000 + "\n")


@_file("deep.eml", {TEXT, *BROKEN, *NOTHING})
def _deep_eml() -> str:
    levels = "".join(
        f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(500)
    )
    head = "From: a@b\nSubject: s\nMIME-Version: 1.0\n"
    return f"{head}{levels}Content-Type: text/plain\n\nneedle\n"


@_file("unknown_charset.eml", TEXT)
def _unknown_charset() -> str:
    head = "From: a@b\nSubject: =?x-unknown?b?bmVlZGxl?=\n"
    return head + 'Content-Type: text/plain; charset="x-no-such"\n\nneedle\n'


@_file("ten_thousand_parts.eml", {TEXT, *BROKEN, *SLOW})
def _ten_thousand_parts() -> str:
    head = (
        'From: a@b\nSubject: s\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n'
    )
    part = 'Content-Type: text/plain\nContent-Disposition: attachment; filename="a.txt"\n\nneedle\n'
    return head + f"--b\n{part}" * 10_000 + "--b--\n"


@_file("mail_of_bombs.eml", {TEXT, *BROKEN})
def _mail_of_bombs() -> bytes:
    head = (
        b'From: a@b\nSubject: s\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b"\n\n'
    )
    head += b"--b\nContent-Type: text/plain\n\nneedle\n"
    for name, make in (("loop.pdf", _form_in_itself), ("bomb.docx", _bomb_docx)):
        head += b"--b\nContent-Type: application/octet-stream\nContent-Transfer-Encoding: base64\n"
        head += f'Content-Disposition: attachment; filename="{name}"\n\n'.encode()
        head += base64.encodebytes(bytes(make()))
    return head + b"--b--\n"


@_file("deep_groups.rtf", {TEXT, *BROKEN, *UNKNOWN})
def _deep_groups() -> str:
    return "{\\rtf1 " + "{" * 200_000 + "needle" + "}" * 200_000 + "}"


@_file("binary_length.rtf", {TEXT, *BROKEN, *UNKNOWN, *NOTHING})
def _binary_length() -> str:
    return "{\\rtf1 needle {\\pict\\bin2147483647 x}}"


_add("empty.pdf", {*BROKEN, *UNKNOWN, *NOTHING}, lambda: b"")
_add("program.pdf", UNKNOWN, lambda: b"MZ\x90\x00" + bytes(range(256)) * 40)


# Archives, mailboxes, old Office files and books


@_file("bomb.zip", {TEXT, *BROKEN})
def _bomb_zip() -> bytes:
    return _zip({"a.txt": b"needle", **{f"{n}.txt": bytes(2**24) for n in range(40)}})


_add("bomb.gz", {*BROKEN, *UNKNOWN, "text_too_long"}, lambda: gzip.compress(b"a" * 2**27))


@_file("bombs_in_bombs.zip", {TEXT, *BROKEN, *SLOW}, long=True)
def _bombs_in_bombs() -> bytes:
    inner = _zip({f"{n}.txt": b"a " * 2**19 for n in range(10)})
    for _ in range(3):
        inner = _zip({f"{n}.zip": inner for n in range(10)})
    return _zip({"a.txt": b"needle", "b.zip": inner})


@_file("a_hundred_deep.zip", {EMPTY, *BROKEN, *UNKNOWN})
def _a_hundred_deep() -> bytes:
    inner = _zip({"a.txt": b"needle"})
    for _ in range(100):
        inner = _zip({"b.zip": inner})
    return inner


@_file("thousands_of_files.tar", {TEXT, *BROKEN, *SLOW}, long=True)
def _thousands_of_files() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for number in range(20_000):
            member = tarfile.TarInfo(f"{number}.txt")
            member.size = 6
            archive.addfile(member, io.BytesIO(b"needle"))
    return data.getvalue()


@_file("size_that_lies.tar", BROKEN | UNKNOWN)
def _size_that_lies_tar() -> bytes:
    member = tarfile.TarInfo("a.txt")
    member.size = 2**40
    return member.tobuf() + b"needle"


@_file("killer_inside.zip", TEXT)
def _killer_inside() -> bytes:
    return _zip({"a.txt": b"before", "b.pdf": bytes(_form_in_itself()), "c.txt": b"needle"})


@_file("ten_thousand_mails.mbox", {TEXT, *BROKEN, *SLOW}, long=True)
def _ten_thousand_mails() -> bytes:
    return b"From a Fri Jan 05 10:00:00 2024\nSubject: s\n\nneedle\n\n" * 10_000


def _ole(**places: int) -> bytes:
    """The head of a compound file, with one number or another that leads in a circle."""
    head = bytearray(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".ljust(512, b"\0"))
    struct.pack_into("<5H", head, 24, 0x3E, 3, 0xFFFE, 9, 6)
    struct.pack_into("<2I", head, 44, 1, places.get("directory", 1))
    struct.pack_into("<5I", head, 56, 4_096, 0, 0, places.get("more", 0xFFFFFFFE), 1)
    struct.pack_into("<I", head, 76, 0)
    return bytes(head) + struct.pack("<128I", *[0] * 128) + bytes(512)


_add("chain_in_a_circle.doc", BROKEN | UNKNOWN, lambda: _ole(directory=0, more=0))
_add("far_away.xls", BROKEN | UNKNOWN, lambda: _ole(directory=0x7FFFFFF0))
_add("nothing_but_a_head.ppt", BROKEN | UNKNOWN, lambda: _ole()[:512])


@_file("records_without_end.xls", BROKEN | NOTHING)
def _records_without_end() -> bytes:
    start = struct.pack("<HH6H4x", 0x0809, 16, 0x0600, 5, 0, 0, 0, 0)
    return start + struct.pack("<HH", 0x00FC, 8) + struct.pack("<II", 2**31 - 1, 2**31 - 1) * 2


@_file("records_that_lie.mobi", {*BROKEN, *NOTHING, TEXT})
def _records_that_lie() -> bytes:
    head = bytearray(78)
    head[60:68] = b"BOOKMOBI"
    struct.pack_into(">H", head, 76, 65_535)
    return bytes(head) + struct.pack(">II", 2**31, 0) * 65_535


_add("deep.tex", TEXT, lambda: "\\footnote{" * 100_000 + "needle" + "}" * 100_000)
_add("blank_far_away.tex", TEXT, lambda: "$a$ " * 100_000 + "\\verb" * 100_000 + "\n\nneedle")
_add("never_closed.tex", TEXT, lambda: "$" * 100_001 + "\\newcommand{" * 50_000 + " needle")
