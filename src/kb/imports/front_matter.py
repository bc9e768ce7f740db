"""Reads the properties at the head of a Markdown text, as YAML.

Anybody may have written it. So references, deep nesting and very long texts are refused, and
nothing in it creates an object. Words mean what they mean in YAML 1.2, as in Obsidian: `12:30` and
`yes` are texts, and so are dates.
"""

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import yaml

from kb.imports.item import Json

_LONGEST = 100_000
_DEEPEST = 12
_HEAD = re.compile(r"﻿?---[ \t]*\r?\n")
_SHOWN = 40
_MISTAKES = (yaml.YAMLError, ValueError, RecursionError)
_PLAIN = re.compile(r"([^:\n{}\[\]]+):[ \t]*([^\n]*)((?:\n[ \t]*-[ \t][^\n]*)*)[ \t]*")
_WORD = re.compile(r"\w")
_TEMPLATE = re.compile(r"\{\{|<%")
_ENTRY = re.compile(r"^(?=[^\s#-])", re.MULTILINE)
_END = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?(?:\n|\Z)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The properties, where the text itself begins, and what is wrong with the properties."""

    properties: Json = field(default_factory=dict)
    body: int = 0
    problem: str | None = None


def front_matter(text: str) -> FrontMatter:
    head = _HEAD.match(text)
    end = head and _END.search(text, head.end())
    if not head or not end:
        return FrontMatter()
    if end.start() - head.end() > _LONGEST:
        too_long = f"they are longer than {_LONGEST:,} characters: taken as text"
        return FrontMatter(problem=too_long)
    properties, problem = _read(text[head.end() : end.start()].replace("\r\n", "\n"))
    return FrontMatter(properties, end.end(), problem)


def _read(text: str) -> tuple[Json, str | None]:
    """The properties and what is wrong with them. A mistake in one costs at most that one: then
    each is read separately, and invalid YAML becomes text."""
    try:
        return _loaded(text), None
    except _MISTAKES as error:
        problem = _in_words(error)
    properties: Json = {}
    lost: list[str] = []
    for entry in filter(str.strip, _ENTRY.split(text)):
        found = _entry(entry)
        if not found:
            lost.append(entry.strip().partition(":")[0][:_SHOWN])
        for name, value in found.items():
            if properties.get(name) is None:
                properties[name] = value
            elif name.lower() == "title":  # which is one
                lost.append(f"the second {name}")
            else:
                properties[name] = as_list(properties[name]) + as_list(value)
    became = f"not taken: {', '.join(lost)}" if lost else "taken as it stands"
    return properties, f"{problem}; {became}"


def _entry(entry: str) -> Json:
    """One property by itself; none where nothing can be had from it, such as `{{date}}`, which a
    template has left there."""
    try:
        return _loaded(entry)
    except _MISTAKES:
        plain = _PLAIN.fullmatch(entry.strip("\n"))
    if not plain:
        return {}
    name, value, items = (part.strip() for part in plain.groups())
    if not items:
        return {name: value.strip("\"'")} if _is_text(value) else {}
    texts = [item.strip().lstrip("-").strip(" \t\"'") for item in items.split("\n")]
    return {name: list(filter(_is_text, texts))}


def _is_text(value: str) -> bool:
    """Whether a person wrote it: there is a word in it, and no template's gap."""
    return bool(_WORD.search(value)) and not _TEMPLATE.search(value)


class _Loader(yaml.SafeLoader):  # type: ignore[misc]
    """YAML with the words of its version 1.2, and no dates; neither deep nor with references."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise ValueError("it refers to itself (*)")
        if self._depth > _DEEPEST:
            raise ValueError("it is nested too deeply")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


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


def _loaded(text: str) -> Json:
    loader = _Loader(text)
    node = loader.get_single_node()
    if node is None:
        return {}
    if not isinstance(node, yaml.MappingNode):
        raise ValueError("there is something that is no property")
    names = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
    for name, times in names.items():
        if times > 1:
            raise ValueError(f"{name[:_SHOWN]} is there twice")
    found = loader.construct_document(node)
    return {str(name): value for name, value in found.items() if name is not None}


# What PyYAML says in the words of those who make parsers, and what a person has to look for.
_WORDS = (
    ("unhashable", "braces or brackets where a text should be: put it in quotes"),
    ("mapping values", "a second colon in a line, or lines that are not indented alike"),
    ("cannot start any token", "a value begins with a sign that YAML keeps for itself: quote it"),
    ("could not find expected ':'", "a line without a colon"),
    ("<block end>", "something stands behind the end of a value"),
    ("expected ',' or", "a bracket is not closed"),
    ("node content", "a bracket is not closed, or a value is missing"),
    ("end of stream", "a quotation mark is not closed"),
    ("constructor", "a value is of a kind that is not known here (!)"),
)


def _in_words(error: Exception) -> str:
    if isinstance(error, yaml.MarkedYAMLError):
        said = error.problem or ""
        line = f"line {error.problem_mark.line + 2}: " if error.problem_mark else ""
        words = next((words for part, words in _WORDS if part in said), "this is not valid YAML")
        return line + words
    if isinstance(error, yaml.YAMLError):
        return "it holds characters that YAML does not take"
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error)


def as_list(value: object) -> list[object]:
    """What may be one or several: a list, a text with commas, a single value, or nothing."""
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, list):
        # `- Opener: New Tab` was meant to be a text, whatever YAML says.
        texts = [
            ", ".join(map(_pair, part.items())) if isinstance(part, dict) else part
            for part in value
        ]
        return [_word(text) for text in texts if text is not None and not isinstance(text, list)]
    return [] if isinstance(value, dict) else [_word(value)]


def _word(value: object) -> object:
    """`true` in a list of words is one of them."""
    return str(value).lower() if isinstance(value, bool) else value


def _pair(pair: tuple[object, object]) -> str:
    return ": ".join(str(part) for part in pair if part is not None)
