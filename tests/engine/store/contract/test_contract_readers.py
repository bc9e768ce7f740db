"""Readers of the change log: each engine of a store sees every change, however late it looks."""

import pytest
from kinds_of_stores import Made

from kb.engine.store.search.change_log import GONE_SECONDS


@pytest.fixture
def late(open_store, store):
    """Another engine of the same store, which was there before any change and has said so."""
    late = open_store(name="late")
    late.upkeep.tidy()
    return late


def change_much(store, made):
    """Two documents that stay, and one between them that goes."""
    made.document("otters swim")
    gone = made.document("herons wade")
    made.document("newts rest")
    store.documents.delete(gone.id)


def seen(store):
    """What an engine finds, by words and by vectors."""
    found = Made(store)
    by_word = [found.by_word(word) for word in ("otter", "newt", "heron")]
    return by_word, sorted(found.nearest("herons wade", limit=5))


SEEN = [["otters swim"], ["newts rest"], []], ["newts rest", "otters swim"]


def test_what_one_engine_writes_every_other_sees(store, late, made):
    change_much(store, made)
    assert seen(store) == SEEN
    assert seen(late) == SEEN


def test_changes_are_kept_until_the_slowest_reader_has_seen_them(store, late, made):
    change_much(store, made)
    assert store.upkeep.tidy() == 0
    assert late.upkeep.tidy() > 0
    assert seen(late) == SEEN
    assert seen(store) == SEEN


def test_who_is_alone_forgets_what_it_has_seen(store, made):
    change_much(store, made)
    assert store.upkeep.tidy() > 0
    assert store.upkeep.tidy() == 0
    assert seen(store) == SEEN


def test_an_engine_that_starts_again_is_the_same_reader(store, made, open_store):
    store.upkeep.tidy()
    store.close()
    again = open_store()
    change_much(again, Made(again))
    assert again.upkeep.tidy() > 0


def test_a_reader_that_is_gone_for_long_is_waited_for_no_more(store, late, made, clock):
    change_much(store, made)
    clock.go_on(GONE_SECONDS - 1)
    assert store.upkeep.tidy() == 0
    clock.go_on(1)
    assert store.upkeep.tidy() > 0


def test_one_that_has_nothing_new_to_see_is_not_gone(store, late, made, clock):
    for _ in range(4):
        clock.go_on(GONE_SECONDS / 4)
        late.upkeep.tidy()
    change_much(store, made)
    assert store.upkeep.tidy() == 0


@pytest.mark.parametrize("more", [False, True], ids=["nothing since", "changes since"])
def test_one_that_comes_back_after_it_was_given_up_sees_everything(store, late, made, clock, more):
    vole = made.document("voles hide")
    assert Made(late).nearest("voles hide") == ["voles hide"]
    store.documents.delete(vole.id)
    change_much(store, made)
    clock.go_on(GONE_SECONDS)
    assert store.upkeep.tidy() > 0
    if more:
        made.document("foxes run")
        store.documents.delete(made.document("owls fly").id)
    expected = ["foxes run"] if more else []
    found = Made(late)
    assert found.by_word("fox") == expected
    assert found.by_word("otter") == found.nearest("otters swim") == ["otters swim"]
    everything = {"otters swim", "newts rest", *expected}
    assert set(found.nearest("voles hide", limit=9)) == everything
