"""Archives as folders of their files, mailboxes, and documents by their preview."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from dataclasses import replace

import pytest
from planted import DOCUMENTS
from small_archives import tarred, zipped

from kb.engine.errors import (
    ContentTooLarge,
    DamagedFile,
    ExtractionFailed,
    PasswordNeeded,
    UnsupportedFormat,
)
from kb.engine.ingest.extract import Source, extract
from kb.engine.ingest.extract.archives import members
from kb.engine.ingest.extract.archives.zip_names import names_of
from kb.engine.ingest.titles import document_title
from kb.engine.pages import Page, Remark

FILES = {"plans/harbour.md": b"# Harbour\n\nA crane.", "ships.csv": b"ship,tons\nAurora,120\n"}
PREVIEW = DOCUMENTS / "report.pdf"
PROGRAM = b"MZ\x90\0" + bytes(100)
MAILBOX = b"""From mara@example.test Fri Jan 05 10:00:00 2024
Subject: First
From: mara@example.test

Some words.
>From the harbour.

From jon@example.test Sat Jan 06 10:00:00 2024
Subject: Second
From: jon@example.test

Other words.
From here on it is text.
"""


def with_first_locked(files):
    data = bytearray(zipped(files, zipfile.ZIP_STORED))
    data[6] |= 1
    data[data.find(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


@pytest.fixture
def source(tmp_path):
    def source(data, filename="files.zip"):
        (tmp_path / "stored").write_bytes(data)
        return Source(tmp_path / "stored", filename)

    return source


@pytest.fixture
def read(source):
    def read(data, filename="files.zip"):
        extraction = extract(source(data, filename))
        return extraction, [page for page in extraction.pages if page != Page("", location=None)]

    return read


def told(pages):
    return {page.location: page.text for page in pages if isinstance(page, Page) and page.text}


def unread(pages):
    return [page.text for page in pages if isinstance(page, Remark) and page.text]


@pytest.mark.parametrize(
    ("data", "filename", "ending"),
    [
        (zipped(FILES), "files.zip", "zip"),
        (tarred(FILES), "files.tar.gz", "gz"),
        (tarred(FILES), "files.tgz", "tgz"),
        (tarred(FILES, "w:xz"), "files.tar.xz", "xz"),
        (tarred(FILES, "w:bz2"), "files.tar.bz2", "bz2"),
        (tarred(FILES, "w"), "files.tar", "tar"),
    ],
)
def test_each_file_of_an_archive_is_read_as_it_is_and_cited_by_name(read, data, filename, ending):
    extraction, pages = read(data, filename)
    assert (extraction.doc_type, extraction.format) == ("archive", ending)
    found = told(pages)
    assert found["plans/harbour.md"] == "# Harbour\n\nA crane."
    assert "| Aurora | 120 |" in found["ships.csv, rows 1–2"]
    assert "- plans/harbour.md" in found["contents"]
    [page] = [page for page in pages if page.location == "plans/harbour.md" and page.text]
    assert page.headings == ("plans/harbour.md",)


@pytest.mark.parametrize(
    ("inner", "kind", "places"),
    [
        ("notes.txt", "text", {None: "only words"}),
        ("harbour.py", "code", {None: "only words"}),
        ("page.md", "markdown", {None: "only words"}),
        ("report.pdf", "pdf", {}),
    ],
)
@pytest.mark.parametrize(
    ("pack", "ending"), [(gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")]
)
def test_a_single_packed_file_is_what_it_was_before_it_was_packed(
    read, pack, ending, inner, kind, places
):
    data = PREVIEW.read_bytes() if kind == "pdf" else b"only words"
    extraction, pages = read(pack(data), f"{inner}.{ending}")
    alone, unpacked = read(data, inner)
    assert (extraction.doc_type, extraction.format) == (kind, ending)
    assert pages == unpacked
    assert told(pages) == places or kind == "pdf"
    assert replace(extraction, format=alone.format, pages=alone.pages) == alone


def test_a_packed_file_has_the_title_that_it_has_unpacked():
    titles = [document_title(None, "text", [], name) for name in ("a.txt.gz", "a.XZ", "a", ".gz")]
    assert titles == ["a", "a", "a", ".gz"]


def test_archives_within_archives_are_read_three_deep(read):
    inner = zipped({"a.txt": b"deep words"})
    for depth in range(2):
        inner = zipped({f"level{depth}.zip": inner})
    _, pages = read(inner)
    assert told(pages)["level1.zip, level0.zip, a.txt"] == "deep words"
    _, pages = read(zipped({"top.zip": zipped({"more.zip": inner})}))
    assert "deep words" not in str(pages)
    assert "inside too many other" in str(unread(pages))


def test_what_cannot_be_read_in_an_archive_is_named_once(read):
    files = {**FILES, "a.bin": b"\0\1\2\3" * 100, "b/c.exe": PROGRAM, "d.exe": PROGRAM}
    _, pages = read(zipped(files))
    assert unread(pages) == [
        "a.bin was not read: it is a binary file of unknown type",
        "b/c.exe, d.exe were not read: each is a program",
    ]
    assert "- b/c.exe" in told(pages)["contents"]


def test_a_damaged_file_costs_itself(read):
    _, pages = read(zipped({"a.pdf": b"%PDF-1.7 and no more", "b.txt": b"words"}))
    assert told(pages)["b.txt"] == "words"
    assert len(unread(pages)) == 1
    assert "a.pdf" in unread(pages)[0]


def test_a_file_of_which_a_reader_died_is_passed_over(source):
    """As the sandbox asks for it: so many pages were there when it died."""
    data = zipped({"a.txt": b"first", "b.txt": b"deadly", "c.txt": b"third"})
    whole = list(extract(source(data)).pages)
    at = [page.location for page in whole].index("b.txt") + 1
    again = list(extract(replace(source(data), start=at, careful=True)).pages)
    assert again[0] == Remark("b.txt was not read: it kills its reader")
    assert next(page.text for page in again[1:] if page.text) == "third"


def test_an_archive_with_nothing_to_read_is_refused(read):
    for data in (zipped({"a.bin": b"\0\1" * 100, "b.txt": b""}), zipped({})):
        with pytest.raises(UnsupportedFormat, match=r"no file that can|archive without files"):
            read(data)


def test_an_archive_of_one_file_that_cannot_be_read_says_what_that_is_and_what_to_do(read):
    reason = "it holds only paper.ps, and it is PostScript: save it as pdf"
    packed = gzip.compress(b"%!PS-Adobe-3.0\n")
    with pytest.raises(UnsupportedFormat, match=f"^paper.ps.gz cannot be read: {reason}$"):
        read(packed, "paper.ps.gz")
    _, pages = read(zipped({"paper.ps.gz": packed, "b.txt": b"words"}))
    assert unread(pages) == [f"paper.ps.gz was not read: {reason}"]
    with pytest.raises(ExtractionFailed, match=r"a\.pdf is damaged"):
        read(zipped({"a.pdf": b"%PDF-1.7 and no more"}))


def test_an_archive_behind_a_password_says_what_to_do(read):
    with pytest.raises(PasswordNeeded, match="by a password: unpack it and add the files"):
        read(with_first_locked({"a.txt": b"secret"}))


def test_an_archive_that_unpacks_to_too_much_is_refused(read, monkeypatch):
    monkeypatch.setattr(members, "_ALWAYS", 100_000)
    files = {f"{n}.txt": b"a" * 50_000 for n in range(8)}
    for data, name in ((zipped(files), "a.zip"), (tarred(files), "a.tgz")):
        with pytest.raises(ContentTooLarge, match="unpack it and add the files"):
            read(data, name)


def test_an_archive_of_too_many_files_is_refused(read, monkeypatch):
    monkeypatch.setattr(members, "MAX_FILES", 3)
    with pytest.raises(ContentTooLarge, match="unpack it and add the folder"):
        read(tarred({f"{n}.txt": b"a" for n in range(4)}), "a.tgz")


def test_an_archive_that_is_cut_off_is_damaged(read):
    with pytest.raises(DamagedFile):
        read(tarred({"a.txt": bytes(range(256)) * 1_000})[:200], "a.tgz")


def test_a_file_behind_a_password_is_named(read):
    _, pages = read(with_first_locked({"a.txt": b"secret", "b.txt": b"words"}))
    assert unread(pages) == [
        "a.txt was not read: it is protected by a password: unpack it and add the files"
    ]
    assert told(pages)["b.txt"] == "words"


@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_links_are_listed_and_those_that_lead_outside_are_named_in_a_warning(read, kind):
    links = {"docs/same.txt": "../a.txt", "folder": "docs", "out": "/usr/share/dict", "up": "../b"}
    data = io.BytesIO()
    if kind == "tar":
        with tarfile.open(fileobj=data, mode="w") as archive:
            for name, target in links.items():
                member = tarfile.TarInfo(name)
                member.type, member.linkname = tarfile.SYMTYPE, target
                archive.addfile(member)
            again = tarfile.TarInfo("docs/hard.txt")
            again.type, again.linkname = tarfile.LNKTYPE, "a.txt"
            archive.addfile(again)
            words = tarfile.TarInfo("a.txt")
            words.size = 5
            archive.addfile(words, io.BytesIO(b"words"))
    else:
        with zipfile.ZipFile(data, "w") as archive:
            for name, target in {**links, "docs/hard.txt": "../a.txt"}.items():
                member = zipfile.ZipInfo(name)
                member.create_system, member.external_attr = 3, 0o120777 << 16
                archive.writestr(member, target)
            archive.writestr("a.txt", b"words")
    _, pages = read(data.getvalue(), f"files.{kind}")
    assert "- docs/same.txt (a link to a.txt)" in told(pages)["contents"]
    assert "- docs/hard.txt (a link to a.txt)" in told(pages)["contents"]
    assert unread(pages) == [
        "out, up were not read: each is a link to something outside the archive"
    ]


def test_names_lead_nowhere_else(read):
    _, pages = read(zipped({"../../etc/a.txt": b"words"}))
    assert told(pages)["etc/a.txt"] == "words"


def test_mails_of_a_mailbox_are_told_apart(read):
    extraction, pages = read(MAILBOX, "old mails")
    assert (extraction.doc_type, extraction.format) == ("email", "mbox")
    found = told(pages)
    assert found["mail 1, First"].endswith("Some words.\nFrom the harbour.")
    assert found["mail 2, Second"].endswith("Other words.\nFrom here on it is text.")


def test_a_single_mail_that_is_named_a_mailbox_is_read(read):
    _, pages = read(b"Subject: Tides\nFrom: Mara\n\nHigh at nine.", "saved.mbox")
    assert told(pages)["mail 1, Tides"].endswith("High at nine.")


def test_a_mailbox_may_hold_bytes_that_are_no_text(read):
    _, pages = read(MAILBOX.replace(b"Some words", b"Some\0\0\0\0\0 words"), "old.mbox")
    assert len([page for page in pages if page.text]) == 2


def test_a_mailbox_begins_with_a_mail_whatever_its_first_header_looks_like(read):
    data = b"From nobody\nCon@ent-Type: text\0\0\0\0\nSubject: Tides\n\nHigh at nine.\n"
    _, pages = read(data, "broken.mbox")
    assert any("High at nine." in page.text for page in pages)


def test_an_apple_document_is_read_by_its_preview(read):
    files = {"Index/Document.iwa": b"x", "QuickLook/Preview.pdf": PREVIEW.read_bytes()}
    extraction, pages = read(zipped(files), "plan.pages")
    assert (extraction.doc_type, extraction.format) == ("iwork", "pages")
    assert pages[0].location == "preview, page 1"


def test_an_apple_document_that_is_a_folder_is_read_by_its_preview_and_its_name(read):
    files = {
        "Harbour.key/index.apxl.gz": b"x",
        "Harbour.key/QuickLook/Preview.pdf": PREVIEW.read_bytes(),
        "__MACOSX/Harbour.key/._index.apxl.gz": b"y",
    }
    extraction, pages = read(zipped(files), "from-my-mac.zip")
    assert (extraction.doc_type, extraction.format) == ("iwork", "key")
    assert extraction.title == "Harbour"
    assert pages[0].location == "preview, page 1"


def test_an_apple_document_without_a_preview_is_named(read):
    with pytest.raises(UnsupportedFormat, match="an Apple Pages document without a preview"):
        read(zipped({"Index/Document.iwa": b"x"}), "plan.pages")


@pytest.mark.parametrize(
    ("names", "charset"),
    [
        (["文章1.txt", "あいうえお.txt"], "cp932"),
        (["项目计划.txt", "中文文件名称.txt"], "gb2312"),
        (["Документ.txt", "Отчёт/Итоги.txt"], "cp866"),
        (["Größe.txt", "Übersicht.txt"], "cp437"),
        (["Größe.txt", "文章.txt"], "utf-8"),
    ],
)
def test_names_in_old_charsets_are_readable(names, charset):
    found = [zipfile.ZipInfo(name.encode(charset).decode("cp437")) for name in names]
    assert names_of(found) == names


def test_a_packed_file_is_refused_where_no_file_in_memory_can_be_had(extracted, monkeypatch):
    monkeypatch.setattr("kb.engine.ingest.extract.memory_files._prepared", [])
    with pytest.raises(ExtractionFailed, match=r"^notes.txt.gz cannot be read: notes.txt could"):
        extracted(gzip.compress(b"The cranes stand.\n"), "notes.txt.gz")
