"""Reads an export of Notion: pages, tables and attachments.

Notion adds the id of a page to its title in the file name, and puts the pages below it into a
folder of that name. A page is recognised later by its id; the titles are its path. A page is
imported as exported, Markdown or HTML; its properties become metadata.
"""

import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

from kb.imports.export_files import distinct, export_files
from kb.imports.fit import LONGEST_PATH, changed_after, metadata_of, one_line, tag_list, utc
from kb.imports.folder import Found, files_near, read_text
from kb.imports.item import Item, Json, Skipped, Told, Unreadable
from kb.imports.programs.notion_page import Page, html_page, markdown_page

_ARCHIVES = re.compile(r".*(?:Export(?:Block)?-[0-9a-f-]{36}.*|Part-\d+)\.zip", re.I)
_WRAPPER = re.compile(r"Export(?:Block)?-[0-9a-f-]{36}", re.I)
_NAMED = re.compile(r"(?:(.*?)[ -])?([0-9a-f]{32})(_all)?")
_PAGE = re.compile(r".*[0-9a-f]{32}(?:_all)?\.(?:md|html|csv)")
_CREATED = ("created", "created time", "created at", "date created")
_UPDATED = ("last edited", "last edited time", "last updated", "updated", "edited", "modified")
_TIMES = ("%B %d, %Y %I:%M %p", "%B %d, %Y", "%Y/%m/%d %H:%M", "%Y/%m/%d")


class Notion:
    name = "notion"

    def recognises(self, path: Path) -> bool:
        return any(_PAGE.fullmatch(name) for name in _some_names(path))

    def read(self, path: Path, told: Told) -> Iterator[Item]:
        files = export_files(path, _ARCHIVES, told)
        if not files:
            raise Unreadable(f"{path} holds no files")
        yield from distinct(_items(files, told), told)


def _some_names(path: Path) -> Iterator[str]:
    """The names of the files, also of those in archives within, as far as a look goes."""
    for file in files_near(path) if os.path.isdir(path) else ():
        yield file.name
        if _ARCHIVES.fullmatch(file.name):
            with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(file) as archive:
                yield from archive.namelist()


@dataclass(frozen=True, slots=True)
class _Place:
    """What a file's name says: the titles of the pages above it, its own, and its page's id."""

    above: tuple[str, ...]
    title: str
    id: str | None
    below: str  # the nearest page above with an id, and the way from there: an attachment's key
    is_whole_table: bool = False

    @property
    def path(self) -> str:
        return "/".join((*self.above, self.title))


def _place(found: Found) -> _Place:
    *folders, name = found.name.split("/")
    if folders and _WRAPPER.fullmatch(folders[0]):
        folders = folders[1:]
    named = [_NAMED.fullmatch(folder) for folder in folders]
    titles = [match[1] or "" if match else name for match, name in zip(named, folders, strict=True)]
    last = max((at for at, match in enumerate(named) if match), default=-1)
    nearest = named[last] if last >= 0 else None
    stem = name.removesuffix(found.path.suffix)
    own = _NAMED.fullmatch(stem)
    return _Place(
        above=tuple(one_line(title, 200) for title in titles if title.strip()),
        title=one_line(unquote((own[1] or "") if own else stem)) or "Untitled",
        id=own[2] if own else None,
        below="/".join((nearest[2] if nearest else "path", *folders[last + 1 :], name)),
        is_whole_table=bool(own and own[3]),
    )


def _items(files: list[Found], told: Told) -> Iterator[Item]:
    places = {file.name: _place(file) for file in files}
    whole = {place.id for place in places.values() if place.is_whole_table}
    for file in files:
        place = places[file.name]
        if file.ending in ("md", "html"):
            if file.path.name == "index.html" and place.id is None:
                told(Skipped(file.name, "the contents of the export"))
            else:
                yield from _page(file, place, told)
        elif file.ending == "csv" and place.id in whole and not place.is_whole_table:
            told(Skipped(file.name, "a view of a table that is in the export as a whole"))
        else:
            yield _file(file, place)


def _page(file: Found, place: _Place, told: Told) -> Iterator[Item]:
    text = read_text(file, told)
    if text is None:
        return
    page = html_page(text) if file.ending == "html" else markdown_page(text)
    created_at = _time(page, _CREATED)
    title = page.title or place.title
    yield Item(
        key=place.id or place.below,
        title=one_line(title),
        file=file.path,
        filename=f"{_filename(place.title)}.{file.ending}",
        source_path=_source_path(place, file.ending),
        tags=tag_list(page.tags),
        metadata=metadata_of({**page.properties, **_about(place)}),
        created_at=created_at,
        updated_at=changed_after(created_at, _time(page, _UPDATED)),
    )


def _file(file: Found, place: _Place) -> Item:
    """A table, or something that is attached to a page."""
    inner = f"{place.title}.{file.ending}" if file.ending else place.title
    key = f"{place.id}/table" if place.id else place.below
    return Item(
        key=key,
        title=place.title,
        file=file.path,
        filename=_filename(inner),
        source_path=_source_path(place, file.ending),
        metadata=metadata_of(_about(place)),
    )


def _about(place: _Place) -> Json:
    address = f"https://www.notion.so/{place.id}" if place.id else None
    return {"notion_path": "/".join(place.above) or None, "notion_url": address}


def _source_path(place: _Place, ending: str) -> str:
    return one_line(f"notion/{place.path}", LONGEST_PATH - 20) + (f".{ending}" if ending else "")


def _filename(name: str) -> str:
    return one_line(name.replace("/", "-"), 200) or "Untitled"


def _time(page: Page, names: tuple[str, ...]) -> str | None:
    for name, value in page.properties.items():
        if name.strip().lower() in names and isinstance(value, str):
            found = utc(value) or next(filter(None, (_read(value, form) for form in _TIMES)), None)
            if found:
                return found
    return None


def _read(value: str, form: str) -> str | None:
    try:
        moment = datetime.strptime(value.strip().lstrip("@"), form)
    except ValueError:
        return None
    return utc(moment.date().isoformat() if "H" not in form and "I" not in form else str(moment))
