"""Words with their places: packed and unpacked, stored and gone with their document."""

import pytest
from hypothesis import given, strategies

from kb.engine.pages import Box, PlacedWord
from kb.engine.store.rows.page_words import pack, unpack

WORD = PlacedWord("herons", Box(0.1, 0.2, 0.3, 0.25))
shares = strategies.floats(0, 1)
words = strategies.builds(
    PlacedWord,
    strategies.text(strategies.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1),
    strategies.builds(Box, shares, shares, shares, shares),
)


@given(strategies.lists(words, max_size=30))
def test_what_is_packed_is_unpacked_to_within_less_than_a_pixel(page):
    found = unpack(pack(page))
    assert [word.text for word in found] == [word.text for word in page]
    for before, after in zip(page, found, strict=True):
        for side in Box.__slots__:
            assert getattr(after.box, side) == pytest.approx(getattr(before.box, side), abs=1e-5)


def test_a_full_page_takes_a_few_kilobytes():
    page = [
        PlacedWord(
            f"word{(row * column) % 997:x}",
            Box(0.1 + column * 0.08, row / 50, 0.17 + column * 0.08, row / 50 + 0.015),
        )
        for row in range(50)
        for column in range(10)
    ]
    assert len(pack(page)) < 3_000


def test_words_are_stored_with_their_document_and_gone_with_it(shelf):
    document = shelf.add("Herons wade.", doc_type="pdf", words={2: pack([WORD])})
    other = shelf.add("Otters swim.", doc_type="pdf", words={2: pack([WORD, WORD])})
    [found] = shelf.store.documents.placed_words(document, 2)
    assert found.text == "herons"
    assert shelf.store.documents.placed_words(document, 1) == []
    shelf.store.documents.delete(document)
    assert shelf.store.documents.placed_words(document, 2) == []
    assert len(shelf.store.documents.placed_words(other, 2)) == 2
    shelf.store.upkeep.clear()
    assert shelf.sql("SELECT count(*) FROM page_words") == [(0,)]


def test_a_passage_is_found_by_its_id_in_its_own_document_only(shelf):
    first, second = shelf.add("Herons wade.", "They fish."), shelf.add("Otters swim.")
    chunks = shelf.store.documents.get(first).chunks
    assert shelf.store.documents.passage(first, chunks[1].id) == "They fish."
    assert shelf.store.documents.passage(second, chunks[1].id) == ""
    assert shelf.store.documents.passage(first, 10**9) == ""
