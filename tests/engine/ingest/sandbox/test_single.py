"""A process for one document, as where nothing can be forked: made for Windows, tried here."""

import bad_readers
import pytest

from kb.engine.errors import DamagedFile, JobLost, TookTooLong
from kb.engine.ingest.sandbox import Limits
from kb.engine.ingest.sandbox.reading import Reading
from kb.engine.ingest.sandbox.request import Request
from kb.engine.ingest.sandbox.single import SingleProcess
from kb.engine.ingest.sandbox.turns import Turns
from kb.engine.pages import Page


@pytest.fixture
def read(reader):
    started = []

    def read(*lines, limits=Limits(), stopped=lambda: False):  # noqa: B008 (it cannot change)
        def start(source, level):
            key = ("auto", "eng") if level == "ocr" else None
            started.append(SingleProcess(bad_readers.__name__, key, Request(source, 0, 20)))
            return started[-1]

        source = reader.source(*lines)
        heading, *pages = Reading(start, source, stopped, limits, Turns()).items()
        assert heading.title == "A title"
        return pages

    yield read
    assert all(process._process.poll() is not None for process in started)


def test_a_document_is_read(read):
    assert read("one", "print", "three") == [Page("one", 1), Page("7", 2), Page("three", 3)]


def test_a_page_that_kills_its_reader_costs_that_page(read):
    one, two, three = read("one", "abort", "three")
    assert (one.text, two.number, three.text) == ("one", 2, "three")


def test_a_reader_of_pictures_is_loaded_when_one_is_needed(read):
    assert read("ocr") == [Page("read from a picture", 1)]


def test_a_reader_that_sleeps_is_killed(read):
    with pytest.raises(TookTooLong):
        read("sleep", limits=Limits(page_seconds=0.1))


def test_a_flood_is_stopped(read):
    with pytest.raises(JobLost):
        read("endless text", stopped=lambda: True)


def test_a_document_that_kills_its_reader_fails(read):
    with pytest.raises(DamagedFile):
        read("at once: abort", "one")
