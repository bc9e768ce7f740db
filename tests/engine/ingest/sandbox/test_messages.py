"""Messages of a reader that may be anybody's: what is used of them, and what is refused."""

import contextlib
import json
import socket
import struct
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from kb.engine.errors import DamagedFile, UnsupportedFormat
from kb.engine.ingest.extract.extraction import Extraction
from kb.engine.ingest.sandbox import Limits, checking
from kb.engine.ingest.sandbox.attempt import Spent
from kb.engine.ingest.sandbox.messages import (
    LONGEST,
    MOST_WORDS,
    WORD_CHARACTERS,
    Garbled,
    Inlet,
    Message,
    Outlet,
)
from kb.engine.pages import Box, Carried, Grid, Page, PlacedWord, Unread

DOCUMENT = {"doc_type": "pdf", "format": "pdf", "title": None, "metadata": {}, "page_count": 3}
PAGE = {
    "number": 1,
    "location": None,
    "markup": "plain",
    "method": "text",
    "grid": None,
    "lines_count": True,
    "headings": [],
}


def sent(say):
    """The messages that a reader sends."""
    theirs, ours = socket.socketpair()
    with theirs, ours:
        ours.settimeout(30)
        say(Outlet(theirs.fileno()))
        theirs.close()
        inlet = Inlet()
        messages = []
        while data := ours.recv(7):  # a few bytes at a time: a message may come in pieces
            inlet.feed(data)
            messages += inlet.messages()
        return messages


def framed(head, text=b""):
    return struct.pack("!II", len(head), len(text)) + head + text


def received(data):
    inlet = Inlet()
    inlet.feed(data)
    return list(inlet.messages())


def test_a_page_is_received_as_it_was_sent():
    page = Page("é ✓ 𝄞", 3, "slide 3", "markdown", "ocr", Grid((7,), None), False, ("A", "B"))
    page = replace(page, words=(PlacedWord("é", Box(0.1, 0.2, 0.3, 1.0)),))
    page = replace(page, carried=Carried(120, 121, 0, 3, torn=True))
    (message,) = sent(lambda outlet: outlet.page(page))
    assert checking.page(message, "") == page


@pytest.mark.parametrize(
    ("text", "count"), [("\U0001f9a9" * 30, WORD_CHARACTERS // 30), ("a", MOST_WORDS)]
)
def test_as_many_words_are_sent_as_have_room_in_a_message(text, count, tmp_path):
    box = Box(0.123456789, 0.123456789, 0.2, 0.3)
    with (tmp_path / "sent").open("w+b", buffering=0) as file:
        Outlet(file.fileno()).page(Page("x", words=(PlacedWord(text, box),) * 20_000))
        file.seek(0)
        (message,) = received(file.read())
    assert len(checking.page(message, "").words) == count


def test_words_that_cannot_stand_on_a_page_are_put_inside_or_left_out():
    words = [
        ["over", -5, 0.5, 10**400, 1e300],
        ["two\nlines\0", 0, 0, 1, 1],
        ["", 0, 0, 1, 1],
        ["turned round", 0.9, 0, 0.1, 1],
    ]
    found = checking.page(Message("page", {**PAGE, "words": words}, b""), "").words
    assert found == (
        PlacedWord("over", Box(0.0, 0.5, 1.0, 1.0)),
        PlacedWord("two lines", Box(0.0, 0.0, 1.0, 1.0)),
    )


@pytest.mark.parametrize(
    "words",
    [
        "words",
        [["a", 0, 0, 1]],
        [["a", 0, 0, 1, 1, 1]],
        [[1, 0, 0, 1, 1]],
        [["a", 0, 0, 1, "1"]],
        [["a", 0, 0, 1, True]],
        [["a", 0, 0, 1, float("nan")]],
        [{"a": 0}],
        [["a", 0, 0, 1, 1]] * (MOST_WORDS + 1),
    ],
)
def test_words_without_a_place_are_refused(words):
    with pytest.raises(Garbled):
        checking.page(Message("page", {**PAGE, "words": words}, b""), "")


@pytest.mark.parametrize(
    "rows", [(1,), (1, 2, 3), (5, 7, 8, 9, 20), (3, 2, 1), (4, 4), tuple(range(2, 400, 2))]
)
def test_the_rows_of_a_grid_are_received_as_they_were_sent(rows):
    page = Page("x\n" * len(rows), 1, grid=Grid(rows, ("A", "ZZ")))
    (message,) = sent(lambda outlet: outlet.page(page))
    assert checking.page(message, "").grid == page.grid


def test_an_error_and_an_unread_page_are_received_as_they_were_sent():
    error = DamagedFile("a.pdf is torn", filename="a.pdf", page=3)
    first, second = sent(lambda o: (o.error(error), o.page(Unread(4, "it is torn"))))
    got = checking.error(first)
    assert (type(got), got.message, got.details) == (DamagedFile, error.message, error.details)
    assert checking.unread(second) == Unread(4, "it is torn")


def test_half_a_character_does_not_get_through():
    (message,) = sent(lambda outlet: outlet.page(Page("a\ud800b\0c", 1)))
    assert checking.page(message, "").text == "a?bc"
    heading = checking.heading(Message("document", {**DOCUMENT, "title": "a\ud800b\0"}, b""))
    assert heading.title == "a\ufffdb"
    heading.title.encode()


def test_what_an_extractor_says_of_its_document_is_cut_to_length():
    metadata = {"author": "x" * 5_000, "pages": 3, "date": object(), "nested": {"a": 1}}
    extraction = Extraction("pdf", "pdf", iter([]), title="t" * 5_000, metadata=metadata)
    (message,) = sent(lambda outlet: outlet.document(extraction))
    heading = checking.heading(message)
    assert len(heading.title) == 1_000
    assert len(heading.metadata["author"]) == 1_000
    assert heading.metadata["pages"] == 3
    assert "nested" not in heading.metadata


def test_metadata_are_few_flat_and_storable():
    hostile = {"a": float("inf"), "b": 2**64, "c": None, "d": True, "e": [1], "f": 1.5}
    assert checking.heading(
        Message("document", {**DOCUMENT, "metadata": hostile}, b"")
    ).metadata == {"d": True, "f": 1.5}
    many = {str(number): number for number in range(10_000)}
    heading = checking.heading(Message("document", {**DOCUMENT, "metadata": many}, b""))
    assert len(heading.metadata) == 100


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("!II", 2**31, 0),
        struct.pack("!II", 0, LONGEST + 1),
        struct.pack("!II", LONGEST, LONGEST),
        framed(b"nonsense"),
        framed(b"[]"),
        framed(b"{}"),
        framed(b'{"kind": 3}'),
        framed(b"\xff\xfe{}"),
        framed(b"[" * 100_000),
        framed(b'{"kind": ' + b"9" * 10_000 + b"}"),
    ],
)
def test_bytes_that_are_no_message_are_refused(data):
    with pytest.raises(Garbled):
        received(data)


def test_a_message_is_waited_for_only_up_to_its_length():
    assert received(framed(b'{"kind": "end"}')[:-1]) == []
    assert received(framed(b'{"kind": "end"}') * 2 + b"\0")[1].kind == "end"


@pytest.mark.parametrize(
    "changed",
    [
        {"doc_type": None},
        {"doc_type": "x" * 50},
        {"doc_type": "a b"},
        {"doc_type": "note"},  # it would be edited as one
        {"doc_type": "spreadsheet"},
        {"format": "../etc"},
        {"format": ["pdf"]},
        {"title": 3},
        {"metadata": []},
        {"page_count": -1},
        {"page_count": "3"},
        {"page_count": True},
        {"page_count": 1e3},
    ],
)
def test_a_heading_that_cannot_be_is_refused(changed):
    with pytest.raises(Garbled):
        checking.heading(Message("document", {**DOCUMENT, **changed}, b""))


@pytest.mark.parametrize(
    "changed",
    [
        {"number": 0},
        {"number": -1},
        {"number": 10**9},
        {"number": "1"},
        {"number": True},
        {"location": {}},
        {"markup": "html"},
        {"markup": ["plain"]},
        {"method": None},
        {"grid": []},
        {"grid": {"runs": [[1, 10_000_000]], "columns": None}},
        {"grid": {"runs": [[1]], "columns": None}},
        {"grid": {"runs": [["1", 1]], "columns": None}},
        {"grid": {"runs": [[1, 1]], "columns": ["A"]}},
        {"grid": {"runs": [[1, 1]], "columns": ["A", "<script>"]}},
        {"headings": "x"},
        {"headings": [1]},
        {"carried": "all"},
        {"carried": {"at": 0, "until": 0, "start": 0}},
        {"carried": {"at": 0, "until": 0, "start": 0, "end": 5}},
        {"carried": {"at": 0, "until": 0, "start": 3, "end": 2}},
        {"carried": {"at": 2, "until": 1, "start": 0, "end": 2}},
        {"carried": {"at": -1, "until": 1, "start": 0, "end": 2}},
        {"carried": {"at": True, "until": 1, "start": 0, "end": 2}},
        *({"places": places} for places in (7, [7], [[0]], [["a", "b"]], [[9, "a"]])),
        {"places": [[3, "a"], [2, "b"]]},
    ],
)
def test_a_page_that_cannot_be_is_refused(changed):
    with pytest.raises(Garbled):
        checking.page(Message("page", {**PAGE, **changed}, b"four"), "")


def test_a_text_that_is_no_utf_8_is_refused():
    with pytest.raises(Garbled):
        checking.page(Message("page", PAGE, b"\xff"), "")


@pytest.mark.parametrize(
    "fields",
    [
        {"code": "storage_failed", "message": "the disk is gone", "details": {}},
        {"code": "job_lost", "message": "never mind", "details": {}},
        {"code": "unauthorized", "message": "who are you", "details": {}},
        {"code": ["damaged_file"], "message": "x", "details": {}},
        {"code": "damaged_file", "message": "", "details": {}},
        {"code": "damaged_file", "message": "x", "details": []},
        {},
    ],
)
def test_a_reader_can_raise_no_error_but_those_of_its_file(fields):
    with pytest.raises(Garbled):
        checking.error(Message("error", fields, b""))


def test_the_details_of_an_error_cannot_stand_in_for_its_message():
    details = {"message": "x", "self": "x", "supported": ["a", {}], "not a name": 1, "format": "z"}
    fields = {"code": "unsupported_format", "message": "m" * 5_000, "details": details}
    error = checking.error(Message("error", fields, b""))
    assert type(error) is UnsupportedFormat
    assert len(error.message) == 1_000
    assert error.details == {"supported": ["a"], "format": "z"}


ANYTHING = strategies.recursive(
    strategies.none()
    | strategies.booleans()
    | strategies.integers()
    | strategies.floats()
    | strategies.text()
    | strategies.sampled_from(["plain", "text", "pdf", "damaged_file", "A"]),
    lambda inner: strategies.lists(inner) | strategies.dictionaries(strategies.text(), inner),
    max_leaves=8,
)
FIELDS = [*DOCUMENT, *PAGE, "code", "message", "details", "reason", "failure", "what"]


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(strategies.dictionaries(strategies.sampled_from(FIELDS), ANYTHING), strategies.binary())
def test_whatever_is_in_a_message_it_is_used_or_refused(fields, text):
    (message,) = received(framed(json.dumps({"kind": "page", **fields}).encode(), text))
    for check in (
        checking.heading,
        checking.unread,
        checking.error,
        checking.failure,
        lambda message: checking.page(message, ""),
    ):
        with contextlib.suppress(Garbled):
            check(message)


def test_a_document_that_tells_too_many_places_keeps_its_text_without_them():
    spent = Spent("a.pdf", Limits(characters=100))
    page = Page("herons", words=(PlacedWord("herons", Box(0.0, 0.0, 1.0, 1.0)),) * 5)
    assert spent.with_room(page) == page
    assert spent.with_room(page) == Page("herons")
    assert spent.with_room(Page("text")) == Page("text")


def test_the_places_of_a_page_arrive_and_are_left_out_where_they_are_too_many():
    named = Page("# A\n\nb", places=((0, ""), (5, "p.html#b")))
    crowded = Page("x" * 60_000, places=tuple((n, "p.html#some-place") for n in range(60_000)))
    messages = sent(lambda outlet: (outlet.page(named), outlet.page(crowded)))
    pages = [checking.page(message, "") for message in messages if message.kind == "page"]
    assert [page.places for page in pages] == [named.places, ()]
