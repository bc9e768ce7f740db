"""A note as a file: what goes in comes out, and any program that knows YAML can read its head."""

import json

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.imports.own_export.form import as_json, head_fields, read_note, text_meant, written_note

# Whatever SQLite can hold as text.
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | st.floats(-1e6, 1e6) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
HEADS = st.fixed_dictionaries(
    {
        "id": st.integers(1, 10**6),
        "uid": st.uuids().map(str),
        "title": TEXTS,
        "tags": st.lists(TEXTS, max_size=4),
        "source_path": st.none() | TEXTS,
        "created_at": st.just("2026-01-02T03:04:05.000006Z"),
        "updated_at": st.none() | st.just("2026-01-02T03:04:05.000006Z"),
        "metadata": st.dictionaries(TEXTS, VALUES, max_size=4),
    }
)
BEGINNINGS = st.sampled_from(
    ["", "---\n", "---", "---\r\n", "\n---\n", "title: x\n---\n", "\ufeff"]
)
ENDS = st.sampled_from(["", "\n", "\r\n", "\r", "\n---\n", "---"])


@given(head=HEADS, text=st.tuples(BEGINNINGS, TEXTS, ENDS).map("".join))
@settings(max_examples=100, deadline=None)
def test_a_note_comes_out_of_its_file_to_the_byte(head, text):
    content = written_note(head, text)
    found, back = read_note(content)
    assert back == text
    assert back.encode() == text.encode()
    assert head_fields(found) == head


@given(head=HEADS)
@settings(max_examples=60, deadline=None)
def test_the_head_of_a_note_is_yaml(head):
    found, _ = read_note(written_note(head, "text"))
    assert yaml.safe_load(found)["title"] == head["title"]
    assert yaml.safe_load(found)["tags"] == head["tags"]


@given(value=VALUES)
@settings(max_examples=60, deadline=None)
def test_a_value_is_one_line_however_a_reader_splits_lines(value):
    line = as_json(value)
    assert len(line.splitlines()) <= 1
    assert json.loads(line) == value


@given(head=HEADS, text=st.text(st.sampled_from("a\n-é ")))
@settings(max_examples=60, deadline=None)
def test_a_note_that_an_editor_saved_with_its_own_line_ends_and_a_mark_is_the_same(head, text):
    saved = b"\xef\xbb\xbf" + written_note(head, text).replace(b"\n", b"\r\n")
    found, back = read_note(saved)
    assert head_fields(found) == head
    assert text_meant(found, back, text) == text


def test_line_ends_of_a_note_are_changed_only_where_the_editor_made_them():
    head = 'title: "x"\r\n'
    assert text_meant(head, "a\r\nb\r\n", "a\nb\r\n") == "a\nb\r\n"
    assert text_meant(head, "a\r\nnew\r\n", "a\nb\n") == "a\nnew\n"
    assert text_meant(head, "a\r\nnew\r\n", "a\r\nb\n") == "a\r\nnew\r\n"
    assert text_meant('title: "x"\n', "a\r\nb\r\n", "a\nb\n") == "a\r\nb\r\n"
    assert text_meant(None, "a\r\n", "a\n") == "a\r\n"


def test_a_file_without_a_head_is_all_text():
    assert read_note(b"just text\n---\n") == (None, "just text\n---\n")
    assert read_note(b"---\nno end") == (None, "---\nno end")
