"""Changes one entry of a TOML file and leaves the rest of its text as it was.

The standard library reads TOML but does not write it. An entry is one table of strings, lists of
strings and flat tables, so it is written here, and the text around it stays.
"""

import json
import re
import tomllib
from typing import Any

Json = dict[str, Any]

_HEADER = re.compile(r"^[ \t]*\[")
_BLANK = re.compile(r"^[ \t]*(#.*)?$")


class NotToml(ValueError):
    """A text that cannot be understood, or not be changed without touching the rest of it."""


def read_toml(text: str) -> Json:
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise NotToml(str(error)) from None


def set_toml(text: str, table: str, name: str, entry: Json) -> str:
    """The text with the table `[table.name]` holding `entry`; it may be there or not."""
    before = read_toml(text)
    servers = before.get(table, {})
    if not isinstance(servers, dict):
        raise NotToml(f"{table} is no table")
    line_end = "\r\n" if "\r\n" in text else "\n"
    written = write_toml(table, name, entry).rstrip("\n").replace("\n", line_end)
    lines = text.splitlines(keepends=True)
    start, end = _block(lines, table, name)
    head, tail = "".join(lines[:start]), "".join(lines[end:])
    if head.strip() and start == end:
        head = head.rstrip("\r\n") + line_end * 2
    changed = f"{head}{written}{line_end}{tail}"
    # Inline tables, dotted keys and strings over several lines are not looked for: where the
    # outcome is not exactly what was wanted, the text stays as it was.
    if read_toml(changed) != before | {table: servers | {name: entry}}:
        raise NotToml(f"its {table}.{name} is written in an unusual way")
    return changed


def write_toml(table: str, name: str, entry: Json) -> str:
    lines = [f"[{table}.{name}]", *(f"{key} = {_value(value)}" for key, value in entry.items())]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        pairs = ", ".join(f"{key} = {_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}"
    # A JSON text is a TOML text but for this one character, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _block(lines: list[str], table: str, name: str) -> tuple[int, int]:
    """The lines of the table and its subtables; without one, the place behind the last line."""
    quoted = rf"""(?:{name}|"{name}"|'{name}')"""
    ours = re.compile(rf"^[ \t]*\[[ \t]*{table}[ \t]*\.[ \t]*{quoted}[ \t]*[\].]")
    starts = [number for number, line in enumerate(lines) if ours.match(line)]
    if not starts:
        return len(lines), len(lines)
    end = starts[0] + 1
    while end < len(lines) and (not _HEADER.match(lines[end]) or ours.match(lines[end])):
        end += 1
    # Blank lines and comments in front of the next table belong to that one.
    while end > starts[0] + 1 and _BLANK.match(lines[end - 1].rstrip("\r\n")):
        end -= 1
    return starts[0], end
