"""Changes one entry of a JSON file and leaves the rest of its text as it was.

People's files keep their comments, order and spaces: only the text of the entry changes. Comments
and trailing commas, which several clients allow, are blanked in place before parsing, so every
offset in the parsed text is also one in the original.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

_STRING_OR_COMMENT = re.compile(r'"(?:[^"\\]|\\.)*"|//[^\r\n]*|/\*.*?\*/', re.DOTALL)
_SPACES = re.compile(r"[ \t\r\n]*")
_BOM = "\ufeff"


class NotJson(ValueError):
    """A text that cannot be understood, and so not be changed."""


def read_json(text: str) -> Json:
    """The object in a text; an empty text is an empty object."""
    plain = _without_comments(text)
    if not plain.strip():
        return {}
    try:
        value = json.loads(plain)
    except (ValueError, RecursionError) as error:
        raise NotJson(str(error)) from None
    if not isinstance(value, dict):
        raise NotJson("it holds no object")
    return value


def set_json(text: str, table: str, name: str, entry: Json) -> str:
    """The text with `entry` under `name` in the object `table`; both may be there or not."""
    before = read_json(text)
    if not before and "{" not in _without_comments(text):
        comments = f"{text.rstrip()}\n" if text.strip() else ""
        return comments + write_json({table: {name: entry}})
    servers = before.get(table, {})
    if not isinstance(servers, dict):
        raise NotJson(f"{table} is no object")
    changed = _changed(text, table, name, entry)
    # The scan below is our own: what it made counts only if a parser finds just what was wanted.
    if read_json(changed) != before | {table: servers | {name: entry}}:
        raise NotJson("it is written in an unusual way")
    return changed


def write_json(value: Any, indent: int | str = 2) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent) + "\n"


def _changed(text: str, table: str, name: str, entry: Json) -> str:
    unit = _indent_unit(text)
    plain = _without_comments(text)
    root = _Object.at(plain, plain.index("{"))
    if table not in root.values:
        return root.with_member(text, table, {name: entry}, unit, depth=1)
    servers = _Object.at(plain, root.values[table][0])
    if name not in servers.values:
        return servers.with_member(text, name, entry, unit, depth=2)
    start, end = servers.values[name]
    return text[:start] + _member(entry, unit, 2, _line_end(text)) + text[end:]


@dataclass(frozen=True, slots=True)
class _Object:
    """The positions of an object's values and closing brace; of a repeated name, the last."""

    values: dict[str, tuple[int, int]]
    last_end: int
    close: int

    @classmethod
    def at(cls, plain: str, start: int) -> "_Object":
        decoder = json.JSONDecoder()
        values: dict[str, tuple[int, int]] = {}
        position, last_end = _skip(plain, start + 1), 0
        while plain[position] != "}":
            key, position = decoder.raw_decode(plain, position)
            begin = _skip(plain, _skip(plain, position) + 1)  # behind the colon
            _, last_end = decoder.raw_decode(plain, begin)
            values[key] = (begin, last_end)
            position = _skip(plain, last_end)
            if plain[position] == ",":
                position = _skip(plain, position + 1)
        return cls(values, last_end, position)

    def with_member(self, text: str, name: str, value: Any, unit: str, depth: int) -> str:
        """The text with one more member at the end, after any comment there."""
        head = text[: self.close].rstrip(" \t\r\n")
        line_end = _line_end(text)
        if self.values and not _has_comma(head[self.last_end :]):
            head = f"{head[: self.last_end]},{head[self.last_end :]}"
        member = f"{json.dumps(name)}: {_member(value, unit, depth, line_end)}"
        return (
            f"{head}{line_end}{unit * depth}{member}"
            f"{line_end}{unit * (depth - 1)}{text[self.close :]}"
        )


def _has_comma(between: str) -> bool:
    """Whether a trailing comma stands between the last value and the end, outside of comments."""
    return "," in _STRING_OR_COMMENT.sub("", between)


def _member(value: Any, unit: str, depth: int, line_end: str) -> str:
    lines = write_json(value, indent=unit).rstrip("\n").split("\n")
    return f"{line_end}{unit * depth}".join(lines)


def _skip(plain: str, position: int) -> int:
    found = _SPACES.match(plain, position)
    return found.end() if found else position


def _without_comments(text: str) -> str:
    """The text with a space for every character of a comment, of a trailing comma and of a BOM."""
    blanked = _STRING_OR_COMMENT.sub(
        lambda found: found[0] if found[0][0] == '"' else re.sub(r"[^\r\n]", " ", found[0]), text
    )
    pieces = re.split(r'("(?:[^"\\]|\\.)*")', blanked)
    for number in range(0, len(pieces), 2):  # the odd ones are strings
        pieces[number] = re.sub(r",(?=[ \t\r\n]*[}\]])", " ", pieces[number])
    plain = "".join(pieces)
    return f" {plain[1:]}" if plain.startswith(_BOM) else plain


def _indent_unit(text: str) -> str:
    """One level of indentation, as in the first indented line of the file."""
    found = re.search(r"^([ \t]+)\"", text, re.MULTILINE)
    return found[1] if found else "  "


def _line_end(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"
