"""Reads the file of the official memory server: one note for each entity.

`@modelcontextprotocol/server-memory` writes one JSON object per line: entities with observations,
and relations between two of them by name. A note says what is known about one entity, with its
relations in both directions. The whole graph in one object, as the server answers it, is read as
well.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kb.imports.fit import BROKEN, clean, is_broken, metadata_of, one_line, tag_list, utc
from kb.imports.item import Item, Json, Skipped, Told, Unreadable
from kb.imports.json_elements import decoded
from kb.imports.parts import in_parts

_LARGEST = 512 * 2**20  # bytes
_HEAD = 1 << 20
_LONGEST_PATH = 4_000  # of the 4,096 characters that kb takes
_RELATION = ("from", "relationType", "to")
_KNOWN = ("type", "name", "entityType", "observations", "relations")
_LOOKED_AT = 20  # lines, to know such a file


@dataclass
class _Entity:
    name: str
    kinds: list[str] = field(default_factory=list)
    observations: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    more: Json = field(default_factory=dict)


class Memory:
    name = "memory"

    def recognises(self, path: Path) -> bool:
        try:
            with path.open("rb") as file:
                head = decoded(file.read(_HEAD), "replace").lstrip()
        except OSError:
            return False
        if head.startswith("{") and '"entities"' in head and '"relations"' in head:
            return True
        first = map(_parsed, head.split("\n")[:_LOOKED_AT])
        return any(
            isinstance(record, dict)
            and ((_is_entity(record) and "name" in record) or _is_relation(record))
            for record in first
        )

    def read(self, path: Path, told: Told) -> Iterator[Item]:
        file = path.absolute()
        entities: dict[str, _Entity] = {}
        relations: list[tuple[str, str, str]] = []
        for where, record in _records(file, told):
            if is_broken(record):
                told(Skipped(where, BROKEN, is_taken=True))
            if _is_entity(record):
                _take_entity(entities, record)
                relations += _relations_within(record)
            elif _is_relation(record):
                source, kind, target = (clean(record[name]) for name in _RELATION)
                relations.append((source, kind, target))
            else:
                told(Skipped(where, "neither an entity nor a relation"))
        for relation in dict.fromkeys(relations):
            _take_relation(entities, relation, told)
        for entity in entities.values():
            yield from _notes(entity, file)


def _is_entity(record: Json) -> bool:
    return (
        record.get("type", "entity") == "entity"
        and isinstance(record.get("name") or "", str)
        and isinstance(record.get("observations") or [], list | str)
        and ("entityType" in record or "observations" in record)
    )


def _is_relation(record: Json) -> bool:
    return record.get("type", "relation") == "relation" and all(
        isinstance(record.get(name), str) for name in _RELATION
    )


def _records(path: Path, told: Told) -> Iterator[tuple[str, Json]]:
    """The objects of the file, each with where it stands."""
    try:
        if path.stat().st_size > _LARGEST:
            raise Unreadable(f"{path} is larger than {_LARGEST // 2**20} MB")
        data = path.read_bytes()
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}") from error
    text = decoded(data, "surrogateescape")
    whole = _parsed(text) if text.lstrip().startswith("{") else None
    if isinstance(whole, dict) and isinstance(whole.get("entities"), list):
        for name in ("entities", "relations"):
            for number, record in enumerate(_listed(whole, name), start=1):
                if isinstance(record, dict):
                    yield f"{name} {number}", record
                else:
                    told(Skipped(f"{name} {number}", "not an object", is_damage=True))
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            record = _parsed(line)
            if isinstance(record, dict):
                yield f"line {number}", record
            else:
                told(Skipped(f"line {number}", "not a JSON object", is_damage=True))


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _listed(whole: Json, name: str) -> list[Any]:
    value = whole.get(name)
    return value if isinstance(value, list) else []


def _take_entity(entities: dict[str, _Entity], record: Json) -> None:
    """The server tells entities by their names; what a file has of one twice is one to it."""
    name = clean(record.get("name") or "")
    entity = entities.setdefault(name, _Entity(name))
    kind = one_line(record.get("entityType") or "")
    if kind and kind not in entity.kinds:
        entity.kinds.append(kind)
    observations = record.get("observations") or []
    for observation in [observations] if isinstance(observations, str) else observations:
        text = _observation(observation)
        if text and text not in entity.observations:
            entity.observations.append(text)
    entity.more.update({key: value for key, value in record.items() if key not in _KNOWN})


def _relations_within(record: Json) -> Iterator[tuple[str, str, str]]:
    """Relations inside the entity itself; the server has none, but people write them."""
    listed = record.get("relations")
    name = record.get("name") or ""
    for relation in listed if isinstance(listed, list) else ():
        if isinstance(relation, dict) and _is_relation({"from": name} | relation):
            yield clean(name), clean(relation["relationType"]), clean(relation["to"])


def _observation(value: object) -> str:
    """A text; servers made from this one also write objects, with a time beside the text."""
    if isinstance(value, dict):
        value = value.get("content") or value.get("text") or json.dumps(value, ensure_ascii=False)
    return clean(str(value)).strip()


def _take_relation(
    entities: dict[str, _Entity], relation: tuple[str, str, str], told: Told
) -> None:
    source, kind, target = map(one_line, relation)
    line = f"{source} {kind} {target}"
    ends = {relation[0], relation[2]} & entities.keys()
    if not ends:
        told(Skipped(line, "a relation between two entities that the file does not have"))
    for name in ends:
        entities[name].relations.append(line)


def _notes(entity: _Entity, file: Path) -> Iterator[Item]:
    title = one_line(entity.name) or "Entity without a name"
    lines = [f"# {title}", ""]
    if entity.kinds:
        lines += [f"Type: {', '.join(entity.kinds)}", ""]
    lines += ["- " + observation.replace("\n", "\n  ") for observation in entity.observations]
    if entity.relations:
        lines += ["", "## Relations", "", *(f"- {line}" for line in entity.relations)]
    yield from in_parts(
        Item(
            key=f"{file}#{entity.name}",
            title=title,
            text="\n".join(lines).strip() + "\n",
            source_path=one_line(f"{file}#{entity.name}", _LONGEST_PATH),
            tags=tag_list(entity.kinds),
            metadata=metadata_of({"entity_type": ", ".join(entity.kinds), **entity.more}),
            created_at=utc(entity.more.get("createdAt") or entity.more.get("created_at")),
        )
    )
