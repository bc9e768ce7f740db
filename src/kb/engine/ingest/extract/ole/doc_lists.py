"""Numbers the list items of a Word file."""

import struct
from dataclasses import dataclass, field

from kb.engine.ingest.extract.counting import counted
from kb.engine.ingest.extract.ole.doc_file import WordFile

_KINDS = {
    1: "upperRoman",
    2: "lowerRoman",
    3: "upperLetter",
    4: "lowerLetter",
    5: "ordinal",
    22: "decimalZero",
}
_BULLET, _NOTHING = 23, 255
_LEVELS = 9
_MOST_LISTS = 20_000
_LISTS, _USES = 73, 74


@dataclass(frozen=True, slots=True)
class _Level:
    start: int = 1
    kind: int = 0
    text: str = ""


@dataclass
class _Use:
    """How paragraphs refer to a list; some of its levels may count from elsewhere, or otherwise."""

    list_id: int
    starts: dict[int, int] = field(default_factory=dict)
    levels: dict[int, _Level] = field(default_factory=dict)
    begun: bool = False


class Lists:
    def __init__(self, file: WordFile) -> None:
        self._levels: dict[int, list[_Level]] = {}
        self._uses: list[_Use] = []
        self._counts: dict[int, list[int | None]] = {}
        if not file.is_old:
            try:
                self._read_lists(file.structure(_LISTS), file.behind(_LISTS))
                self._read_uses(file.structure(_USES))
            except (struct.error, IndexError):  # the items stay, with hyphens before them
                self._uses = []

    def mark(self, number: int, level: int) -> str | None:
        """The label of the next item; None for a paragraph that is not an item."""
        if number <= 0:
            return None
        use = self._uses[number - 1] if number <= len(self._uses) else _Use(0)
        levels = self._levels.get(use.list_id, [])
        levels = [use.levels.get(which, shared) for which, shared in enumerate(levels)]
        if level >= len(levels):
            return "-"
        counts = self._counts.setdefault(use.list_id, [None] * _LEVELS)
        if not use.begun:
            use.begun = True
            for which, start in use.starts.items():
                counts[which] = start - 1
        before = counts[level]
        counts[level] = levels[level].start if before is None else before + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if levels[level].kind in (_BULLET, _NOTHING):
            return "-"
        return self._written(levels, counts, level)

    def _written(self, levels: list[_Level], counts: list[int | None], level: int) -> str:
        pieces = []
        for character in levels[level].text:
            which = ord(character)
            if which < len(levels):
                count = counts[which]
                number = levels[which].start if count is None else count
                pieces.append(counted(number, _KINDS.get(levels[which].kind, "decimal")))
            else:
                pieces.append(character)
        return "".join(pieces).strip() or "-"

    def _read_lists(self, structure: bytes, behind: bytes) -> None:
        if len(structure) < 2:
            return
        count = struct.unpack_from("<h", structure)[0]
        at = 0
        # The levels of all lists come behind, list by list.
        for number in range(min(count, _MOST_LISTS)):
            list_id = struct.unpack_from("<i", structure, 2 + 28 * number)[0]
            is_simple = structure[2 + 28 * number + 26] & 1
            levels = []
            for _ in range(1 if is_simple else _LEVELS):
                level, at = _level(behind, at)
                levels.append(level)
            self._levels[list_id] = levels

    def _read_uses(self, structure: bytes) -> None:
        if len(structure) < 4:
            return
        count = min(struct.unpack_from("<I", structure)[0], _MOST_LISTS)
        changes = []
        for number in range(count):
            at = 4 + 16 * number
            self._uses.append(_Use(struct.unpack_from("<i", structure, at)[0]))
            changes.append(structure[at + 12])
        at = 4 + 16 * count
        for use, changed in zip(self._uses, changes, strict=True):
            at += 4
            for _ in range(changed):
                start, flags = struct.unpack_from("<iI", structure, at)
                at += 8
                if flags & 0x20:  # a level of its own
                    level, at = _level(structure, at)
                    use.levels[flags & 0xF] = level
                    start = level.start
                if flags & 0x10 and flags & 0xF < _LEVELS:
                    use.starts[flags & 0xF] = start


def _level(data: bytes, at: int) -> tuple[_Level, int]:
    start, kind = struct.unpack_from("<iB", data, at)
    characters, paragraph = data[at + 24], data[at + 25]
    at += 28 + characters + paragraph
    length = struct.unpack_from("<H", data, at)[0]
    text = data[at + 2 : at + 2 + 2 * length].decode("utf-16-le", "replace")
    return _Level(start, kind, text), at + 2 + 2 * length
