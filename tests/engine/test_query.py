import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.query import MOST_PARTS, ParsedQuery, parse

PIECES = ['"', "-", "tag:", "“", "”", " ", "a", "word", "?", "x y", "-b", ":", "\n", "é", "5"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("sea otter", ParsedQuery("sea otter")),
        ('a "sea otter" b', ParsedQuery("a sea otter b", phrases=("sea otter",))),
        ("“sea otter”", ParsedQuery("sea otter", phrases=("sea otter",))),
        ("otter -heron", ParsedQuery("otter", without=("heron",))),
        ('otter -"grey heron"', ParsedQuery("otter", without=("grey heron",))),
        ("key tag:house", ParsedQuery("key", tags=("house",))),
        ('key TAG:"two words"', ParsedQuery("key", tags=("two words",))),
        ("key tag:agent:mybot", ParsedQuery("key", tags=("agent:mybot",))),
        ("key -tag:old", ParsedQuery("key", without_tags=("old",))),
        ('"a b" "a b"', ParsedQuery("a b a b", phrases=("a b",))),
    ],
)
def test_conditions_are_taken_out_of_the_text(query, expected):
    assert parse(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        'foo "x',
        '"unbalanced',
        '""',
        '" "',
        "a-b",
        "a - b",
        "-",
        "tag:",
        'tag:""',
        "ls -l --all",
        "at -5 degrees",
        'print("hello world")',
        'x="a b"',
        "metatag:x",
        "1990-2000",
        "https://example.org/a-b?c=-d",
    ],
)
def test_what_is_not_clearly_a_condition_is_plain_text(query):
    assert parse(query) == ParsedQuery(query)


def test_code_with_a_flag_and_half_a_quote_is_still_a_query():
    assert parse('foo -bar "x') == ParsedQuery('foo   "x', without=("bar",))


def test_in_a_question_only_tags_are_conditions():
    question = 'Who wrote "Little Women" -not the sequel?'
    assert parse(question) == ParsedQuery(question)
    assert parse("where is the key tag:house ?") == ParsedQuery(
        "where is the key   ?", tags=("house",)
    )


def test_where_only_conditions_are_given_their_words_are_looked_for():
    assert parse("-heron") == ParsedQuery("heron")
    assert parse("tag:house") == ParsedQuery("house", tags=("house",))
    assert parse("tag:house -shed") == ParsedQuery("house", without=("shed",), tags=("house",))


def test_the_number_of_conditions_is_bounded():
    found = parse("x " + " ".join(f"-word{n}a" for n in range(100)))
    assert len(found.without) == MOST_PARTS
    assert "-word99a" in found.text


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_can_be_read_and_leaves_something_to_look_for(query):
    found = parse(query)
    assert not query.strip() or found.text.strip()


@pytest.mark.parametrize("unit", ['"', "-", "tag:", '-"', 'tag:"', " -a", '"a" ', "“"])
def test_hostile_queries_take_no_time(unit):
    began = time.process_time()
    parse(unit * 2000)
    assert time.process_time() - began < 0.5
