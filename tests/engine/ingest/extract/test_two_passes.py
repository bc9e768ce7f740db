"""Text first, pictures later: each page comes in one of two passes, and none in both."""

import gzip
from dataclasses import replace

import pytest
from small_archives import blank, mailed, saved, tarred, zipped
from small_ole import compound, msg
from small_pdf import column, pdf
from test_embedded import with_objects

from kb.engine.ingest import ocr
from kb.engine.ingest.extract import Source, extract
from kb.engine.pages import Page, Remark

PICTURE, SCAN = saved(blank()), saved(blank(), "PDF")
# Looks like a picture until it is opened: it is too small to hold a word.
ICON = b'<p>The birds we counted through the reeds<img src="data:image/png;base64,iVBORw0KGgo=">'


class Reader:
    """Reads the same in every picture, and counts them."""

    dpi = 72
    read_so_far = 0

    def document(self, pages=1):
        return self

    def read(self, picture):
        if ocr.is_passed_over():
            return ocr.Recognised("", 0.0)
        self.read_so_far += 1
        return ocr.Recognised(f"picture {self.read_so_far}", 1.0)


@pytest.fixture
def reader():
    held = Reader()
    ocr.hold(held)
    yield held
    ocr.hold(None)
    ocr.pass_over(False)


def mbox(files):
    return b"From a@example.test Fri Jan 05 10:00:00 2024\n" + mailed(files)


def outlook(files):
    attached = (msg({0x3707: name}, data={0x3701: each}, head=8) for name, each in files.items())
    parts = {f"__attach_version1.0_#{at:08}": part for at, part in enumerate(attached)}
    return compound(msg({0x1000: "The birds we counted"}, parts=parts))


def gzipped(files):
    return gzip.compress(next(iter(files.values()))) if len(files) == 1 else tarred(files)


def mail(folder):
    path = folder / "a.eml"
    path.write_bytes(mailed({"a.png": PICTURE, "a.pdf": SCAN, "b.png": PICTURE}))
    return path


def with_a_scan_set_into_it(folder):
    return with_objects(folder / "a.docx", {"a.pdf": SCAN})


def written(folder):
    path = folder / "a.pdf"
    path.write_bytes(pdf(column(["The birds we counted through the reeds all day long"] * 3)))
    return path


def texts(source):
    pages = [page for page in extract(source).pages if isinstance(page, Page)]
    return [page.text for page in pages if page.text.strip()]


def later(source):
    extraction = extract(source)
    pages = (page for page in extraction.pages if isinstance(page, Page))
    return extraction.pictures + sum(page.method == "later" for page in pages)


@pytest.mark.parametrize(
    ("make", "pictures"), [(mail, 3), (with_a_scan_set_into_it, 1), (written, 0)]
)
def test_every_page_comes_in_one_of_two_passes(reader, tmp_path, make, pictures):
    path = make(tmp_path)
    source = Source(path, path.name)
    first = texts(replace(source, wanted="text"))
    assert any("The birds we counted" in text for text in first)
    assert (reader.read_so_far, later(replace(source, wanted="text"))) == (0, pictures)
    second = texts(replace(source, wanted="pictures"))
    assert reader.read_so_far == pictures
    assert [text for text in second if "birds" in text] == []
    assert len(second) == pictures


@pytest.mark.parametrize("beside", [{}, {"b.png": PICTURE}], ids=["alone", "with a picture"])
@pytest.mark.parametrize(
    ("pack", "name"),
    [
        (zipped, "a.zip"),
        (lambda files: tarred(files, "w"), "a.tar"),
        (gzipped, "a.html.gz"),
        (mailed, "a.eml"),
        (mbox, "a.mbox"),
        (outlook, "a.msg"),
        (lambda files: zipped({"inner.zip": zipped(files)}), "outer.zip"),
    ],
)
def test_a_file_without_pictures_inside_another_is_no_complaint(
    reader, tmp_path, pack, name, beside
):
    path = tmp_path / name
    path.write_bytes(pack({"a.html": ICON, **beside}))
    source = Source(path, name)
    assert later(replace(source, wanted="text")) == 1 + len(beside)
    second = list(extract(replace(source, wanted="pictures")).pages)
    assert [page for page in second if isinstance(page, Remark) and page.text] == []
    assert len([page for page in second if page.text]) == len(beside) == reader.read_so_far


def test_who_goes_on_behind_another_process_recognises_nothing_again(reader, tmp_path):
    path = mail(tmp_path)
    source = Source(path, path.name, wanted="pictures")
    pages = [page for page in extract(source).pages if isinstance(page, Page)]
    done = 1 + next(at for at, page in enumerate(pages) if page.text)
    rest = texts(replace(source, start=done))
    assert (len(rest), reader.read_so_far) == (2, 5)
