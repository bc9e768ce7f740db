"""A reader that lets the engine work: how much of that there can be, and how it ends."""

import time
import tracemalloc

import pytest

from kb.engine.errors import ContentTooLarge, ExtractionFailed, KbError, TookTooLong
from kb.engine.ingest.sandbox import Limits, attempt, checking, messages
from kb.engine.ingest.sandbox.messages import Inlet, Outlet
from kb.engine.pages import Box, Page, PlacedWord

LIMITS = Limits(memory_mb=400, cpu_seconds=60, crashes=2, heads_mb=2)


@pytest.fixture
def ended(make_reader):
    """How a reading ended, the engine's processor time for it in seconds, and memory in MB."""

    def read(deed, limits=LIMITS, *, memory=True):
        reader = make_reader(limits=limits)
        given_up = time.monotonic() + 60  # a flood without end fails the test
        if memory:  # it takes its time
            tracemalloc.start()
        began = time.thread_time()
        try:
            with pytest.raises(KbError) as raised:
                for _ in reader.extract(deed, stopped=lambda: time.monotonic() > given_up).pages:
                    pass
            memory_mb = tracemalloc.get_traced_memory()[1] >> 20
            return raised.value, time.thread_time() - began, memory_mb
        finally:
            tracemalloc.stop()

    return read


@pytest.mark.parametrize(
    ("deed", "reason"),
    [
        ("flood of headings", "a document with two headings"),
        ("flood of empty pieces", "a piece that is too short"),
        ("page of rows", "more rows than lines"),
        ("claim of a picture", "a page read from a picture, without the means"),
    ],
)
def test_a_flood_of_what_no_reader_sends_ends_at_once(ended, deed, reason):
    error, seconds, memory_mb = ended(deed)
    assert type(error) is ExtractionFailed
    assert f"its reader answered with nonsense ({reason})" in error.message
    assert seconds < 10
    assert memory_mb < 100


@pytest.mark.parametrize("deed", ["flood of pages with much to say", "flood of long heads"])
def test_what_is_said_about_pages_is_limited(ended, deed):
    error, seconds, memory_mb = ended(deed, memory=deed == "flood of long heads")
    assert type(error) is ContentTooLarge
    assert "more than 2 MB to say about its pages" in error.message
    assert seconds < 30
    assert memory_mb < 100


@pytest.mark.parametrize("deed", ["flood of pages with much to say", "drip"])
def test_the_work_of_making_sense_of_it_counts(ended, deed):
    """By its processor time: a busy machine does not count against a document."""
    limits = Limits(memory_mb=400, cpu_seconds=60, work_seconds=0.2)
    error, seconds, _ = ended(deed, limits, memory=False)
    assert type(error) is TookTooLong
    assert "to make sense of what its reader says took longer than 0.2 seconds" in error.message
    assert 0.2 < seconds < 10


def test_the_time_of_that_work_counts_as_the_document_s(ended):
    limits = Limits(memory_mb=400, cpu_seconds=60, crashes=1, document_seconds=0.5)
    error, _, _ = ended("flood of pages with much to say", limits, memory=False)
    assert type(error) is TookTooLong
    assert "longer than 0.5 seconds" in error.message


def test_time_in_which_pages_are_used_does_not_count(make_reader, monkeypatch):
    passed = 0.0
    monkeypatch.setattr(
        attempt, "_clocks", lambda: (time.monotonic() + passed, time.thread_time() + passed)
    )
    pages = make_reader().extract("one", "two", "three").pages
    assert next(pages).text == "one"
    passed += 10_000
    assert next(pages).text == "two"
    passed += 10_000
    assert next(pages).text == "three"


def test_a_reader_leaves_out_the_places_of_words_before_there_are_too_many(monkeypatch, tmp_path):
    monkeypatch.setattr(messages, "_MOST_SAID", 200)
    page = Page("x", words=(PlacedWord("word", Box(0, 0, 1, 1)),) * 4)
    with (tmp_path / "sent").open("w+b", buffering=0) as file:
        outlet = Outlet(file.fileno())
        outlet.page(page)
        outlet.page(page)
        file.seek(0)
        inlet = Inlet()
        inlet.feed(file.read())
    assert [len(checking.page(message, "").words) for message in inlet.messages()] == [4, 0]
