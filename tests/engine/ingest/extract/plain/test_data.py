import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import places, places_in, read, text_of

from kb.engine.errors import NoTextFound
from kb.engine.ingest.extract import Extraction, Source, extract

JSON = (
    *("jsontitleword", "jsonnestedword", "jsonlinesword", "jsoncellword", "jsonlistword"),
    *("station", "readings"),  # names are found as well
)
XML = ("xmltitleword", "xmlmixedword", "xmlcellword", "xmlattributeword", "xmldeepword", "fibre")
NOTEBOOK = ("nbtitleword", "nbcodeword", "nbstreamword", "nbresultword", "nberrorword")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        *(("tides.json", word) for word in JSON),
        *(("catalogue.xml", word) for word in XML),
        *(("waves.ipynb", word) for word in NOTEBOOK),
    ],
)
def test_every_word_is_found(name, word):
    assert word in places_in(name)


@pytest.mark.parametrize(
    ("name", "doc_type", "title"),
    [
        ("tides.json", "json", "Tides jsontitleword"),
        ("catalogue.xml", "xml", "Ropes xmltitleword"),
        ("events.jsonl", "json", None),
        ("waves.ipynb", "code", "Waves nbtitleword"),
    ],
)
def test_data_tells_what_it_is(name, doc_type, title):
    extraction = read(name)
    assert (extraction.doc_type, extraction.format) == (doc_type, name.rpartition(".")[2])
    assert extraction.title == title


def test_json_is_written_as_paths_and_tables():
    assert text_of(read("tides.json")) == (
        "title: Tides jsontitleword\n\n"
        "### station\n\nname: Bergen jsonnestedword\nheight: 1.1\n\n"
        "notes:\n    first line\n    second line jsonlinesword\n\n"
        "### readings\n\n"
        "| time | level | by.who |\n| 06:00 | 1.2 | Mara jsoncellword |\n| 12:00 | 0.7 | Jon |\n\n"
        "tags: tide, moon jsonlistword"
    )


def test_xml_is_written_as_prose_paths_and_tables():
    text = text_of(read("catalogue.xml"))
    assert "about: Prose with an emphasis xmlmixedword inside it." in text
    assert "| id | fibre | length.unit | length |\n| r1 | hemp xmlcellword | m | 12 |" in text
    assert "### store\n\nplace: north xmlattributeword\nkeeper.name: Jon xmldeepword" in text


def test_tags_in_a_text_part_no_word_of_it_but_those_of_a_note(extracted):
    note = "<note><mark>1</mark><body><p>Below</p><p>and on</p></body></note>"
    (page,) = extracted(f"<a><p>in <b>bol</b>d{note} text</p></a>", "a.xml").pages
    assert page.text == "p: in bold 1 Below and on text"


def test_a_record_of_json_lines_is_cited_by_its_line():
    (page,) = read("events.jsonl").pages
    line = next(n for n, text in enumerate(page.text.split("\n")) if "jsonlrowword" in text)
    assert page.grid.rows[line] == 42
    _, location = places([page])["jsonlrowword"]
    first, last = location.removeprefix("rows ").split("–")
    assert int(first) <= 42 <= int(last)


def test_a_notebook_is_text_code_and_output():
    assert text_of(read("waves.ipynb")) == (
        "# Waves nbtitleword\nSome text.\n\n"
        "```python\nheight = 2  # nbcodeword\nprint(height)\n```\n\n"
        "```\n2 nbstreamword\n```\n\n```\nnbresultword\n```\n\n```\nValueError nberrorword\n```"
    )


@pytest.fixture
def data(extracted):
    def data(text: str, filename: str = "data.json") -> Extraction:
        return extracted(text, filename)

    return data


def test_digits_stay_as_they_were_written(data):
    long = "9" * 5_000
    text = text_of(data(f'{{"a": 1.10, "b": 1e400, "c": {long}, "d": -0, "e": NaN}}'))
    assert text == f"a: 1.10\nb: 1e400\nc: {long}\nd: -0\ne: NaN"


def test_records_of_different_form_are_told_one_by_one(data):
    text = text_of(data('[{"a": 1}, {"b": {"c": [1, 2]}}, "x", [[1, 2], [3]]]'))
    assert text == "[0].a: 1\n[1].b.c: 1, 2\n[2]: x\n[3][0]: 1, 2\n[3][1]: 3"


def test_json_lines_of_different_form_keep_their_lines(data):
    (page,) = data('{"a": 1}\n\n{"b": "x\\ny"}\nbroken {\n', "log.jsonl").pages
    lines = dict(zip(page.text.split("\n"), page.grid.rows, strict=True))
    assert (lines["a: 1"], lines["    y"], lines["broken {"]) == (1, 3, 4)


def test_json_lines_are_known_by_their_content_too(data):
    assert data('{"a": 1}\n{"a": 2}\n', "data.json").format == "json"
    assert text_of(data('{"a": 1}\n{"a": 2}\n', "data.json")) == "| a |\n| 1 |\n| 2 |"
    assert text_of(data('{\n"a": 1}\n', "data.jsonl")) == "a: 1"


@pytest.mark.parametrize(
    ("text", "filename", "doc_type"),
    [
        ("{// a comment\n}", "tsconfig.json", "json"),
        ("[" * 100_000 + "]" * 100_000, "deep.json", "json"),
        ('{"a": ' * 50_000, "cut.json", "json"),
        ('{"begins": like JSON', "notes", "text"),
        ("<john> hello\n<mary> hi\n", "chat", "text"),
        ("<a><b></a>", "broken.xml", "xml"),
        ("<a>" * 5_000 + "x" + "</a>" * 5_000, "deep.xml", "xml"),
        ('<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>', "xxe.xml", "xml"),
    ],
    ids=lambda value: value[:12],
)
def test_what_cannot_be_taken_apart_is_text_as_it_stands(data, text, filename, doc_type):
    extraction = data(text, filename)
    assert extraction.doc_type == doc_type
    (page,) = extraction.pages
    assert (page.text, page.lines_count) == (text, True)


def test_a_name_that_is_a_sentence_is_kept_whole(data):
    name = "The storage location of the library was changed, " * 4 + "and its books were moved"
    assert text_of(data(json.dumps({name: "verschoben"}))) == f"{name}: verschoben"


def test_long_paths_do_not_multiply_the_text(data):
    value: object = [[n] for n in range(5_000)]
    for depth in range(200):
        value = {f"{'key' * 1_000}{depth}": value}
    text = text_of(data(json.dumps(value)))
    assert len(text) < 5_000 * 250


def test_more_lists_than_memory_holds_are_text_as_they_stand(data):
    text = "[" + "[]," * 1_000_000 + "[]]"
    (page,) = data(text).pages
    assert page.text == text


def test_a_million_small_values_are_read_in_time(data):
    began = time.process_time()
    assert "needle" in text_of(data(f"[{'[[1]],' * 150_000}" + '"needle"]'))
    assert time.process_time() - began < 15


@pytest.mark.parametrize(
    ("text", "filename"),
    [
        ("{}", "a.json"),
        ("[]", "a.json"),
        ('""', "a.json"),
        ("<a/>", "a.xml"),
        ('{"cells": []}', "a.ipynb"),
    ],
)
def test_data_without_values_has_no_text(data, text, filename):
    with pytest.raises(NoTextFound, match=filename):
        data(text, filename)


def test_what_is_no_notebook_is_read_as_json(data):
    assert text_of(data('{"a": {"b": 1}, "cells": 7}', "x.ipynb")) == "### a\n\nb: 1\n\ncells: 7"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(min_size=1, max_size=20),
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=10), inner, max_size=5)
    ),
    max_leaves=30,
)


@given(st.dictionaries(st.text(max_size=10), VALUES, min_size=1, max_size=5))
def test_every_value_of_any_json_is_in_the_text(tmp_path_factory, value):
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps({"first": "needle", **value}))
    text = text_of(extract(Source(path, "any.json")))
    assert not [word for word in _words(value) if word not in text]


def _words(value: object) -> list[str]:
    if isinstance(value, dict):
        return [word for item in value.values() for word in _words(item)]
    if isinstance(value, list):
        return [word for item in value for word in _words(item)]
    return [word for word in value.split() if word.isalnum()] if isinstance(value, str) else []
