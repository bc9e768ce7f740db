from collections.abc import Iterator
from pathlib import Path

import pytest

from kb.imports.item import Item, Unreadable
from kb.imports.sources import source_for


class Diary:
    def __init__(self, name: str, ending: str) -> None:
        self.name = name
        self._ending = ending

    def recognises(self, path: Path) -> bool:
        return path.suffix == self._ending

    def read(self, path: Path, told: object) -> Iterator[Item]:
        yield Item("1", path.name, text="dear diary")


ONE, OTHER = Diary("diary", ".diary"), Diary("other", ".other")


def test_a_source_is_found_by_what_it_recognises_or_by_its_name():
    assert source_for(Path("a.other"), None, [ONE, OTHER]) is OTHER
    assert source_for(Path("a.diary"), "other", [ONE, OTHER]) is OTHER


def test_what_nobody_recognises_names_those_there_are():
    with pytest.raises(Unreadable, match=r"--from \(diary, other\)"):
        source_for(Path("a.txt"), None, [ONE, OTHER])
    with pytest.raises(Unreadable, match="no source called nothing; known are: diary, other"):
        source_for(Path("a.diary"), "nothing", [ONE, OTHER])
