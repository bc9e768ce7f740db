"""The folder of originals: whole and durable, or not there at all."""

import errno
import io
import os
import stat
from types import SimpleNamespace

import pytest
from raising import raising

from kb.engine.data_folder.originals import FileStore, naming_trouble
from kb.engine.errors import FilesInaccessible, FileTooLarge, StorageFailed, StorageFull


@pytest.fixture
def files(tmp_path):
    return FileStore(tmp_path / "originals", max_bytes=3 * 2**20)


def test_saved_bytes_come_back_with_their_size_and_hash(files):
    content = os.urandom(2 * 2**20 + 5)
    stored = files.save(io.BytesIO(content), "a.bin")
    assert files.path(stored.name).read_bytes() == content
    assert stored.size == len(content)
    assert len(stored.sha256) == 64
    assert stat.S_IMODE(files.path(stored.name).stat().st_mode) == 0o600
    assert stat.S_IMODE(files.folder.stat().st_mode) == 0o700


def test_a_file_of_exactly_the_limit_is_taken_and_one_byte_more_is_not(files):
    assert files.save(io.BytesIO(bytes(3 * 2**20)), "fits").size == 3 * 2**20
    with pytest.raises(FileTooLarge, match=r"too-big.*3 MB") as caught:
        files.save(io.BytesIO(bytes(3 * 2**20 + 1)), "too-big")
    assert caught.value.details == {"max_size_mb": 3}
    assert len(list(files.folder.iterdir())) == 1


@pytest.mark.parametrize(
    ("number", "error", "told"),
    [
        (errno.ENOSPC, StorageFull, None),
        (errno.EDQUOT, StorageFull, None),
        (errno.EIO, StorageFailed, "Input/output"),
    ],
)
def test_a_disk_that_fails_says_why_and_leaves_nothing(files, monkeypatch, number, error, told):
    monkeypatch.setattr(os, "fsync", raising(OSError(number, os.strerror(number))))
    with pytest.raises(error, match=told):
        files.save(io.BytesIO(b"bytes"), "a.txt")
    assert list(files.folder.iterdir()) == []


def test_the_bytes_and_then_the_name_are_on_disk_before_a_file_is_acknowledged(files, monkeypatch):
    fsync, synced = os.fsync, []

    def recording(descriptor):
        fsync(descriptor)
        named = sorted(path.name[:1] == "." for path in files.folder.iterdir())
        synced.append((stat.S_ISDIR(os.fstat(descriptor).st_mode), named))

    monkeypatch.setattr(os, "fsync", recording)
    files.save(io.BytesIO(b"bytes"), "a.txt")
    assert synced == [(False, [True]), (True, [False])]


@pytest.mark.parametrize(
    ("number", "named"),
    [
        (errno.ENOSPC, StorageFull),
        (errno.EDQUOT, StorageFull),
        (errno.EIO, StorageFailed),
        (errno.ESTALE, StorageFailed),
        (errno.EROFS, FilesInaccessible),
        (errno.EACCES, FilesInaccessible),
        (errno.ENOENT, FilesInaccessible),
    ],
)
def test_each_trouble_of_the_disk_has_its_own_name(number, named):
    with pytest.raises(named) as raised, naming_trouble("store-files"):
        raise OSError(number, os.strerror(number))
    if named is not StorageFull:
        assert os.strerror(number) in raised.value.message


def test_a_disk_that_takes_only_a_part_of_a_write_loses_no_byte(files, monkeypatch):
    """A write may stop short, for instance where the disk is nearly full."""
    fdopen = os.fdopen

    class Stingy(io.RawIOBase):
        def __init__(self, descriptor):
            self._file = fdopen(descriptor, "wb", buffering=0)

        def writable(self):
            return True

        def fileno(self):
            return self._file.fileno()

        def write(self, block):
            return self._file.write(bytes(block)[:1000])

        def close(self):
            self._file.close()
            super().close()

    def stingy(descriptor, mode, buffering=-1):
        raw = Stingy(descriptor)
        return raw if buffering == 0 else io.BufferedWriter(raw)

    monkeypatch.setattr(os, "fdopen", stingy)
    content = os.urandom(100_000)
    stored = files.save(io.BytesIO(content), "a.bin")
    assert files.path(stored.name).read_bytes() == content


def test_an_upload_that_breaks_off_leaves_nothing(files):
    broken = SimpleNamespace(read=raising(ConnectionError("gone")))
    with pytest.raises(ConnectionError):
        files.save(broken, "a.txt")
    assert list(files.folder.iterdir()) == []


def test_deleting_what_is_gone_already_is_fine(files):
    stored = files.save(io.BytesIO(b"bytes"), "a.txt")
    files.delete([stored.name, stored.name, None, "never-there"])
    assert list(files.folder.iterdir()) == []


def test_what_is_deleted_while_files_are_held_goes_when_the_last_holder_lets_go(tmp_path):
    told = []
    files = FileStore(tmp_path / "originals", 2**20, deleted=told.append)
    first, second = (files.save(io.BytesIO(b"bytes"), "a.txt").name for _ in range(2))
    with files.holding():
        with files.holding():
            files.delete([first])
        files.delete([second])
        assert files.path(first).read_bytes() == files.path(second).read_bytes() == b"bytes"
        assert told == []
    assert list(files.folder.iterdir()) == []
    assert told == [first, second]
    third = files.save(io.BytesIO(b"bytes"), "a.txt").name
    files.delete([third])
    assert list(files.folder.iterdir()) == []


def test_files_are_let_go_where_the_holder_fails(files):
    name = files.save(io.BytesIO(b"bytes"), "a.txt").name

    def fail():
        with files.holding():
            files.delete([name])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(files.folder.iterdir()) == []


def test_an_adopted_file_stays_where_it_was(files, tmp_path):
    original = tmp_path / "original.txt"
    original.write_bytes(b"bytes")
    name = files.adopt(original)
    files.delete([name])
    assert original.read_bytes() == b"bytes"
