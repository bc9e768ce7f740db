"""Words with their places, page by page, as a reader sends them; packed, as they are kept."""

import time

from kb.engine.ingest.pipeline import _MOST_WORDS, _Words
from kb.engine.pages import Box, Page, PlacedWord
from kb.engine.store.rows.page_words import unpack

BOX = Box(0, 0, 1, 1)


def kept(*pages):
    words = _Words()
    for number, texts in pages:
        placed = tuple(PlacedWord(text, BOX) for text in texts)
        words.add(Page("x", number, words=placed))
    return {number: [word.text for word in unpack(data)] for number, data in words.packed().items()}


def test_the_parts_of_a_page_are_put_together():
    assert kept((1, ["a"]), (2, ["b"]), (2, ["c", "d"]), (4, [])) == {1: ["a"], 2: ["b", "c", "d"]}


def test_a_page_without_a_number_is_the_first():
    assert kept((None, ["a"]), (None, ["b"])) == {1: ["a", "b"]}


def test_a_page_that_comes_again_after_another_stays_as_it_was():
    assert kept((1, ["a"]), (2, ["b"]), (1, ["c"])) == {1: ["a"], 2: ["b"]}


def test_a_page_in_ten_thousand_parts_takes_the_time_of_its_words():
    began = time.thread_time()
    found = kept(*[(1, ["a"] * 100)] * 10_000)
    assert _MOST_WORDS <= len(found[1]) < _MOST_WORDS + 100
    assert time.thread_time() - began < 30  # each part packed anew: minutes
