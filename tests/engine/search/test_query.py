import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.search.query import MOST_PARTS, ParsedQuery, parse
from proportion import assert_in_proportion

PIECES = ['"', "-", "tag:", "“", "”", " ", "a", "word", "?", "x y", "-b", ":", "\n", "é", "5"]


def conditions(found):
    """What must and must not be there, by kind."""
    kinds = ("phrases", "without", "tags", "without_tags")
    return {kind: getattr(found, kind) for kind in kinds if getattr(found, kind)}


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("sea otter", "sea otter", {}),
        ('a "sea otter" b', "a sea otter b", {"phrases": ("sea otter",)}),
        ("“sea otter”", "sea otter", {"phrases": ("sea otter",)}),
        ("otter -heron", "otter", {"without": ("heron",)}),
        ('otter -"grey heron"', "otter", {"without": ("grey heron",)}),
        ("key tag:house", "key", {"tags": ("house",)}),
        ('key TAG:"two words"', "key", {"tags": ("two words",)}),
        ("key tag:agent:mybot", "key", {"tags": ("agent:mybot",)}),
        ("key -tag:old", "key", {"without_tags": ("old",)}),
        ('"a b" "a b"', "a b a b", {"phrases": ("a b",)}),
        ('foo -bar "x', 'foo   "x', {"without": ("bar",)}),  # code with half a quote
        ("where is the key tag:house ?", "where is the key   ?", {"tags": ("house",)}),
        # Where only conditions are given their words are looked for.
        ("-heron", "heron", {}),
        ("tag:house", "house", {"tags": ("house",)}),
        ("tag:house -shed", "house", {"without": ("shed",), "tags": ("house",)}),
    ],
)
def test_conditions_are_taken_out_of_the_text(query, text, expected):
    found = parse(query)
    assert (found.text, conditions(found)) == (text, expected)


def test_conditions_are_remembered_as_they_were_typed():
    found = parse('“sea otter” -heron TAG:"two words" tag:a tag:a')
    assert [condition.typed for condition in found.conditions] == [
        "“sea otter”",
        "-heron",
        'TAG:"two words"',
        "tag:a",
    ]


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


def test_in_a_question_only_tags_are_conditions():
    question = 'Who wrote "Little Women" -not the sequel?'
    assert parse(question) == ParsedQuery(question)


def test_the_number_of_conditions_is_bounded():
    found = parse("x " + " ".join(f"-word{n}a" for n in range(100)))
    assert len(found.without) == MOST_PARTS
    assert "-word99a" in found.text


@given(st.one_of(st.text(), st.lists(st.sampled_from(PIECES)).map("".join)))
def test_any_text_can_be_read_and_leaves_something_to_look_for(query):
    found = parse(query)
    assert not query.strip() or found.text.strip()


@pytest.mark.parametrize("unit", ['"', "-", "tag:", '-"', 'tag:"', " -a", '"a" ', "“"])
def test_hostile_queries_take_time_in_proportion_to_their_length(unit):
    assert_in_proportion(lambda count: parse(unit * count), 1_000)
