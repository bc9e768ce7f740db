"""Sweeping: one engine of a store at a time, and none that is gone keeps the others from it."""

import pytest

from kb.engine.store.sweeping import SWEEP_SECONDS


@pytest.fixture
def other(open_store, store):
    """Another engine of the same store."""
    return open_store(name="other")


def may_sweep(store):
    with store.sweeping.turn() as is_ours:
        return is_ours()


def test_a_turn_ends_with_its_block(store, other):
    with store.sweeping.turn() as is_ours:
        assert is_ours()
        assert not may_sweep(other)
    assert may_sweep(other)
    assert may_sweep(store)


def test_a_block_that_fails_ends_its_turn(store, other):
    def fail():
        with store.sweeping.turn() as is_ours:
            assert is_ours()
            raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        fail()
    assert may_sweep(other)


def test_who_asks_before_each_step_keeps_its_turn(store, other, clock):
    with store.sweeping.turn() as is_ours:
        for _ in range(10):
            assert is_ours()
            clock.go_on(SWEEP_SECONDS / 2)
            assert not may_sweep(other)


def test_who_has_lost_its_turn_leaves_that_of_the_other_alone(store, other, clock):
    with store.sweeping.turn() as is_ours:
        assert is_ours()
        clock.go_on(SWEEP_SECONDS)
        with other.sweeping.turn() as is_theirs:
            assert is_theirs()
            assert not is_ours()
            assert not may_sweep(store)
            assert is_theirs()


def test_one_that_was_overtaken_ends_without_taking_the_turn_of_the_other(
    store, other, open_store, clock
):
    third = open_store(name="third")
    with other.sweeping.turn() as is_theirs:
        with store.sweeping.turn() as is_ours:
            assert is_ours()
            clock.go_on(SWEEP_SECONDS)
            assert is_theirs()
        assert not may_sweep(third)
        assert is_theirs()
    assert may_sweep(third)


def test_an_engine_that_starts_again_goes_on_at_once(store, other, open_store):
    with store.sweeping.turn() as is_ours:  # which a kill would not have left
        assert is_ours()
        assert not may_sweep(other)
        assert may_sweep(open_store())
