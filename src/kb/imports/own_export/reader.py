"""Reads kb's own export: documents with everything about them.

A person may have edited it: a note's text and head and a file's bytes count as they are. Earlier
passages and texts are dropped if they no longer fit.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, Self

from kb.imports.fit import metadata_of, one_line, tag_list
from kb.imports.front_matter import as_list, front_matter
from kb.imports.item import Item, Json, Skipped, Told, Unreadable
from kb.imports.own_export import form
from kb.imports.own_export.original import hash_of_original
from kb.imports.own_export.record import trouble_in

_LONGEST_LINE = 256 * 2**20
_LARGEST_NOTE = 16 * 2**20
_SMALL = 64 * 2**10
_CHANGEABLE = ("title", "tags", "metadata")  # in the head of a note


class KbExport:
    """What `kb export` wrote."""

    name = "kb"

    def recognises(self, path: Path) -> bool:
        root = _root(path)
        return root is not None and (_about(root) is not None or (root / form.DOCUMENTS).is_file())

    def read(self, path: Path, told: Told) -> Iterator[Item]:
        root = _root(path)
        about = None if root is None else _about(root)
        if root is None or about is None:
            raise Unreadable(
                f"{path} has no {form.ABOUT}: the export was not finished, or this is not all of it"
            )
        if about.get("version") != form.VERSION:
            raise Unreadable(
                f"{path} was exported by another version of kb (form {about.get('version')}, this "
                f"one knows {form.VERSION}): use the newer kb"
            )
        if not (
            isinstance(about.get("numbering"), str) and isinstance(about.get("last_ids"), dict)
        ):
            raise Unreadable(f"{path}: its {form.ABOUT} is damaged; copy or make the export again")
        yield from _Reading(root.resolve(), about, told).items()


class _Reading:
    """One time through an export. `root` has no links in it, so that nothing leads out of it."""

    def __init__(self, root: Path, about: Json, told: Told) -> None:
        self._root = root
        self._about = about
        self._told = told
        self._paths: set[Path] = set()
        self._broken = 0  # documents that are here, and cannot be read

    def items(self) -> Iterator[Item]:
        passages = _Lines(self._root / form.PASSAGES, self._told)
        words = _Lines(self._root / form.WORDS, self._told)
        there = 0
        with passages, words:
            for number, record in _lines(self._root / form.DOCUMENTS, self._told):
                trouble = trouble_in(record)
                item = None
                if trouble is None:
                    record["passages"] = passages.of(record["uid"])
                    record["words"] = words.of(record["uid"])
                    try:
                        item = self._item(record)
                    except KeyError as error:
                        trouble = f"its passages cannot be read: {error} is lacking"
                    except TypeError:
                        trouble = "its passages cannot be read: a value is of another kind"
                if trouble is not None:
                    self._broken += 1
                    self._told(_damage(number, form.DOCUMENTS, f"not a document: {trouble}"))
                if item is not None:
                    there += 1
                    yield item
        self._tell_what_is_not_named()
        lines = {"passages": passages.count, "pages_with_words": words.count}
        self._tell_what_is_lacking("documents", there, self._broken)
        for name, count in lines.items():
            self._tell_what_is_lacking(name, count)

    def _item(self, record: Json) -> Item | None:
        path, sha256 = record.pop("path"), record.pop("sha256")
        place = self._place(path)
        if path is not None and place is None:
            self._told(Skipped(path, f"it is named in {form.DOCUMENTS} and is not there"))
            return None
        record["numbered"] = {
            "id": record.pop("id"),
            "numbering": self._about["numbering"],
            "last_ids": self._about["last_ids"],
        }
        if record["doc_type"] == "note":
            return self._note(record, place)
        is_same = place is None or _sha256(place) == sha256
        if is_same:
            place = self._original(record, place, sha256)
        record["has_file"] = place is not None
        return _as_item(record, None, place, is_same)

    def _original(self, record: Json, place: Path | None, sha256: str | None) -> Path | None:
        """The file of a record if it is what was added; the record says what that was then."""
        found = None if place is None else sha256
        right = hash_of_original(record, found)
        name = f"the original of {record['uid']}"
        if place is not None:
            name = place.relative_to(self._root).as_posix()
        if place is not None and right not in (None, found):
            why = (
                "it is not what was added (its SHA-256 is not content_hash): the document is taken "
                "with its text, and without this file"
            )
            self._told(Skipped(name, why, is_damage=True))
            place = None
        elif right not in (None, record["content_hash"]):
            why = (
                f"{form.DOCUMENTS} says another content_hash than the jobs that read it: what they "
                "say was taken"
            )
            self._told(Skipped(name, why, is_damage=True))
        size = record["size_bytes"] if place is None else place.stat().st_size
        if size != record["size_bytes"]:
            why = f"{form.DOCUMENTS} says another size_bytes than it has: what it has was taken"
            self._told(Skipped(name, why, is_damage=True))
        record |= {"content_hash": right or record["content_hash"], "size_bytes": size}
        return place

    def _note(self, record: Json, place: Path | None) -> Item | None:
        whole = "".join(passage["text"] for passage in record["passages"])
        if place is None:
            return _as_item(record, whole, None, is_same=True)
        name = place.relative_to(self._root).as_posix()
        if place.stat().st_size > _LARGEST_NOTE:
            self._told(Skipped(name, "it is too long for a note: add it with kb add"))
            return None
        try:
            head, text = form.read_note(place.read_bytes())
        except UnicodeDecodeError:
            self._told(Skipped(name, "it is not UTF-8 text any more"))
            return None
        its_name = f"uid: {form.as_json(record['uid'])}"  # a line of every head
        if head is None and its_name in text and its_name not in whole:
            why = 'its head is damaged: it stands between two lines "---", put back what is missing'
            self._told(Skipped(name, why, is_damage=True))
            self._broken += 1
            return None
        text = form.text_meant(head, text, whole)
        self._hash_note(record, whole, name)
        is_same = text == whole
        if not text.strip() and not is_same:  # it fails, so nothing of its head is taken
            return _as_item(record, text, None, is_same)
        return _as_item(self._said(record, head, name), text, None, is_same)

    def _hash_note(self, record: Json, text: str, name: str) -> None:
        """A note's hash is that of its text, but for v2's, which have no job that made one."""
        found = hashlib.sha256(text.encode()).hexdigest()
        if record["content_hash"] != found and any(
            job.get("content_hash") for job in record["jobs"]
        ):
            why = f"{form.DOCUMENTS} says another content_hash than its text has: that was taken"
            self._told(Skipped(name, why, is_damage=True))
            record["content_hash"] = found

    def _said(self, record: Json, head: str | None, name: str) -> Json:
        """What the head of a note says of it, where somebody has changed that."""
        if head is None:
            why = f"it has no head any more; what {form.DOCUMENTS} says was taken"
            self._told(Skipped(name, why, is_taken=True))
            return dict(record)
        fields = form.head_fields(head)
        if fields is None:
            found = front_matter(f"---\n{head}---\n")
            if found.problem:
                why = f"it cannot be read as it is ({found.problem})"
                self._told(Skipped(f"the head of {name}", why, is_taken=True))
            fields = found.properties
        self._tell_what_does_not_count(record, fields, name)
        said = dict(record)
        if fields.get("title") not in (None, record["title"]):
            said["title"] = one_line(fields["title"]) or record["title"]
            said["title_given"] = True
        if "tags" in fields and fields["tags"] != record["tags"]:
            said["tags"] = list(tag_list(as_list(fields["tags"])))
        metadata = fields.get("metadata")
        if isinstance(metadata, dict) and metadata != record["metadata"]:
            said["metadata"] = metadata_of(metadata)
        elif metadata is not None and not isinstance(metadata, dict):
            why = f"it is no list of properties; what {form.DOCUMENTS} says was taken"
            self._told(Skipped(f"the metadata in {name}", why, is_taken=True))
        return said

    def _tell_what_does_not_count(self, record: Json, fields: Json, name: str) -> None:
        """A note's head shows all that matters, but only some of it can be changed there."""
        there = record | {"id": record["numbered"]["id"]}
        others = {
            field
            for field in {*fields, *form.HEAD_FIELDS} - set(_CHANGEABLE)
            if field not in fields or field not in form.HEAD_FIELDS or fields[field] != there[field]
        }
        missing = [field for field in _CHANGEABLE if field not in fields]
        if "title" in fields and not one_line(fields["title"] or ""):
            missing.append("title")
        if missing:
            gone = f"not in its head any more: {', '.join(missing)}"
            why = f"{gone}; what {form.DOCUMENTS} says was taken"
            self._told(Skipped(name, why, is_taken=True))
        if others:
            why = (
                f"changed in its head, which does not count: {', '.join(sorted(others))}; "
                f"{form.DOCUMENTS} says what they are, and the head counts for "
                f"{', '.join(_CHANGEABLE)}"
            )
            self._told(Skipped(name, why, is_taken=True))

    def _place(self, path: object) -> Path | None:
        """The file at a path of the export, if it is one and really lies in it."""
        if not isinstance(path, str) or "\0" in path:
            return None
        place = (self._root / path).resolve()
        if not place.is_relative_to(self._root) or not place.is_file():
            return None
        self._paths.add(place)
        return place

    def _tell_what_is_lacking(self, name: str, there: int, told: int = 0) -> None:
        """An export says last how much there is of it: with less, a part was lost on its way."""
        promised = self._about.get(name)
        if isinstance(promised, int) and there + told < promised:
            noun = name.replace("_", " ")
            why = (
                f"{promised:,} {noun} promised, {there:,} there: the export is not complete; "
                "copy or make it again"
            )
            self._told(Skipped(f"{form.ABOUT}, {noun}", why, is_damage=True))

    def _tell_what_is_not_named(self) -> None:
        for folder in (form.NOTES, form.FILES):
            for place in sorted((self._root / folder).rglob("*")):
                if place.is_file() and place.resolve() not in self._paths:
                    name = place.relative_to(self._root).as_posix()
                    self._told(
                        Skipped(name, f"{form.DOCUMENTS} does not name it: add it with kb add")
                    )


# What an item has of its own; the rest of a record stands beside it.
_OF_ITEM = (
    "uid",
    "title",
    "filename",
    "source_path",
    "tags",
    "metadata",
    "created_at",
    "updated_at",
)
# What is left of a record where the text or the bytes are no longer those that were read.
_LASTING = ("numbered", "imported", "origin", "title_given", "jobs")


def _as_item(record: Json, text: str | None, file: Path | None, is_same: bool) -> Item:
    """`is_same`: the text or the bytes are those that the passages were cut from."""
    about = {name: record[name] for name in _OF_ITEM}
    beside = [name for name in record if name not in about] if is_same else _LASTING
    return Item(
        **about | {"tags": tuple(record["tags"])},
        key=record["uid"],
        text=text,
        file=file,
        record={name: record[name] for name in beside},
    )


class _Lines:
    """A file of lines about documents: where those of each are is known, and they are read when
    they are asked for."""

    def __init__(self, path: Path, told: Told) -> None:
        try:
            self._file: BinaryIO = path.open("rb")
        except OSError as error:
            raise _unopened(path, error) from error
        self._places: dict[str, list[tuple[int, int]]] = {}
        self.count = 0
        for number, line, start in _raw_lines(self._file, path.name):
            value = _parsed(line, number, path.name, told)
            if value is None:
                continue
            self.count += 1
            uid = value.get("document")
            places = self._places.setdefault(str(uid), [])
            if places and sum(places[-1]) == start:
                places[-1] = (places[-1][0], places[-1][1] + len(line))
            else:
                places.append((start, len(line)))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def of(self, uid: str) -> list[Json]:
        found: list[Json] = []
        for start, length in self._places.get(uid, ()):
            self._file.seek(start)
            found += [json.loads(line) for line in self._file.read(length).split(b"\n") if line]
        for each in found:
            del each["document"]
        return found


def _lines(path: Path, told: Told) -> Iterator[tuple[int, Json]]:
    """The objects of a file of lines, with their numbers."""
    try:
        file = path.open("rb")
    except OSError as error:
        raise _unopened(path, error) from error
    with file:
        for number, line, _ in _raw_lines(file, path.name):
            value = _parsed(line, number, path.name, told)
            if value is not None:
                yield number, value


def _unopened(path: Path, error: OSError) -> Unreadable:
    return Unreadable(f"{path} cannot be read: {error.strerror}; copy or make the export again")


def _raw_lines(file: BinaryIO, name: str) -> Iterator[tuple[int, bytes, int]]:
    number, start = 0, 0
    while line := file.readline(_LONGEST_LINE):
        number += 1
        if len(line) == _LONGEST_LINE:
            raise Unreadable(f"line {number} of {name} is too long to be one of an export")
        if line.strip():
            yield number, line, start
        start += len(line)


def _parsed(line: bytes, number: int, name: str, told: Told) -> Json | None:
    """The object in a line; None if there is none, which is reported."""
    try:
        value = json.loads(line, parse_constant=_refuse)
        if b"\\ud" in line.lower():  # half a pair cannot be sent
            json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        told(_damage(number, name, f"not JSON: {_in_words(error)}"))
        return None
    if not isinstance(value, dict):
        told(_damage(number, name, "not an object"))
        return None
    return value


def _in_words(error: ValueError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg.removesuffix(' at')} at character {error.pos + 1:,}"
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 at byte {error.start + 1:,}"
    if isinstance(error, UnicodeEncodeError):
        return "it holds half a character"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number")


def _damage(number: int, name: str, why: str) -> Skipped:
    return Skipped(f"{name}, line {number}", why, is_damage=True)


def _root(path: Path) -> Path | None:
    """Where the export is: the folder itself, or the only one in it, as archives have it."""
    try:
        if not path.is_dir():
            return None
        if (path / form.ABOUT).is_file() or (path / form.DOCUMENTS).is_file():
            return path
        inside = [entry for entry in path.iterdir() if entry.is_dir()]
        is_one = len(inside) == 1 and (inside[0] / form.ABOUT).is_file()
    except OSError:
        return None
    return inside[0] if is_one else None


def _about(root: Path) -> Json | None:
    """What an export says of itself; None where it says nothing."""
    try:
        with (root / form.ABOUT).open("rb") as file:
            about = json.loads(file.read(_SMALL))
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    except OSError as error:
        raise _unopened(root / form.ABOUT, error) from error
    return about if isinstance(about, dict) and about.get("format") == form.NAME else None


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
