import stat
import zipfile
from pathlib import Path

import pytest

from kb.imports import archive
from kb.imports.archive import unpacked
from kb.imports.item import Unreadable


def zipped(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def test_an_archive_is_a_folder_for_as_long_as_it_is_read(tmp_path):
    path = zipped(tmp_path / "a.zip", {"a.md": b"one", "folder/b.md": b"two"})
    with unpacked(path) as folder:
        found = {
            file.relative_to(folder).as_posix(): file.read_bytes()
            for file in folder.rglob("*")
            if file.is_file()
        }
    assert found == {"a.md": b"one", "folder/b.md": b"two"}
    assert not folder.exists()


def test_names_in_utf_8_are_read_as_that_also_where_nothing_says_so(tmp_path):
    path = zipped(tmp_path / "a.zip", {"caXX.md": b"one", "coX.md": b"two"})
    unsaid = path.read_bytes().replace(b"caXX.md", "caé.md".encode())
    path.write_bytes(unsaid.replace(b"coX.md", b"co\x82.md"))  # as old systems write it
    with unpacked(path) as folder:
        assert (folder / "caé.md").read_bytes() == b"one"
        assert (folder / "coé.md").read_bytes() == b"two"


def test_what_is_no_archive_is_read_where_it_is(tmp_path):
    plain = tmp_path / "memory.jsonl"
    plain.write_text("{}")
    for path in (plain, tmp_path):
        with unpacked(path) as same:
            assert same == path


@pytest.mark.parametrize(
    "name", ["../outside.md", "/etc/outside.md", "a/../../outside.md", "..\\outside.md", "C:/a.md"]
)
def test_what_leads_out_of_the_folder_is_refused(tmp_path, name):
    path = zipped(tmp_path / "a.zip", {"fine.md": b"fine", name: b"not"})
    with pytest.raises(Unreadable, match=r"outside .*import the folder"), unpacked(path):
        pass


def test_a_link_in_an_archive_is_refused(tmp_path):
    link = zipfile.ZipInfo("link")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr(link, "/etc/passwd")
    with (
        pytest.raises(Unreadable, match=r"not a plain file: .*folder"),
        unpacked(tmp_path / "a.zip"),
    ):
        pass


def test_what_unpacks_to_far_more_than_it_is_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(archive, "_ALWAYS_ALLOWED", 10_000)
    path = zipped(tmp_path / "a.zip", {"bomb.md": bytes(5_000_000)})
    with pytest.raises(Unreadable, match="far more than it is"), unpacked(path):
        pass


def test_a_name_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a.md", "one")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a.md", "two")
    with pytest.raises(Unreadable, match=r"twice: .*folder"), unpacked(path):
        pass


@pytest.mark.parametrize(
    "spoil", [lambda data: data[:40] + bytes(20) + data[60:], lambda data: data[:60]]
)
def test_an_archive_that_is_damaged_or_cut_says_so(tmp_path, spoil):
    path = zipped(tmp_path / "a.zip", {"a.md": b"some text " * 1000})
    path.write_bytes(spoil(path.read_bytes()))
    with pytest.raises(Unreadable, match=r"damaged or cut .*pack it again"), unpacked(path):
        pass


def test_an_archive_that_finds_no_room_for_its_names_is_said_to_be_one(tmp_path):
    path = zipped(tmp_path / "a.zip", {"x" * 300 + ".md": b"one"})
    with (
        pytest.raises(Unreadable, match=r"cannot be unpacked to .*: File name too long"),
        unpacked(path),
    ):
        pass
