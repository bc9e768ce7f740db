"""Reads an Obsidian vault: notes and attachments.

A note is the file as it lies there: front matter, `[[links|and their names]]` and `![[embeds]]` are
part of its text. Beside it go the tags and properties that Obsidian would show.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kb.imports.fit import changed_after, metadata_of, one_line, tags_and_more, utc
from kb.imports.folder import Found, files_below, folder_at, read_text
from kb.imports.front_matter import as_list, front_matter
from kb.imports.item import Item, Skipped
from kb.imports.markdown import inline_tags, with_parents

NOTE_ENDINGS = ("md", "markdown")
_TAGS = ("tags", "tag")
_ALIASES = ("aliases", "alias")
# The names that people and their plugins give to the two times; Obsidian itself has none.
CREATED = ("created", "created_at", "date created", "date_created", "creation date", "date")
UPDATED = (
    "updated",
    "modified",
    "updated_at",
    "last_modified",
    "date modified",
    "date_modified",
    "date updated",
    "last updated",
)


class Obsidian:
    name = "obsidian"

    def recognises(self, path: Path) -> bool:
        return os.path.isdir(path / ".obsidian")

    def read(self, path: Path, told: Callable[[Skipped], None]) -> Iterator[Item]:
        return notes_and_files(path, told, _note, "vault")


def _note(found: Found, text: str, vault: Path, told: Callable[[Skipped], None]) -> Item:
    head = front_matter(text)
    if head.problem:
        told(Skipped(found.name, f"of its properties: {head.problem}", is_taken=True))
    properties = {name.lower(): value for name, value in head.properties.items()}
    listed = [tag.strip("#[]\"'") for tag in _several(properties, _TAGS, split=" ")]
    created_at = time_in(properties, CREATED)
    tags, more_tags = tags_and_more(with_parents([*listed, *inline_tags(text[head.body :])]))
    more = {"aliases": _several(properties, _ALIASES), "more_tags": more_tags}
    rest = {
        name: value
        for name, value in head.properties.items()
        if name.lower() not in (*_TAGS, *_ALIASES, "title")
    }
    return Item(
        key=str(found.path),
        title=one_line(properties.get("title") or "") or one_line(found.path.stem) or "Untitled",
        file=found.path,
        filename=found.path.name,
        source_path=str(found.path),
        tags=tags,
        metadata=metadata_of({**rest, **more, "vault": vault.name}),
        created_at=created_at,
        updated_at=changed_after(created_at, time_in(properties, UPDATED) or found.modified),
    )


def _several(
    properties: dict[str, Any], names: tuple[str, ...], split: str | None = None
) -> list[str]:
    values = [str(value) for name in names for value in as_list(properties.get(name))]
    if split is None:
        return values
    return [part for value in values for part in value.split(split) if part]


def time_in(properties: dict[str, Any], names: tuple[str, ...]) -> str | None:
    return next(filter(None, (utc(properties.get(name)) for name in names)), None)


def notes_and_files(
    path: Path,
    told: Callable[[Skipped], None],
    note: Callable[[Found, str, Path, Callable[[Skipped], None]], Item],
    called: str,
) -> Iterator[Item]:
    """What is in a folder of notes. `called` is what its program calls such a folder."""
    folder = folder_at(path)
    for found in files_below(folder, told):
        if found.ending in NOTE_ENDINGS:
            text = read_text(found, told)
            if text is not None:
                yield note(found, text, folder, told)
        else:
            yield _attachment(found, {called: folder.name})


def _attachment(found: Found, metadata: dict[str, Any]) -> Item:
    """A file beside the notes, as it is; kb reads it like any other."""
    return Item(
        key=str(found.path),
        title=one_line(found.path.stem) or "Untitled",
        file=found.path,
        filename=found.path.name,
        source_path=str(found.path),
        metadata=metadata_of(metadata),
        updated_at=found.modified,
    )
