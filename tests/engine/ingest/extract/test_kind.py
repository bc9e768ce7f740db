import io
import struct
import zipfile
from pathlib import Path

import pytest
from small_archives import zipped
from small_ole import compound

from kb.engine.errors import ContentTooLarge, PasswordNeeded, UnsupportedFormat
from kb.engine.ingest.extract.formats import BY_KIND
from kb.engine.ingest.extract.kind import is_text, kind_of

OFFICE = "[Content_Types].xml"
WORKBOOK = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
PKCS_7 = bytes.fromhex("06092a864886f70d0107")
HANGUL = "of Hangul (HWP): save it as docx or pdf"
ROOT = Path(__file__).parents[4]


def archive(*members: str, **texts: str) -> bytes:
    return zipped({name: texts.get(name, "") for name in members}, zipfile.ZIP_STORED)


def packed_anew(body: str) -> bytes:
    """An OpenDocument file without the member that says what it is."""
    content = f"<office:body>\n <office:{body}><text:p>Oak</text:p></office:{body}></office:body>"
    return archive("META-INF/manifest.xml", "content.xml", **{"content.xml": content})


def old_office(*streams: str) -> bytes:
    """The old Office container with these streams in it."""
    return compound(dict.fromkeys(streams, b"stream"))


def kind(data: bytes | str, filename: str = "file") -> str:
    return kind_of(io.BytesIO(data.encode() if isinstance(data, str) else data), filename)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"%PDF-1.7\n%\xe2\xe3", "pdf"),
        (b"junk \xff\n%PDF-1.4\n\x01", "pdf"),
        (b"\x89PNG\r\n\x1a\n\0\0", "png"),
        (b"\xff\xd8\xff\xe0\0\x10JFIF", "jpeg"),
        (b"GIF89a\x01\0", "gif"),
        (b"II*\0\x08\0", "tiff"),
        (b"MM\0*\0\0", "tiff"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "webp"),
        (b"BM" + struct.pack("<IHHII", 70, 0, 0, 54, 40) + bytes(30), "bmp"),
        (b"{\\rtf1\\ansi hello}", "rtf"),
        (b"\0\0\0\x18ftypheic\0\0", "heic"),
        (b"\0\0\0\x18ftypavis\0\0", "avif"),
        (b"\0\0\0\x18ftypisom\0\0", "mp4"),
        (b"ID3\x04\0", "mp3"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"MZ\x90\0\x03\0", "program"),
        (archive(OFFICE, "word/document.xml"), "docx"),
        (archive(OFFICE, "ppt/presentation.xml"), "pptx"),
        (archive(OFFICE, "xl/workbook.xml"), "xlsx"),
        (archive(OFFICE, "xl/workbook.bin"), "xlsb"),
        (archive(OFFICE, "odd/workbook.xml", **{OFFICE: WORKBOOK}), "xlsx"),
        (archive("mimetype", mimetype="application/epub+zip"), "epub"),
        (archive("META-INF/container.xml", "book.opf"), "epub"),
        (archive("mimetype", mimetype="application/vnd.oasis.opendocument.text"), "odt"),
        (archive("mimetype", mimetype="application/vnd.oasis.opendocument.text-template"), "odt"),
        (archive("mimetype", mimetype="application/vnd.oasis.opendocument.spreadsheet"), "ods"),
        (archive("mimetype", mimetype="application/vnd.oasis.opendocument.presentation"), "odp"),
        (packed_anew("text"), "odt"),
        (packed_anew("spreadsheet"), "ods"),
        (packed_anew("presentation"), "odp"),
        (packed_anew("drawing"), "zip"),
        (archive("readme.txt"), "zip"),
        (old_office("WordDocument"), "doc"),
        (old_office("Workbook"), "xls"),
        (old_office("PowerPoint Document"), "ppt"),
        (old_office("__nameid_version1.0"), "msg"),
        (old_office("Something"), "ole"),
        (b"\x09\x04\x06\0\0\0\x10\0", "xls"),
        (bytes(257) + b"ustar\0", "tar"),
        (bytes(60) + b"BOOKMOBI", "mobi"),
        (b"\0\0\0\x0cjP  \r\n\x87\n", "jp2"),
        (archive("Index/Document.iwa"), "iwork"),
    ],
)
def test_bytes_tell_the_kind_whatever_the_name_says(data, expected):
    assert kind(data, "notes.md") == expected


@pytest.mark.parametrize(
    ("filename", "expected"),
    [
        ("README.md", "markdown"),
        ("page.html", "html"),
        ("table.csv", "csv"),
        ("table.tsv", "csv"),
        ("data.json", "json"),
        ("log.jsonl", "jsonl"),
        ("book.ipynb", "ipynb"),
        ("mail.eml", "eml"),
        ("run.py", "code"),
        ("notes.rst", "text"),
        ("paper.tex", "tex"),
        ("deploy.yaml", "text"),
        ("setup.toml", "text"),
        ("app.ini", "text"),
        ("app.log", "text"),
        ("film.srt", "text"),
        ("film.vtt", "text"),
    ],
)
def test_the_name_decides_between_kinds_of_text(filename, expected):
    assert kind("<p align=center>An opening that could be anything</p>\n", filename) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!DOCTYPE html>\n<html><body>x", "html"),
        ("\ufeff  <HTML><body>x", "html"),
        ("<!-- a comment -- with > marks -->\n<p>x</p>", "html"),
        ('<?xml version="1.0"?>\n<svg xmlns="http://www.w3.org/2000/svg"/>', "svg"),
        ('<!DOCTYPE svg PUBLIC "a" "b" [<!ENTITY x "y">]>\n<svg:svg/>', "svg"),
        ('<?xml version="1.0"?><html xmlns="x"/>', "html"),
        ('<?xml version="1.0"?><catalog/>', "xml"),
        ("<feed><entry/></feed>", "xml"),
        ("Return-Path: <a@b>\r\nReceived: from x\r\n\tby y\r\nSubject: s\r\n\r\ntext", "eml"),
        ("From a@b Fri Jan 05 10:00:00 2024\nSubject: s\n\nx", "mbox"),
        ("Title: a note\nTags: x\n\ntext", "text"),
        ('{"a": 1}', "json"),
        ("[\n  1, 2]", "json"),
        ("[section]\nkey=value\n", "text"),
        ("[[wiki link]] and text", "text"),
        ("1 < 2 and <3", "text"),
        ("just words", "text"),
    ],
)
def test_without_a_telling_name_the_first_lines_decide(text, expected):
    assert kind(text, "file") == expected
    assert kind(text.encode("utf-16"), "file") == expected


def test_a_damaged_archive_is_what_its_name_says():
    assert kind(b"PK\x03\x04 cut off", "report.docx") == "docx"
    assert kind(b"PK\x03\x04 cut off", "report.md") == "zip"


def test_a_few_nuls_in_a_log_do_not_make_it_binary():
    assert kind(b"word " * 1_000 + b"\0", "app.log") == "text"
    assert kind(b"word\0" * 1_000, "app.log") == "nuls"
    assert kind(b"wo\0\0\0" * 1_000, "app.log") == "binary"


def test_marks_that_text_may_begin_with_do_not_refuse_it():
    assert kind("WARC/1.0\r\nWARC-Type: response\r\n", "a.warc") == "text"
    assert kind("явление природы".encode("cp1251"), "a.mp3") == "text"


def test_a_mailbox_may_hold_any_bytes_and_its_first_line_tell_no_time():
    mails = b"From somebody\nSubject: s\n\n" + b"word\0" * 100
    assert kind(mails, "inbox.mbox") == "mbox"
    assert kind(mails, "inbox.bin") == "nuls"


def many_members(count: int) -> bytes:
    """An archive of empty members; its list of contents is all there is to it."""
    entry = struct.pack("<4s4B4HL2L5H2L", b"PK\x01\x02", *[0] * 9, 0, 0, 1, *[0] * 4, 0, 0) + b"a"
    listed = entry * count
    shown = min(count, 0xFFFF)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, shown, shown, len(listed), 4, 0)
    return b"PK\x03\x04" + listed + end


@pytest.mark.parametrize("count", [10_001, 300_000])
def test_an_archive_with_too_many_members_is_refused_before_they_are_read(count):
    with pytest.raises(ContentTooLarge, match=r"many\.docx holds more than 10,000 files"):
        kind(many_members(count), "many.docx")


def test_a_large_archive_is_refused_by_the_true_size_of_its_list():
    data = bytearray(many_members(200_000))
    end = len(data) - 22
    size = struct.unpack_from("<I", data, end + 12)[0]
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, size, 4)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, end, 1)
    struct.pack_into("<I", data, end + 12, 0xFFFFFFFF)
    with pytest.raises(ContentTooLarge):
        kind(bytes(data[:end]) + record + locator + bytes(data[end:]), "many.zip")


@pytest.mark.parametrize(
    ("data", "filename", "advice"),
    [
        (old_office("VisioDocument"), "old.vsd", "save it as vsdx"),
        (old_office("\x05HwpSummaryInformation"), "a.hwp", HANGUL),
        (b"HWP Document File V3.00", "old.hwp", HANGUL),
        (b"ITSF\x03\0\0\0\x60", "help.chm", "a help file of Windows (CHM): unpack it"),
        (b"\xffWPC\x10\0\0\0", "letter.wpd", "a WordPerfect document: save it as docx"),
        (b"\xdb\xa5\x2d\0\0\0", "old.doc", "a document of Word 2: save it as docx"),
        (b"\0\0\x1a\0\x02\x10\x04\0", "sheet.wk4", "of Lotus 1-2-3: save it as xlsx"),
        (archive("FixedDocSeq.fdseq"), "print.xps", "an XPS document: save it as pdf"),
        (old_office("PP40"), "old.ppt", "PowerPoint 95 or older: save it as pptx"),
        (b"7z\xbc\xaf\x27\x1c", "files.7z", "a 7-Zip archive: unpack it"),
        (b"\0\0\0\x18ftypisom\0\0", "film.mp4", "it is a video"),
        (b"\x7fELF\x02\x01", "program", "it is a program"),
        (b"\xca\xfe\xba\xbe\0\0\0\x34", "A.class", "it is a compiled Java class"),
        (b"\0\0\2\0\x06\4\6\0", "sheet.wk1", "of Lotus 1-2-3: save it as xlsx"),
        (b"\0\0\2\0\x21Q\xcc\0", "sheet.wq2", "of Quattro Pro: save it as xlsx"),
        (old_office("NativeContent_MAIN"), "sheet.qpw", "of Quattro Pro: save it as xlsx"),
        (b"\xcb\x0a\x01\xf6\x01\xcb", "old.doc", "a WordPerfect document: save it as docx"),
        (b"\0\x05\xe1\x03\0\0\x20", "old.doc", "of IBM DisplayWrite: save it as docx"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 cut off", "plan.mpp", "Microsoft Project: save it"),
        (b"WARC/1.0\r\nWARC-Type: response\r\n" + bytes(30), "a.warc", "of web pages (WARC)"),
        (b"\0\1\0\0Standard Jet DB\0", "a.mdb", "of Access: export its tables as csv"),
        (b"\3\x10\5\x18\3\0\0\0\x41\0\x1a\0" + bytes(20), "a.dbf", "a table of dBase: export"),
        (bytes(12) + b"\x62\x31\5\0", "a.db", "a Berkeley database: export its tables"),
        (b"8BPS\0\1", "a.psd", "a picture of Photoshop: save it as png"),
        (b"AC1018" + bytes(5), "a.dwg", "a drawing of AutoCAD: save it as pdf"),
        (b"\0\1\0\0\0\x13", "a.ttf", "it is a font"),
        (b"OTTO\0\x0b", "a.otf", "it is a font"),
        (b"wOF2OTTO", "a.woff2", "it is a font"),
        (b"\x30\x82\1\0" + PKCS_7 + b"\2", "smime.p7s", "it is a digital signature"),
        (b"\x30\x80" + PKCS_7 + b"\3", "smime.p7m", "it is an encrypted message"),
        (b"\xff\xfb\x90\0" + bytes(99), "a.mp3", "it is a sound recording"),
        (b"word\0" * 9, "a.txt", "it is text with NUL bytes in it: remove them"),
    ],
)
def test_a_refusal_says_what_to_do_and_what_can_be_read(extracted, data, filename, advice):
    with pytest.raises(UnsupportedFormat) as caught:
        extracted(data, filename)
    assert filename in caught.value.message
    assert advice in caught.value.message
    assert "HTML, EML, MSG, MBOX, PST, CSV, JSON" in caught.value.message


def test_every_kind_that_can_be_read_is_in_the_docs_and_in_the_refusal(extracted):
    with pytest.raises(UnsupportedFormat) as caught:
        extracted(b"\x7fELF\x02\x01", "program")
    assert "PDF, DOCX, PPTX, XLSX" in caught.value.message
    assert len(caught.value.message.partition("Supported: ")[2].split(", ")) == len(BY_KIND)
    documented = (ROOT / "docs" / "formats.md").read_text("utf-8")
    assert [kind for kind in BY_KIND if f"`{kind}`" not in documented] == []


def test_a_new_office_file_behind_a_password_asks_for_it_to_be_removed(extracted):
    with pytest.raises(PasswordNeeded, match=r"secret\.docx is protected by a password"):
        extracted(old_office("EncryptionInfo", "EncryptedPackage"), "secret.docx")


def test_controls_of_info_are_those_of_text_in_info_alone():
    assert not is_text(b"\x7f\x1fAB" * 500)
    assert is_text(b"\x1f\nFile: a.info,  Node: Top\n" + b"Node: Top\x7f12\n" * 50)
