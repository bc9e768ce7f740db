"""PDFs of a few objects, for what a test is about: text where it is put, fields, attached files."""

import io
from collections.abc import Sequence
from dataclasses import dataclass

FONTS = {"F": b"Helvetica", "B": b"Helvetica-Bold", "C": b"Courier"}
# Of a font "S", whose letter x is a sign that no text has.
_SIGNS = b"1 begincodespacerange<00><ff>endcodespacerange 1 beginbfchar<78><0001>endbfchar"


@dataclass(frozen=True)
class Text:
    """A piece of text, by the left end of its line."""

    text: str
    left: float
    bottom: float
    size: float = 10
    font: str = "F"
    apart: float = 0  # behind each letter


@dataclass(frozen=True)
class Rule:
    """A straight line that is drawn, from one place to another."""

    left: float
    bottom: float
    right: float
    top: float


Piece = Text | Rule


def column(lines: list[str], left: float = 72, top: float = 700, size: float = 10) -> list[Text]:
    """Lines below each other, set as books are."""
    return [Text(line, left, top - 1.2 * size * number, size) for number, line in enumerate(lines)]


def pdf(
    *pages: Sequence[Piece],
    annotations: tuple[bytes, ...] = (),
    streams: tuple[bytes, ...] = (),
    files: tuple[tuple[str, bytes], ...] = (),
    catalog: bytes = b"",
    drawn_with: bytes = b"",
    info: bytes = b"",
    bookmarks: tuple[tuple[str, int, float], ...] = (),
) -> bytes:
    """A PDF of these pages. `annotations` are those of the first; in them and in `catalog`, `%s0`
    is the first of `streams`, which are drawings of their own. `drawn_with` comes before
    what is drawn on each page. `info` is what it says of itself.
    `bookmarks` have a title, the page they are for, counted from 0, and the height on it."""
    objects: list[bytes] = []

    def add(body: bytes) -> bytes:
        objects.append(body)
        return b"%d 0 R" % len(objects)

    def stream(data: bytes, entries: bytes = b"") -> bytes:
        return add(b"<</Length %d%s>>stream\n%s\nendstream" % (len(data), entries, data))

    add(b"")
    tree = add(b"")
    fonts = b"".join(b"/%s %s" % (name.encode(), add(_font(base))) for name, base in FONTS.items())
    signs = _font(b"Helvetica")[:-2] + b"/ToUnicode %s>>" % stream(_SIGNS)
    resources = b"/Resources<</Font<<%s/S %s>>>>" % (fonts, add(signs))
    form = b"/Type/XObject/Subtype/Form/BBox[0 0 200 20]" + resources
    drawings = [stream(data, form) for data in streams]

    def filled(text: bytes) -> bytes:
        for number, name in enumerate(drawings):
            text = text.replace(b"%%s%d" % number, name)
        return text

    kids = []
    for number, page in enumerate(pages):
        content = stream(b"\n".join([drawn_with, *map(_shown, page)]))
        notes = b"".join(add(filled(one)) + b" " for one in annotations) if number == 0 else b""
        body = b"<</Type/Page/Parent %s/MediaBox[0 0 595 842]/Contents %s%s/Annots[%s]>>"
        kids.append(add(body % (tree, content, resources, notes)))
    names = b"".join(
        b"(%d)%s" % (number, add(_file(name, stream(data, b"/Type/EmbeddedFile"))))
        for number, (name, data) in enumerate(files)
    )
    objects[1] = b"<</Type/Pages/Kids[%s]/Count %d>>" % (b" ".join(kids), len(kids))
    after = b""
    for title, number, top in reversed(bookmarks):
        place = b"/Dest[%s/XYZ 0 %g 0]" % (kids[number], top)
        after = b"/Next " + add(b"<</Title(%s)%s%s>>" % (title.encode(), place, after))
    if bookmarks:
        catalog += b"/Outlines<</First%s>>" % after.removeprefix(b"/Next")
    extra = (b"/Names<</EmbeddedFiles<</Names[%s]>>>>" % names if files else b"") + filled(catalog)
    objects[0] = b"<</Type/Catalog/Pages %s%s>>" % (tree, extra)
    return _written(objects, b"/Info " + add(b"<<%s>>" % info) if info else b"")


def _font(base: bytes) -> bytes:
    return b"<</Type/Font/Subtype/Type1/BaseFont/%s/Encoding/WinAnsiEncoding>>" % base


def _file(name: str, data: bytes) -> bytes:
    return b"<</Type/Filespec/F(%s)/UF(%s)/EF<</F %s>>>>" % (name.encode(), name.encode(), data)


def _shown(piece: Piece) -> bytes:
    if isinstance(piece, Rule):
        return b"%g %g m %g %g l S" % (piece.left, piece.bottom, piece.right, piece.top)
    text = piece.text.encode("cp1252")
    for sign in (b"\\", b"(", b")"):
        text = text.replace(sign, b"\\" + sign)
    place = b"%g Tc %g %g Td" % (piece.apart, piece.left, piece.bottom)
    return b"BT /%s %g Tf %s (%s) Tj ET" % (piece.font.encode(), piece.size, place, text)


def _written(objects: list[bytes], entries: bytes) -> bytes:
    out = io.BytesIO()
    out.write(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    table = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
    out.writelines(b"%010d 00000 n \n" % place for place in places)
    out.write(b"trailer<</Size %d/Root 1 0 R%s>>\n" % (len(places) + 1, entries))
    out.write(b"startxref\n%d\n%%%%EOF\n" % table)
    return out.getvalue()
