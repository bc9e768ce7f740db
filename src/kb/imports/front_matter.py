"""A Markdown text in, the properties at its head out, read as YAML.

Anybody may have written it: what refers to itself, is nested deeply or is very long is refused, and
nothing in it makes an object. Words mean what they mean in YAML 1.2, as Obsidian reads it: `12:30`
and `yes` are texts, and so are dates.
"""

import re
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import yaml

_LONGEST = 100_000
_DEEPEST = 12
_HEAD = re.compile(r"﻿?---[ \t]*\r?\n")
_ENTRY = re.compile(r"^(?=[^\s#-])", re.MULTILINE)
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The properties, where the text itself begins, and what is wrong with the properties."""

    properties: dict[str, Any] = field(default_factory=dict)
    body: int = 0
    problem: str | None = None


def front_matter(text: str) -> FrontMatter:
    head = _HEAD.match(text)
    end = head and _END.search(text, head.end(), head.end() + _LONGEST)
    if not head or not end:
        return FrontMatter()
    properties, problem = _read(text[head.end() : end.start()].replace("\r\n", "\n"))
    return FrontMatter(properties, end.end(), problem)


def _read(text: str) -> tuple[dict[str, Any], str | None]:
    """The properties and what is wrong. A mistake in one, such as a template's `{{date}}`, costs
    that one: then each is read by itself."""
    try:
        return _loaded(text), None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        problem = _in_words(error)
    properties: dict[str, Any] = {}
    for entry in _ENTRY.split(text):
        with suppress(yaml.YAMLError, ValueError, RecursionError):
            properties |= _loaded(entry)
    return properties, problem


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML with the words of its version 1.2, and no dates."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), list(_first)
    )
# As it stands: with a leading zero, PyYAML would take it for octal, and 08 for a mistake.
_Loader.add_constructor("tag:yaml.org,2002:int", lambda _, node: int(node.value))


def _loaded(text: str) -> dict[str, Any]:
    depth = 0
    for event in yaml.parse(text, _Loader):
        if isinstance(event, yaml.AliasEvent):
            raise ValueError("it refers to itself (*)")
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
    found = yaml.load(text, _Loader)  # noqa: S506 (a safe loader)
    if found is not None and not isinstance(found, dict):
        raise ValueError("it is not a list of properties")
    return {str(name): value for name, value in (found or {}).items()}


def _in_words(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError) and error.problem:
        line = f"line {error.problem_mark.line + 2}: " if error.problem_mark else ""
        return f"{line}{error.problem}"
    return str(error).partition("\n")[0]


def as_list(value: object) -> list[object]:
    """What may be one or several: a list, a text with commas, a single value, or nothing."""
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list):
        return [part for part in value if part is not None and not isinstance(part, dict | list)]
    return [] if isinstance(value, dict) else [value]
