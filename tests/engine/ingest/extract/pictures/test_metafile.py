import struct
import zipfile

import pytest
from planted import text_of
from small_office import links, pptx

from kb.engine.errors import NoTextFound
from kb.engine.ingest.extract import Source, extract
from kb.engine.ingest.extract.kind import is_metafile


def record(kind: int, data: bytes) -> bytes:
    return struct.pack("<II", kind, 8 + len(data)) + data


def emf(*records: bytes) -> bytes:
    return record(1, bytes(32) + b" EMF" + bytes(56)) + b"".join(records) + record(14, bytes(12))


def written(x: int, y: int, text: str, options: int = 0) -> bytes:
    """A text whose letters are ten wide each."""
    letters = text.encode("utf-16-le").ljust(-(-len(text) // 2) * 4, b"\0")
    head = bytes(28) + struct.pack("<iiIII16xI", x, y, len(text), 76, options, 76 + len(letters))
    return record(84, head + letters + struct.pack(f"<{len(text)}I", *[10] * len(text)))


def wmf(*records: tuple[int, bytes], placed: bool = True) -> bytes:
    body = b"".join(struct.pack("<IH", 3 + len(d) // 2, kind) + d for kind, d in records)
    body += struct.pack("<IH", 3, 0)
    head = struct.pack("<HHHIHIH", 1, 9, 0x300, 9 + len(body) // 2, 1, 100, 0)
    return (b"\xd7\xcd\xc6\x9a" + bytes(18) if placed else b"") + head + body


def font(charset: int, name: bytes) -> tuple[int, bytes]:
    return 0x02FB, bytes(13) + bytes([charset]) + bytes(4) + name.ljust(32, b"\0")


def said(text: bytes, y: int = 0) -> tuple[int, bytes]:
    padded = text + b"\0" * (len(text) % 2)
    return 0x0521, struct.pack("<H", len(text)) + padded + struct.pack("<hh", y, 0)


def test_words_that_are_drawn_in_pieces_are_put_together(extracted):
    pieces = [written(0, 0, "Har"), written(30, 0, "bour"), written(90, 0, "map")]
    found = extracted(emf(*pieces, written(0, 40, "1 : 500")), "a.emf")
    assert (found.doc_type, found.format) == ("image", "emf")
    assert text_of(found) == "Harbour map\n1 : 500"


def test_what_is_drawn_twice_or_by_the_numbers_of_a_font_is_not_told(extracted):
    pieces = [written(0, 0, "Harbour"), written(0, 0, "Harbour"), written(0, 40, "xyz", 0x10)]
    assert text_of(extracted(emf(*pieces), "a.emf")) == "Harbour"


def test_texts_for_newer_programs_are_read_where_there_are_no_others(extracted):
    letters = "Harbour".encode("utf-16-le") + b"\0\0"
    inside = struct.pack("<IIIffff", 0, 0, 7, 0, 0, 0, 0) + letters
    newer = b"EMF+" + struct.pack("<HHII", 0x401C, 0, 12 + len(inside), len(inside)) + inside
    drawing = emf(record(70, struct.pack("<I", len(newer)) + newer))
    assert text_of(extracted(drawing, "a.emf")) == "Harbour"


@pytest.mark.parametrize("placed", [True, False])
def test_older_drawings_are_read_in_the_charset_of_their_font(extracted, placed):
    chosen = (0x012D, struct.pack("<H", 0))
    data = wmf(font(204, b"Arial"), chosen, said("Гавань".encode("cp1251")), placed=placed)
    assert text_of(extracted(data, "a.wmf")) == "Гавань"


def test_signs_of_symbol_fonts_are_what_one_sees(extracted):
    chosen = (0x012D, struct.pack("<H", 0))
    for name in (b"Symbol", b"Euclid Symbol"):
        drawing = wmf(font(2, name), chosen, said(b"abc"))
        assert text_of(extracted(drawing, "a.wmf")) == "αβχ"


@pytest.mark.parametrize(
    "data", [emf(), wmf(), emf(record(84, bytes(4))), wmf((0x0A32, b"\0\0")), emf()[:90]]
)
def test_a_drawing_without_words_says_so(extracted, data):
    with pytest.raises(NoTextFound):
        extracted(data, "a.emf")


def test_the_words_of_a_drawing_on_a_slide_are_found_there_unless_the_slide_says_them(tmp_path):
    words = "<p:sp><p:txBody><a:p><a:r><a:t>Quay</a:t></a:r></a:p></p:txBody></p:sp>"
    path = pptx(tmp_path / "a.pptx", words)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("[Content_Types].xml", "")
        both = links(image="../media/a.emf", image_2="../media/b.emf")
        archive.writestr("ppt/slides/_rels/slide1.xml.rels", both)
        archive.writestr("ppt/media/a.emf", emf(written(0, 0, "Harbour")))
        archive.writestr("ppt/media/b.emf", emf(written(0, 0, "Quay")))
    pages = [page for page in extract(Source(path, path.name)).pages if page.text]
    assert [(page.location, page.text) for page in pages[1:]] == [
        ("picture on slide 1 (a.emf)", "Harbour")
    ]


def test_text_is_no_drawing():
    assert not is_metafile(b"\1\0\x09\0")
    assert not is_metafile(b"")
