"""The reserve: really there, made only where there is room, given up but for a little."""

import errno
import os
import shutil
from types import SimpleNamespace

import pytest
from raising import raising

from kb.engine.errors import StorageFailed, StorageFull
from kb.engine.store.file.reserve import Reserve

SIZE = 4 * 2**20


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store-reserve"


@pytest.fixture
def free(monkeypatch):
    """Says how much the disk has left."""

    def say(count):
        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=count))

    return say


def test_it_takes_room_on_the_disk_and_not_only_a_size(path):
    assert Reserve(path, SIZE).make()
    about = path.stat()
    assert about.st_size == SIZE
    assert about.st_blocks * 512 >= SIZE
    assert about.st_mode & 0o777 == 0o600


def test_it_is_made_only_where_some_more_is_free_than_it_needs(path, free):
    reserve = Reserve(path, SIZE)
    free(SIZE + 2**20 - 1)
    assert isinstance(reserve.refusal(), StorageFull)
    assert not path.exists()
    free(SIZE + 2**20)
    assert reserve.refusal() is None
    assert reserve.bytes == SIZE


def test_a_little_stays_for_the_next_start_which_takes_that_too(path, free):
    reserve = Reserve(path, SIZE)
    reserve.make()
    free(0)
    while reserve.give_up():
        assert reserve.lacking
    assert 0 < path.stat().st_size < SIZE // 4
    assert reserve.is_used_up
    reserve.give_up_everything()
    assert not path.exists()
    assert reserve.bytes == 0


def test_it_is_given_up_in_parts_and_these_are_taken_again(path, free):
    reserve = Reserve(path, SIZE)
    reserve.make()
    free(0)
    assert reserve.give_up()
    assert reserve.bytes == path.stat().st_size == SIZE - 2**20
    assert not reserve.make()
    free(2**19)
    assert not reserve.make()
    assert reserve.bytes == path.stat().st_size == SIZE - 2**19
    free(2**20)  # of what was never its own it takes nothing
    assert not reserve.make()
    assert SIZE - 2**17 < reserve.bytes < SIZE
    assert reserve.refusal() is not None
    free(2**21)
    assert reserve.make()
    assert reserve.bytes == path.stat().st_size == SIZE


def test_what_an_earlier_run_left_counts_if_it_has_no_holes(path):
    Reserve(path, SIZE).make()
    assert not Reserve(path, SIZE).lacking
    path.unlink()
    with path.open("wb") as file:
        file.truncate(SIZE)
    assert Reserve(path, SIZE).lacking


def test_a_smaller_one_is_cut_and_none_is_deleted(path):
    Reserve(path, SIZE).make()
    assert Reserve(path, SIZE // 2).bytes == SIZE // 2 == path.stat().st_size
    assert Reserve(path, 0).bytes == 0
    assert not path.exists()


def test_a_disk_that_fails_is_not_called_full(path, monkeypatch):
    monkeypatch.setattr(os, "posix_fallocate", raising(OSError(errno.EIO, "Input/output error")))
    refusal = Reserve(path, SIZE).refusal()
    assert isinstance(refusal, StorageFailed)
    assert "Input/output error" in refusal.message
