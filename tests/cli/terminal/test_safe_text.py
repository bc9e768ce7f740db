"""What a terminal can be trusted with, and how numbers and times read."""

import json
import re

import pytest
from rich.cells import cell_len

from kb.cli.terminal.safe_text import clean, count, duration, escape_unsafe, moment, one_line, size
from kb.cli.terminal.snippet import flowing, snippet

HOSTILE = [
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "\x9b2J",
    "back\x08\x08\x08space",
    "a\rb",
    "left\u202eright",
    "\u2066isolate\u2069",
    "nul\x00",
    "lone \ud800 surrogate",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_that_steers_a_terminal_survives(text):
    safe = clean(text)
    assert len(safe) == len(text)
    assert safe.isprintable()
    safe.encode()


def test_ordinary_text_is_left_as_it_is():
    text = "Größe: 5 µm\n\tnaïve 日本語 🎉 — “quotes”"
    assert clean(text) == text


@pytest.mark.parametrize("text", HOSTILE)
def test_json_keeps_its_value_and_loses_its_teeth(text):
    value = {"text": text, "more": "ä\n"}
    written = escape_unsafe(json.dumps(value, ensure_ascii=False, indent=2))
    assert json.loads(written) == value
    assert written.replace("\n", "").isprintable()
    assert "ä" in written


def test_one_line_is_one_line():
    assert one_line(" a\n\n b\tc\r\n") == "a b c"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, ""),
        (0, "0 B"),
        (999, "999 B"),
        (1024, "1.0 KB"),
        (10 * 1024, "10 KB"),
        (2**20, "1.0 MB"),
        (5 * 2**30, "5.0 GB"),
    ],
)
def test_sizes_read_well(number, text):
    assert size(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, ""),
        (0.04, "0.0 s"),
        (12.2, "12 s"),
        (200, "3 min 20 s"),
        (7500, "2 h 5 min"),
        (300_000, "3 d 11 h"),
    ],
)
def test_durations_read_well(seconds, text):
    assert duration(seconds) == text


def test_counts_agree_with_their_noun():
    assert [count(n, "file") for n in (0, 1, 2, 1204)] == [
        "0 files",
        "1 file",
        "2 files",
        "1,204 files",
    ]


def test_a_moment_is_given_in_the_zone_of_this_machine(monkeypatch):
    import time

    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert moment("2026-07-01T23:30:00.000000Z") == "2026-07-02 01:30"
    finally:
        monkeypatch.undo()
        time.tzset()
    assert moment(None) == ""


def marked(text, spans):
    return [text[start:end] for start, end in spans]


def test_a_short_passage_is_shown_whole_and_its_paragraph_flows():
    text, spans = snippet("one two\n  three", [[4, 7], [10, 15]], 100, 1)
    assert text == "one two three"
    assert marked(text, spans) == ["two", "three"]


def test_a_long_passage_is_shown_where_the_marks_are():
    words = [f"word{n}" for n in range(200)]
    passage = " ".join(words)
    start = passage.index("word150")
    text, spans = snippet(passage, [[start, start + 7]], 40, 2)
    assert text.startswith("… ")
    assert text.endswith(" …")
    assert len(text) <= 80
    assert marked(text, spans) == ["word150"]
    assert 20 < spans[0][0] < 60
    assert all(word in words for word in text.strip("… ").split())


def test_without_marks_a_passage_is_shown_from_its_start():
    text, spans = snippet("start " + "and so on " * 50, [], 40, 1)
    assert text.startswith("start and")
    assert text.endswith(" …")
    assert spans == []


def test_marks_count_characters_and_stay_on_theirs():
    passage = "🎉 naïve\r\n\r\n日本語 \x1b[31m evil"
    start = passage.index("日本語")
    text, spans = snippet(passage, [[start, start + 3], [900, 901]], 100, 3)
    assert marked(text, spans) == ["日本語"]
    assert "\x1b" not in text


@pytest.mark.parametrize("letter", ["x", "語"])
def test_a_passage_without_spaces_is_cut_all_the_same(letter):
    text, _ = snippet(letter * 5000, [], 80, 1)
    assert cell_len(text) <= 80


def test_lists_tables_and_code_keep_their_lines():
    passage = """Before you
begin:

- wash the
  pots
- sort the seeds
1. sow

| seed | days |
| leek | 14 |
after

```sh
for pot in *; do
    water "$pot"
done
```
and wait
"""
    at = passage.index("days")
    text, spans = snippet(passage, [[at, at + 4]], 40, 20)
    assert text.split("\n") == [
        "Before you begin:",
        "- wash the pots",
        "- sort the seeds",
        "1. sow",
        "| seed | days |",
        "| leek | 14 |",
        "after",
        "for pot in *; do",
        '    water "$pot"',
        "done",
        "and wait",
    ]
    assert marked(text, spans) == ["days"]


def test_a_part_of_code_is_shown_from_the_beginning_of_a_line():
    lines = [f"    value{n} = compute({n})" for n in range(50)]
    passage = "\n".join(["def run():", *lines])
    at = passage.index("value30")
    text, spans = snippet(passage, [[at, at + 7]], 60, 3, code=True)
    assert marked(text, spans) == ["value30"]
    assert len(text.split("\n")) <= 3
    for line in text.strip("… ").split("\n"):
        assert line.strip(" …") in passage


RECIPES = """- flour for bread
- yeast for the bread
- salt

```python
def bake(bread):
    if bread:
        return "crusty"
```
"""


def marks_of(passage, *words):
    return sorted(match.span() for word in words for match in re.finditer(word, passage, re.I))


def test_a_word_that_fits_is_shown_rather_than_another_once_more():
    text, spans = snippet(RECIPES, marks_of(RECIPES, "bread", "crusty"), 106, 3)
    assert text.split("\n") == ["… def bake(bread):", "    if bread:", '        return "crusty"']
    assert marked(text, spans) == ["bread", "bread", "crusty"]
    passage = "Bread and bread. " * 3 + "so it goes on " * 30 + "crusty bread is " + "good " * 30
    text, spans = snippet(passage, marks_of(passage, "bread", "crusty"), 60, 2)
    assert marked(text, spans) == ["crusty", "bread"]


def test_a_mark_longer_than_the_room_is_shown_from_its_beginning():
    passage = "so it goes on " * 30 + "語" * 300
    text, _ = snippet(passage, [[420, 720]], 20, 3)
    assert "語語語" in text


def test_a_part_of_a_list_ends_with_a_whole_line():
    passage = "\n".join(f"- the item number {n} of the list" for n in range(40))
    text, _ = snippet(passage, marks_of(passage, "number 20 "), 34, 3)
    lines = text.removeprefix("… ").removesuffix(" …").split("\n")
    assert set(lines) <= set(passage.split("\n"))
    assert "- the item number 20 of the list" in lines


def test_a_pipe_gets_a_passage_on_one_line():
    text, spans = flowing("- one\n- two  three\n", [[8, 11]])
    assert text == "- one - two three"
    assert marked(text, spans) == ["two"]
