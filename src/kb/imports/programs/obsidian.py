"""Reads an Obsidian vault: notes and attachments.

A note is the file as it is: front matter, `[[links|and their names]]` and `![[embeds]]` are part of
its text. The tags and properties that Obsidian would show are added.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from kb.imports.fit import changed_after, metadata_of, one_line, tags_and_more, utc
from kb.imports.folder import Found, files_below, folder_at, read_text
from kb.imports.front_matter import FrontMatter, as_list, front_matter
from kb.imports.item import Item, Json, Skipped, Told

NOTE_ENDINGS = ("md", "markdown")
_TAGS = ("tags", "tag")
_ALIASES = ("aliases", "alias")
# The names that people and their plugins give to the two times; Obsidian itself has none.
_CREATED = ("created", "created_at", "date created", "date_created", "creation date", "date")
_UPDATED = (
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

    def read(self, path: Path, told: Told) -> Iterator[Item]:
        return notes_and_files(path, told, _note, "vault")


def _note(found: Found, text: str, vault: Path, told: Told) -> Item:
    head = properties_of(found, text, told)
    properties = {name.lower(): value for name, value in head.properties.items()}
    listed = [tag.strip("#[]\"'") for tag in _several(properties, _TAGS, split=" ")]
    tags, more_tags = tags_and_more(with_parents([*listed, *inline_tags(text[head.body :])]))
    more = {"aliases": _several(properties, _ALIASES), "more_tags": more_tags}
    rest = {
        name: value
        for name, value in head.properties.items()
        if name.lower() not in (*_TAGS, *_ALIASES, "title")
    }
    return item_of(found, properties, {**rest, **more, "vault": vault.name}, tags)


def properties_of(found: Found, text: str, told: Told) -> FrontMatter:
    head = front_matter(text)
    if head.problem:
        told(Skipped(found.name, f"of its properties: {head.problem}", is_taken=True))
    return head


def item_of(found: Found, properties: Json, metadata: Json, tags: tuple[str, ...] = ()) -> Item:
    """A file below the folder as it is, with the title and the times that its properties say."""
    created_at = _time_in(properties, _CREATED)
    return Item(
        key=str(found.path),
        title=one_line(properties.get("title") or "") or one_line(found.path.stem) or "Untitled",
        file=found.path,
        filename=found.path.name,
        source_path=str(found.path),
        tags=tags,
        metadata=metadata_of(metadata),
        created_at=created_at,
        updated_at=changed_after(created_at, _time_in(properties, _UPDATED) or found.modified),
    )


def _several(properties: Json, names: tuple[str, ...], split: str | None = None) -> list[str]:
    values = [str(value) for name in names for value in as_list(properties.get(name))]
    if split is None:
        return values
    return [part for value in values for part in value.split(split) if part]


def _time_in(properties: Json, names: tuple[str, ...]) -> str | None:
    return next(filter(None, (utc(properties.get(name)) for name in names)), None)


def notes_and_files(
    path: Path,
    told: Told,
    note: Callable[[Found, str, Path, Told], Item],
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
            yield item_of(found, {}, {called: folder.name})


_FENCE = re.compile(r"^[ >\t]*(`{3,}|~{3,})[^\n]*\n.*?(?:^[ >\t]*\1[`~]*[ \t]*$|\Z)", re.M | re.S)
_CODE = re.compile(r"(`+)(?!`)[^\n]{0,2000}?(?<!`)\1(?!`)")
_LINK = re.compile(r"\[\[[^\[\]\n]*\]\]|\]\([^()\n]*\)|<[a-z/!][^<>\n]*>", re.I)
_PAIRS = (("%%", "%%"), ("<!--", "-->"), ("$$", "$$"))  # comments of both kinds, and formulas
# What ends a tag: white space and punctuation but for - _ /, as Obsidian has it.
_TAG = re.compile(
    r"(?:^|(?<=[\s(]))#([^\u2000-\u206F\u2E00-\u2E7F'!\"#$%&()*+,.:;<=>?@^`{|}~\[\]\\\s]+)", re.M
)


def inline_tags(text: str) -> Iterator[str]:
    """Every tag in the text, outside code, comments, formulas and links."""
    if "#" not in text:
        return
    text = _FENCE.sub(" ", text)
    for opening, closing in _PAIRS:
        text = _without(text, opening, closing)
    text = _LINK.sub(" ", _CODE.sub(" ", text))
    for match in _TAG.finditer(text):
        tag = match[1].strip("/")
        if tag and not tag.replace("/", "").isdigit():
            yield tag


def _without(text: str, opening: str, closing: str) -> str:
    kept: list[str] = []
    at = 0
    while (start := text.find(opening, at)) >= 0:
        end = text.find(closing, start + len(opening))
        if end < 0:
            break
        kept.append(text[at:start])
        at = end + len(closing)
    return " ".join((*kept, text[at:]))


def with_parents(tags: list[str]) -> Iterator[str]:
    """A nested tag, `inbox/to-read`, is also one of `inbox`."""
    for tag in tags:
        parts = [part for part in tag.split("/") if part]
        yield from ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
