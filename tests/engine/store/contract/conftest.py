"""What every store has to do, whatever it is built on: it comes from a fixture, and these tests
speak to its public methods alone."""

from datetime import UTC, datetime, timedelta

import pytest
from kinds_of_stores import KINDS, Made


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def open_store(kind, tmp_path, clock):
    """To open the store of this test, also a second time, as an engine of another name."""
    opened = []

    def open_(**settings):
        store = KINDS[kind](tmp_path, clock=clock, **settings)
        opened.append(store)
        store.models.load_vectors()
        return store

    yield open_
    for store in opened:
        store.close()


@pytest.fixture
def store(open_store):
    return open_store()


@pytest.fixture
def made(store):
    """What tests put into the store of this test, and find there again."""
    return Made(store)


class Clock:
    """Stands still until it is told to go on. Who reads it can be held up `before_it_tells`."""

    def __init__(self):
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.before_it_tells = lambda: None

    def __call__(self):
        self.before_it_tells()
        return self.time

    def go_on(self, seconds):
        self.time += timedelta(seconds=seconds)


@pytest.fixture
def clock():
    return Clock()
