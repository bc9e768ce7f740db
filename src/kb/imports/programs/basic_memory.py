"""Reads a basic-memory folder: notes with their observations and relations.

A note is the file as it is. `- [category] text #tag (context)` and `- relation [[Target]]` stay
part of its text; their tags, categories and relations are also kept as metadata.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from kb.imports.fit import tags_and_more
from kb.imports.folder import Found, files_near
from kb.imports.front_matter import as_list, front_matter
from kb.imports.item import Item, Json, Told
from kb.imports.programs.obsidian import NOTE_ENDINGS, item_of, notes_and_files, properties_of

_ITS_OWN = {"title", "type", "permalink"}
_LOOKED_AT = 20  # files, to know such a folder
_HEAD = 10_000  # bytes of each of them

_LIST_ITEM = re.compile(r"^[ \t]*[-*+][ \t]+(\S.*)$", re.M)
_CATEGORY = re.compile(r"\[([^\[\]()]+)\][ \t]+\S")
_NO_CATEGORY = re.compile(r"\W?|[xX]|[\d:.,\s-]*:[\d:.,\s-]*")  # a task's box, a time
_RELATION = re.compile(r"(\"[^\"]+\"|'[^']+'|[^\s\[]+)[ \t]+\[\[([^\]]+)\]\][ \t]*(\(.*\))?$")
_LINK = re.compile(r"\[\[([^\[\]\n]{1,500})\]\]")
_CODE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.M | re.S)


class BasicMemory:
    name = "basic-memory"

    def recognises(self, path: Path) -> bool:
        """By what most of its notes contain: a title, a type and a permalink."""
        if not os.path.isdir(path):
            return False
        notes = (file for file in files_near(path) if file.suffix[1:].lower() in NOTE_ENDINGS)
        looked_at = [_head_of(file) for file in islice(notes, _LOOKED_AT)]
        return 2 * sum(map(_ITS_OWN.issubset, looked_at)) > len(looked_at)

    def read(self, path: Path, told: Told) -> Iterator[Item]:
        return notes_and_files(path, told, _note, "project")


def _head_of(path: Path) -> set[str]:
    try:
        with path.open("rb") as file:
            text = file.read(_HEAD).decode("utf-8-sig", errors="replace")
    except OSError:
        return set()
    return set(front_matter(text).properties)


def _note(found: Found, text: str, project: Path, told: Told) -> Item:
    head = properties_of(found, text, told)
    properties = head.properties
    listed = [str(tag).strip("#[]\"'") for tag in as_list(properties.get("tags"))]
    semantics = _semantics(text[head.body :])
    tags, semantics["more_tags"] = tags_and_more([*listed, *semantics.pop("tags")])
    rest = {name: value for name, value in properties.items() if name not in ("title", "tags")}
    return item_of(found, properties, {**rest, "project": project.name, **semantics}, tags)


def _semantics(text: str) -> Json:
    """The tags of the observations, how many there are of each category, and the relations."""
    text = _CODE.sub("", text)
    categories: Counter[str] = Counter()
    tags: list[str] = []
    relations: list[dict[str, str]] = []
    linked: set[str] = set()
    for match in _LIST_ITEM.finditer(text):
        line = match[1].strip()
        relation = _RELATION.match(line)
        category = _CATEGORY.match(line)
        if relation:
            linked.add(relation[2].strip())
            relations.append({"type": relation[1].strip("\"'"), "target": relation[2].strip()})
        elif category and not _NO_CATEGORY.fullmatch(category[1].strip()):
            categories[category[1].strip()] += 1
            tags += [tag for word in line.split() if word[0] == "#" for tag in word.split("#")]
    for link in _LINK.finditer(text):
        if link[1].strip() not in linked:
            linked.add(link[1].strip())
            relations.append({"type": "links_to", "target": link[1].strip()})
    return {"tags": tags, "observations": dict(categories), "relations": relations}
