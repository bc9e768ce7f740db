"""Documents through the sandbox: what comes out, and what a page costs that kills its reader."""

import os
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from small_archives import mailed
from small_office import OFFICE, W, links, zipped

from kb.engine.errors import (
    ContentTooLarge,
    DamagedFile,
    ExtractionFailed,
    NestedTooDeep,
    PasswordNeeded,
    TextTooLong,
    TookTooLong,
    UnsupportedFormat,
)
from kb.engine.ingest import sandbox as sandbox_package
from kb.engine.ingest.extract import extract
from kb.engine.ingest.extract.extraction import Ocr, Source
from kb.engine.ingest.sandbox import Limits, Sandbox, attempt
from kb.engine.ingest.sandbox.process import ForkedChild
from kb.engine.pages import Grid, Page, Remark, Unread

CRASHED = "its reader crashed, so it is probably damaged"
TOO_SLOW = "reading it took longer than 1 seconds"
TOO_BIG = "reading it takes more than 400 MB of memory"
NOT_TRIED = "it was not tried: too much before it could not be read"

# A deed, the error of a document that is nothing else, and what is said of a page among others.
DEATHS = [
    ("abort", DamagedFile, CRASHED),
    ("segfault", DamagedFile, CRASHED),
    ("exit", DamagedFile, CRASHED),
    ("half", DamagedFile, CRASHED),
    ("loop", TookTooLong, TOO_SLOW),
    ("memory", ContentTooLarge, TOO_BIG),
    ("no memory", ContentTooLarge, TOO_BIG),
    ("kill", ContentTooLarge, TOO_BIG),
    ("recurse", NestedTooDeep, "it is nested too deeply"),
    ("huge", ExtractionFailed, "its reader answered with nonsense (a message is too long)"),
    ("garbage", ExtractionFailed, "its reader answered with nonsense (a message is not JSON)"),
    ("storage", ExtractionFailed, "nonsense (an error that is none of a reader's)"),
    ("unforeseen", ExtractionFailed, "its reader failed on an unexpected content (KeyError)"),
]


SAMPLES = Path(sandbox_package.__file__).parent / "samples"


@pytest.fixture(scope="module")
def sandbox():
    sandbox = Sandbox()
    yield sandbox
    sandbox.close()


def test_a_file_comes_out_of_the_sandbox_as_it_comes_from_its_extractor(sandbox, tmp_path):
    path = tmp_path / "stored"
    path.write_text("---\nauthor: Ada\n---\n# Título\n\nGrüße ✓ 漢字 𝄞\n")
    source = Source(path, "note.md")
    expected = extract(source)
    got = sandbox.extract(source, lambda: False)
    assert list(got.pages) == list(expected.pages)
    assert (got.doc_type, got.format, got.title) == ("markdown", "md", "Título")
    assert (got.metadata, got.page_count) == (expected.metadata, expected.page_count)


def test_a_text_as_long_as_a_text_may_be_comes_out_whole(sandbox, tmp_path):
    path = tmp_path / "stored"
    path.write_text("long ✓\n" * 2_000_000)
    (page,) = sandbox.extract(Source(path, "long.txt"), lambda: False).pages
    assert page.text == "long ✓\n" * 2_000_000


@pytest.mark.parametrize("name", ["page.pdf", "page.txt", "page"])
def test_a_file_is_read_by_what_it_is_whatever_its_name_lets_expect(sandbox, name):
    extraction = sandbox.extract(Source(SAMPLES / "page.pdf", name), lambda: False)
    assert extraction.doc_type == "pdf"
    assert [page.text for page in extraction.pages] == ["sample"]


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="files in memory need Linux")
def test_what_is_attached_to_a_mail_is_read_from_memory(sandbox, tmp_path):
    path = tmp_path / "stored"
    path.write_bytes(mailed({path.name: path.read_bytes() for path in SAMPLES.iterdir()}, "body"))
    source = Source(path, "mail.eml", Ocr(engine="off"))
    pages = list(sandbox.extract(source, lambda: False).pages)
    texts = {page.location: page.text for page in pages if isinstance(page, Page)}
    assert "body" in texts[None]
    assert texts["attachment page.pdf, page 1"] == "sample"
    assert "second paragraph" in texts["attachment page.html"]


def test_an_error_of_an_extractor_comes_out_with_its_code_and_details(sandbox, tmp_path):
    path = tmp_path / "stored"
    path.write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(UnsupportedFormat) as caught:
        sandbox.extract(Source(path, "tool.txt"), lambda: False)
    assert "tool.txt" in caught.value.message
    assert caught.value.details["filename"] == "tool.txt"
    assert "markdown" in str(caught.value.details["supported"]).lower()


def test_a_file_that_is_gone_is_said_to_be_gone(reader):
    source = reader.source("one")
    source.path.unlink()
    with pytest.raises(ExtractionFailed, match="it is gone from the engine's data folder; add it"):
        reader.sandbox.extract(source, lambda: False)


def test_every_field_of_a_page_comes_through(reader):
    extraction = reader.extract("one", "sheet", "unread")
    assert (extraction.title, extraction.page_count) == ("A title", 3)
    assert extraction.metadata == {"author": "Somebody", "edition": 2}
    grid = Grid((2, 3, 4, 9), ("A", "AF"))
    sheet = Page("a\nb\nc\nd", 2, "Budget", "markdown", "image", grid, False, ("H", "h"))
    assert list(extraction.pages) == [Page("one", 1), sheet, Unread(3, "it is torn")]


@pytest.mark.parametrize(("deed", "error", "reason"), DEATHS)
def test_a_page_that_kills_its_reader_costs_that_page(reader, deed, error, reason):
    one, two, three = reader.pages("one", deed, "three")
    assert (one, three) == (Page("one", 1), Page("three", 3))
    assert isinstance(two, Unread)
    assert two.number == 2
    assert reason in two.reason


def test_what_kills_its_reader_behind_the_last_page_is_told(reader):
    assert list(reader.extract("one", "behind: two", "behind: abort", "behind: four").pages) == [
        Page("one", 1),
        Page("two", 2),
        Remark(f"the end after the last page was not read: {CRASHED}"),
    ]


def test_a_picture_behind_the_last_page_is_read(reader):
    pages = list(reader.extract("one", "behind: ocr").pages)
    assert [page.text for page in pages] == ["one", "read from a picture"]


@pytest.mark.parametrize(("deed", "error", "reason"), [*DEATHS[:4], *DEATHS[6:]])
def test_a_document_that_kills_its_reader_at_once_fails_by_reason(reader, deed, error, reason):
    with pytest.raises(error) as caught:
        reader.extract(f"at once: {deed}", "one")
    assert type(caught.value) is error
    assert "deeds.txt could not be read: " in caught.value.message
    assert reason in caught.value.message


@pytest.fixture
def make_sleeper(make_reader, monkeypatch):
    """To make a reader for whose processes a minute passes whenever one sleeps and has nothing to
    say, and no time at all while one waits for its turn on a busy machine."""
    made, now, read = [], 0.0, ForkedChild.read

    def is_asleep(server):
        """Whether the last process that it forked is."""
        children = Path(f"/proc/{server}/task/{server}/children").read_text().split()
        try:
            status = Path(f"/proc/{children[-1]}/status").read_text() if children else ""
        except FileNotFoundError:
            return False
        return re.search(r"^State:\s+S", status, re.MULTILINE) is not None

    def read_in_a_minute(child, seconds):
        nonlocal now
        slept = is_asleep(made[0].server)
        data = read(child, seconds)
        now += 60 if slept and data is None else 0
        return data

    def make(**limits):
        made.append(make_reader(limits=Limits(start_seconds=1e9, **limits)))
        return made[0]

    monkeypatch.setattr(attempt, "_clocks", lambda: (now, time.thread_time()))
    monkeypatch.setattr(ForkedChild, "read", read_in_a_minute)
    return make


def test_a_reader_that_sleeps_is_woken_for_good(make_sleeper):
    reader = make_sleeper(page_seconds=30.0)
    slow = "reading it took longer than 30 seconds"
    assert reader.texts("one", "sleep", "three") == ["one", slow, "three"]
    with pytest.raises(TookTooLong, match=slow):
        reader.extract("at once: sleep", "one")


@pytest.mark.parametrize("numbered", [True, False])
def test_a_document_of_one_page_fails_with_it(reader, numbered):
    lines = ["abort"] if numbered else ["unnumbered", "abort"]
    with pytest.raises(DamagedFile, match=CRASHED):
        reader.pages(*lines)


def test_the_sturdier_reader_is_asked_for_the_page_that_killed_the_first(reader):
    texts = reader.texts("one", "careful: abort", "three", "careful: loop", "abort", "six")
    assert texts == ["one", "read carefully", "three", "read carefully", CRASHED, "six"]


def test_the_sturdier_reader_is_asked_also_when_nothing_was_heard_of_the_first(reader):
    pages = [f"page {number}" for number in range(1, 21)]
    assert reader.texts("at once: careful: abort", *pages) == pages  # page by page


def test_a_first_page_that_kills_before_anything_is_heard_costs_that_page(reader):
    """As one does that is looked at for the title of its document."""
    deed = "at once: try: source.start or source.careful or os.abort()"
    texts = reader.texts(deed, "careful: one", "careful: two", "careful: three")
    assert texts == ["read carefully", "two", "three"]


def test_what_the_sturdier_reader_says_of_a_page_is_why_it_is_unread(reader):
    texts = reader.texts("one", "try: source_is_gone or 1 / 0", "three")
    assert texts[1] == "its reader failed on an unexpected content (NameError)"


def test_a_page_costs_the_rest_where_nobody_knows_how_many_there_are(reader):
    """And what a reader reads again, as it cannot skip it, is not there twice."""
    lost = f"{CRASHED}; what follows was not read either"
    assert reader.texts("unnumbered", "one", "two", "abort", "four") == ["one", "two", lost]
    named = reader.texts("unnumbered", "one", "of a part", "abort", "four")
    assert named == ["one", "of a part", f"after a part: {lost}"]
    lines = ["unnumbered", "one", "careful: abort", "three"]
    assert reader.texts(*lines) == ["one", "read carefully", "three"]


def test_after_too_many_deaths_the_rest_is_left_unread(reader):
    texts = reader.texts("one", *["abort"] * 5, "seven")
    assert texts == ["one", *[CRASHED] * 3, *[NOT_TRIED] * 3]


def test_a_document_may_not_lose_more_than_its_share_of_time(make_sleeper):
    texts = make_sleeper(page_seconds=30.0, seconds_lost=10.0).texts("one", "sleep", "three")
    assert texts == ["one", NOT_TRIED, NOT_TRIED]


def test_a_document_may_not_take_longer_than_documents_may(make_sleeper):
    texts = make_sleeper(page_seconds=600.0, document_seconds=30.0).texts("one", "sleep", "three")
    assert texts == ["one", *["reading took longer than 30 seconds"] * 2]


def test_a_document_none_of_whose_pages_can_be_read_is_an_error(reader):
    with pytest.raises(DamagedFile, match=CRASHED):
        reader.pages("abort", "exit")
    with pytest.raises(ExtractionFailed, match="page 1: it is torn"):
        reader.pages("unread", "unread")


@pytest.mark.parametrize(
    ("deed", "error"), [("damaged", DamagedFile), ("password", PasswordNeeded)]
)
def test_an_error_in_the_middle_is_that_of_the_document(reader, deed, error):
    extraction = reader.extract("one", deed, "three")
    assert next(extraction.pages) == Page("one", 1)
    with pytest.raises(error):
        next(extraction.pages)


@pytest.mark.parametrize(
    ("deed", "error"), [("endless text", TextTooLong), ("flood", ContentTooLarge)]
)
def test_pages_without_end_are_cut_off(reader, deed, error):
    with pytest.raises(error, match=r"deeds\.txt has more than"):
        reader.pages("one", deed)


def test_text_is_counted_over_all_pages(make_reader):
    limits = Limits(characters=1_000)
    assert len(make_reader(limits=limits).pages("repeat 500 x", "repeat 500 y")) == 2
    with pytest.raises(TextTooLong):
        make_reader(limits=limits).pages("repeat 500 x", "repeat 501 y")


def test_what_a_reader_prints_does_not_reach_the_log(reader, caplog):
    assert reader.texts("print") == ["7"]
    assert "secret" not in caplog.text


def test_several_documents_are_read_at_once(reader):
    together = threading.Barrier(4, timeout=20)

    def read(name):
        pages = reader.extract(f"{name} one", "pid", f"{name} three").pages
        first = next(pages)
        together.wait()  # none is through before all have begun
        return [first.text, *(page.text for page in pages)]

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(read, "abcd"))
    assert [(first, last) for first, _, last in results] == [
        (f"{name} one", f"{name} three") for name in "abcd"
    ]
    assert len({process for _, process, _ in results}) == 4  # each has its own


def test_an_object_whose_reader_is_one_of_the_large_ones_is_read(sandbox, tmp_path):
    """The document around it is read by those that bring nothing along."""
    body = f'<w:body xmlns:r="{OFFICE}"><w:altChunk r:id="aFChunk"/></w:body>'
    parts = {
        "[Content_Types].xml": "",
        "_rels/.rels": links(officeDocument="word/document.xml"),
        "word/_rels/document.xml.rels": links(aFChunk="part.html"),
        "word/part.html": "<html><body><p>A kingfisher.</p></body></html>",
        "word/document.xml": f'<w:document xmlns:w="{W}">{body}</w:document>',
    }
    source = Source(zipped(tmp_path / "stored", parts), "birds.docx")
    pages = list(sandbox.extract(source, lambda: False).pages)
    assert pages[-1].text == "A kingfisher."
