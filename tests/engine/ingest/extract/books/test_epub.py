import zipfile

import pytest
from planted import DOCUMENTS, pages_of, passages, read

from kb.engine.errors import ContentTooLarge, DamagedFile, NoTextFound, PasswordNeeded
from kb.engine.ingest.extract import Extraction, Source, extract
from kb.engine.ingest.extract.books import epub


def test_a_chapter_stands_under_the_titles_that_the_contents_put_above_it():
    chunks = passages(pages_of(read("book.epub")))
    assert [chunk.headings for chunk in chunks] == [
        ("Part one", "Morning epubnavword"),
        ("Evening",),
    ]


CONTAINER = "META-INF/container.xml"
ENCRYPTION = "META-INF/encryption.xml"
OPF = "OEBPS/content.opf"


@pytest.fixture
def book(tmp_path):
    """The fixture with parts replaced; None leaves a part out."""

    def book(**parts: str | None) -> Extraction:
        path = tmp_path / "stored"
        changed = {"container": CONTAINER, "encryption": ENCRYPTION, "opf": OPF}
        changes = {changed.get(key, f"OEBPS/{key}"): text for key, text in parts.items()}
        with zipfile.ZipFile(DOCUMENTS / "book.epub") as old, zipfile.ZipFile(path, "w") as new:
            for name in old.namelist():
                if name not in changes:
                    new.writestr(name, old.read(name))
            for name, text in changes.items():
                if text is not None:
                    new.writestr(name, text)
        return extract(Source(path, "book.epub"))

    return book


def old_opf(spine: str) -> str:
    """A book of old: its contents are an NCX, with a document type."""
    return f"""<package xmlns="http://www.idpf.org/2007/opf"><manifest>
        <item id="toc" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
        <item id="a" href="text/last.xhtml" media-type="application/xhtml+xml"/>
        <item id="b" href="text/gone.xhtml" media-type="application/xhtml+xml"/>
        </manifest><spine toc="toc">{spine}</spine></package>"""


NCX = """<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/x.dtd">
<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>
<navPoint><navLabel><text>Part two</text></navLabel><content src="cover.xhtml"/>
<navPoint><navLabel><text>At night</text></navLabel><content src="text/last.xhtml#x"/></navPoint>
</navPoint></navMap></ncx>"""


def test_the_contents_of_old_books_give_titles_too(book):
    extraction = book(opf=old_opf('<itemref idref="b"/><itemref idref="a"/>'), **{"toc.ncx": NCX})
    (page,) = extraction.pages
    assert (page.number, page.location) == (1, "At night")
    assert page.headings == ("Part two", "At night")


def test_a_locked_book_says_that_it_is_locked(book):
    method = '<EncryptionMethod Algorithm="{}"/>'
    locked = f"<encryption><EncryptedData>{method}</EncryptedData></encryption>"
    with pytest.raises(PasswordNeeded, match=r"book\.epub is locked against copying"):
        book(encryption=locked.format("http://www.w3.org/2001/04/xmlenc#aes256-cbc"))
    fonts_only = locked.format("http://www.idpf.org/2008/embedding")
    assert len(pages_of(book(encryption=fonts_only))) == 2


def test_a_book_without_its_container_is_read_by_its_list_of_chapters(book):
    assert len(pages_of(book(container=None))) == 2


def test_a_book_that_lost_its_list_of_chapters_is_damaged(book):
    with pytest.raises(DamagedFile, match="its list of chapters is missing"):
        book(container=None, opf=None)


def test_a_book_of_too_many_chapters_is_refused(book, monkeypatch):
    monkeypatch.setattr(epub, "_MOST_CHAPTERS", 1)
    with pytest.raises(
        ContentTooLarge, match=r"book\.epub is too large to read: it has more than 1"
    ):
        list(book().pages)


def test_a_book_of_pictures_has_no_text(book):
    with pytest.raises(NoTextFound, match=r"book\.epub has no text"):
        list(book(opf=old_opf("")).pages)


def test_a_list_of_chapters_that_declares_entities_is_refused(book):
    bomb = '<!DOCTYPE package [<!ENTITY a "b">]>' + old_opf("")
    with pytest.raises(DamagedFile):
        book(opf=bomb)


def test_drawings_and_what_stands_in_for_pictures_are_chapters(book):
    items = """<item id="d" href="map.svg" media-type="image/svg+xml"/>
        <item id="s" href="scan.djvu" media-type="image/vnd.djvu" fallback="s2"/>
        <item id="s2" href="scan.jpg" media-type="image/jpeg" fallback="a"/>
        <item id="x" href="x" media-type="image/jpeg" fallback="x"/></manifest>"""
    spine = '<itemref idref="d"/><itemref idref="s"/><itemref idref="x"/>'
    drawing = '<svg xmlns="http://www.w3.org/2000/svg"><text>North mole</text></svg>'
    opf = old_opf(spine).replace("</manifest>", items)
    drawn, stood_in = pages_of(book(opf=opf, **{"map.svg": drawing}))
    assert (drawn.number, drawn.text) == (1, "North mole")
    assert "epublastword" in stood_in.text
