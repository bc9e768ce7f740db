import json
import time

import pytest

from kb.imports.fit import metadata_of, one_line, pieces, tag_list, tags_and_more, utc
from kb.imports.item import Item
from kb.imports.parts import in_parts


@pytest.fixture
def _in_zurich(monkeypatch, _in_utc):
    monkeypatch.setenv("TZ", "Europe/Zurich")
    time.tzset()


@pytest.mark.usefixtures("_in_zurich")
@pytest.mark.parametrize(
    ("value", "as_kb_writes_it"),
    [
        (1700000000, "2023-11-14T22:13:20.000000Z"),
        (1700000000.5, "2023-11-14T22:13:20.500000Z"),
        (1700000000123, "2023-11-14T22:13:20.123000Z"),
        ("2024-01-05T10:30:00Z", "2024-01-05T10:30:00.000000Z"),
        ("2024-01-05T10:30:00.25+02:00", "2024-01-05T08:30:00.250000Z"),
        ("2024-01-05 10:30", "2024-01-05T09:30:00.000000Z"),
        ("2024-01-05", "2024-01-05T00:00:00.000000Z"),
    ],
)
def test_times_are_utc(value, as_kb_writes_it):
    assert utc(value) == as_kb_writes_it


@pytest.mark.parametrize(
    "value",
    [None, True, "", "soon", "05.01.2024", float("nan"), float("inf"), -1, 1e300, "0001-01-01", []],
)
def test_what_is_no_time_is_none(value):
    assert utc(value) is None


def test_a_line_has_no_breaks_no_controls_and_an_end():
    assert one_line("  a\tb\n\nc\x00\x07\u2028d \ud83d ") == "a b c d �"
    assert one_line("x" * 600) == "x" * 499 + "…"


def test_tags_are_each_once_and_as_many_as_kb_takes():
    assert tag_list(["Home", "home", " a  b ", "", "\n", 7]) == ("Home", "a b", "7")
    many = list(map(str, range(300)))
    assert len(tag_list(many)) == 100
    assert tags_and_more(many) == (tuple(many[:80]), many[80:])
    assert len(tag_list(["x" * 500])[0]) == 200


def test_metadata_is_what_json_has_and_says_what_did_not_fit():
    deep: object = "end"
    for _ in range(30):
        deep = [deep]
    values = {"a": 1, "nan": float("nan"), "none": None, "deep": deep, 5: "five", "half": "\ud83d"}
    values |= {"long": "x" * 300_000, "huge": 10**30, "many": list(range(9_999))}
    values |= {f"big {number}": "y" * 19_000 for number in range(20)}
    values |= {f"name {number}": number for number in range(400)}
    found = metadata_of(values)
    assert (found["a"], found["nan"], found["5"], found["half"]) == (1, "nan", "five", "�")
    assert found["huge"] == str(10**30)
    assert len(found["many"]) == 500
    assert len(found) <= 200
    assert "none" not in found
    assert {"big 19", "name 399"} <= set(found["left_out"])
    assert len(json.dumps(found, allow_nan=False).encode()) < 2**20


def test_a_long_text_is_cut_at_line_ends_and_nothing_is_lost():
    text = "".join(f"line {number}\n" for number in range(1_000))
    parts = list(pieces(text, 500))
    assert "".join(parts) == text
    assert all(0 < len(part) <= 500 and part.endswith("\n") for part in parts)
    assert list(pieces("x" * 1_001, 500)) == ["x" * 500, "x" * 500, "x"]


def test_a_text_beyond_a_note_becomes_several_and_the_first_keeps_the_key():
    item = Item("key", "Title", text="word " * 450_000, source_path="https://example.org/a")
    parts = list(in_parts(item))
    assert [part.key for part in parts] == ["key", "key#2", "key#3"]
    assert [part.title for part in parts] == [f"Title ({number} of 3)" for number in (1, 2, 3)]
    assert "".join(part.text for part in parts) == item.text
