"""The nouns of an import: an item, what was left out, and the reader of a source."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """One document to be taken in, whatever program it comes from: a note's text, or a file.

    `key` names it within its source: the same source gives the same keys at each run, and no key
    twice. By it a later run knows the document again. Times are as kb writes them: ISO 8601, UTC,
    microseconds, `Z`. `uid` and `record` (all else that was known) are there in kb's own form only.
    """

    key: str
    title: str
    text: str | None = None
    file: Path | None = None
    filename: str | None = None
    source_path: str | None = None
    tags: tuple[str, ...] = ()
    metadata: Json = field(default_factory=dict)
    created_at: str | None = None
    updated_at: str | None = None
    uid: str | None = None
    record: Json | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something of a source that is not taken in, and why, in words for whoever imports.

    `is_damage`: it should have been there, so the import has failed in this. `is_taken`: the
    document itself is taken, and only this is left out of it. `known_as` is the key of an item that
    may have been taken before and has nothing in it now.
    """

    key: str
    why: str
    is_damage: bool = False
    is_taken: bool = False
    known_as: str | None = None


Told = Callable[[Skipped], None]


class Unreadable(Exception):
    """A source that cannot be read at all; the message says why, and what to do."""


class Source(Protocol):
    """Reads what one program exports. `path` is a folder or a file; an archive (.zip) has been
    unpacked to a folder before, so a reader meets none."""

    name: str

    def recognises(self, path: Path) -> bool:
        """Whether this is such an export, by a look that costs little. Never raises."""

    def read(self, path: Path, told: Told) -> Iterator[Item]:
        """The items in a stable order; `told` hears of everything that is left out.

        Raises Unreadable where nothing can be had from it. It may be read twice in one run.
        """
