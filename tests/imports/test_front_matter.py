import pytest

from kb.imports.front_matter import front_matter


def properties(yaml: str) -> dict:
    found = front_matter(f"---\n{yaml}\n---\nText")
    assert found.problem is None
    return found.properties


def test_properties_are_read_as_obsidian_writes_them():
    yaml = 'tags:\n  - recipe\n  - cooking\naliases: [a, "b, c"]\nrating: 4.5\ndone: true\nempty:'
    assert properties(yaml) == {
        "tags": ["recipe", "cooking"],
        "aliases": ["a", "b, c"],
        "rating": 4.5,
        "done": True,
        "empty": None,
    }


@pytest.mark.parametrize(
    "text", ["12:30", "yes", "no", "2024-01-05", "2024-01-05T10:30:00", "0x1F"]
)
def test_words_that_older_yaml_would_take_for_something_else_stay_texts(text):
    assert properties(f"value: {text}") == {"value": text}


def test_a_number_with_a_leading_zero_is_that_number():
    assert properties("month: 08") == {"month": 8}


def test_the_text_begins_behind_the_properties_whatever_ends_the_lines():
    for text in ("---\na: 1\n---\nText", "---\r\na: 1\r\n---\r\nText", "﻿---\na: 1\n...\nText"):
        found = front_matter(text)
        assert found.properties == {"a": 1}
        assert text[found.body :] == "Text"


@pytest.mark.parametrize(
    "text", ["Text", "", "---", "----\na: 1\n---\n", "Text\n---\na: 1\n---\n", "---\na: 1\n"]
)
def test_what_is_no_front_matter_is_text(text):
    assert front_matter(text) == front_matter("")


@pytest.mark.parametrize(
    ("yaml", "problem"),
    [
        ("title: Foo: bar", "line 2: a second colon in a line"),
        ("tags: 'it's'", "line 2: something stands behind the end of a value"),
        ("who: @anna", "line 2: a value begins with a sign that YAML keeps for itself"),
        ("tags: [a, b", "line 3: a bracket is not closed"),
        ("when: {{date}}", "line 2: braces or brackets where a text should be"),
        ("tags: a\ntags: b", "tags is there twice"),
        ("a: &x [1]\nb: *x", "it refers to itself (*)"),
        ("a: " + "[" * 40 + "]" * 40, "it is nested too deeply"),
        ("a: !!python/object/apply:os.system [x]", "line 2: a value is of a kind that"),
        ("- one\n- two", "there is something that is no property"),
    ],
)
def test_what_cannot_be_read_is_said_in_plain_words(yaml, problem):
    found = front_matter(f"---\n{yaml}\n---\nText")
    assert (found.problem or "").startswith(problem)
    assert found.body == len(yaml) + 9


def test_a_mistake_in_one_property_leaves_the_others_and_what_is_no_yaml_is_text():
    yaml = "created: {{date}}\ntags:\n  - book\n- film\ntitle: A: b\nrating: 5\nup: *x\n? \n: x"
    found = front_matter(f"---\n{yaml}\n---\nText")
    assert found.properties == {"tags": ["book", "film"], "title": "A: b", "rating": 5, "up": "*x"}
    assert (found.problem or "").startswith("line 5: ")
    assert (found.problem or "").endswith("not taken: created, ?, ")
    found = front_matter("---\ntags: a, b\ntags:\n- c\n- {{tag}}\n---\n")
    assert found.properties == {"tags": ["a", "b", "c"]}
    found = front_matter("---\ncreated: {{date}}\ntags:\n  - book\n  - film\n---\nText")
    assert found.properties == {"tags": ["book", "film"]}


def test_a_billion_laughs_are_refused():
    lines = ["a: &a [x, x]"]
    lines += [
        f"{new}: &{new} [*{old}, *{old}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)
    ]
    assert front_matter("---\n" + "\n".join(lines) + "\n---\n").properties["b"] == "&b [*a, *a]"
