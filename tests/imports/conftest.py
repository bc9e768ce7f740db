"""What every reader's test does: read a source to its end, and hear what was left out."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kb.imports.item import Item, Skipped, Source

Read = Callable[[Source, Path], tuple[list[Item], dict[str, str]]]


@pytest.fixture(autouse=True)
def _in_utc(monkeypatch):
    """Times without a zone are the machine's; here it is nobody's."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def read() -> Read:
    """Items in order, and why what was left out was left out, by its key."""

    def read(source: Source, path: Path) -> tuple[list[Item], dict[str, str]]:
        told: list[Skipped] = []
        items = list(source.read(path, told.append))
        assert len({item.key for item in items}) == len(items)
        assert all((item.text is None) != (item.file is None) for item in items)
        assert all(item.title == item.title.strip() != "" for item in items)
        return items, {skipped.key: skipped.why for skipped in told}

    return read
