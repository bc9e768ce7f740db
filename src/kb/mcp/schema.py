"""Checks the arguments of a tool call against the tool's schema.

Schemas use the small part of JSON Schema that every client understands: flat objects of strings,
numbers, booleans and lists of strings. So this code reads only that part, and reports mistakes in a
plain sentence, which a library would not.

Nullable parameters say `nullable` and never use a list of types: if a single tool has one, Gemini
refuses all of them, and Cursor every call. A parameter that takes a text or a list has an `anyOf`
with nothing beside it, which is what Gemini wants.
"""

import difflib
import json
import re
from typing import Any

Json = dict[str, Any]

MOST_NOTE_CHARACTERS = 1_000_000
_SURROGATE = re.compile("[\ud800-\udfff]")
_DECIMAL = re.compile(r"[+-]?[0-9]{0,16}\.[0-9]{1,16}")
_WHOLE = re.compile(r"[+-]?[0-9]{1,16}")
# Beyond this, two JSON readers may take the same digits for different numbers.
_LARGEST = 2**53 - 1
_NAMES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": 'a list, such as ["a","b"]',
    "object": "an object",
}


class BadArgument(ValueError):
    """An argument that cannot be used: which, and in words why."""

    def __init__(self, parameter: str, message: str, *, missing: bool = False) -> None:
        super().__init__(message)
        self.parameter = parameter
        self.message = message
        self.missing = missing


def arguments_schema(properties: dict[str, Json], required: tuple[str, ...] = ()) -> Json:
    """The schema of a tool that takes these and nothing else."""
    schema: Json = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return schema | {"additionalProperties": False}


def nullable(properties: dict[str, Json], required: tuple[str, ...] = ()) -> dict[str, Json]:
    """The same, where each may be null that is not required; what has an `anyOf` says it inside."""
    return {
        name: schema if name in required or "anyOf" in schema else schema | {"nullable": True}
        for name, schema in properties.items()
    }


def check_arguments(schema: Json, arguments: Json) -> Json:
    """The arguments as the schema wants them, or BadArgument.

    A null is the same as nothing sent: many clients fill in what a model left out that way.
    """
    properties: dict[str, Json] = schema["properties"]
    given = {name: value for name, value in arguments.items() if value is not None}
    for name in given:
        if name not in properties:
            raise BadArgument(name, _no_such(name, list(properties)))
    for name in schema.get("required", ()):
        if name not in given:
            raise BadArgument(
                name, f"{name} is missing: send {_wanted(properties[name])}", missing=True
            )
    return {name: _checked(name, value, properties[name]) for name, value in given.items()}


def _no_such(name: str, known: list[str]) -> str:
    shown = name[:60].encode("utf-8", "replace").decode()
    if not known:
        return f"there is no parameter {shown}: this tool takes none"
    close = difflib.get_close_matches(name[:60], known, 1)
    advice = f"did you mean {close[0]}?" if close else f"use {', '.join(known)}"
    return f"there is no parameter {shown}: {advice}"


def _wanted(schema: Json) -> str:
    if "enum" in schema:
        return "one of " + ", ".join(map(str, schema["enum"]))
    return _NAMES[schema["type"]]


def _checked(name: str, value: Any, schema: Json) -> Any:
    if "type" not in schema:  # left to the tool
        return value
    value = as_meant(value, schema["type"])
    if not _is_a(value, schema["type"]):
        raise BadArgument(name, f"{name} must be {_wanted(schema)}")
    if "enum" in schema and value not in schema["enum"]:
        raise BadArgument(name, f"{name} must be {_wanted(schema)}")
    if isinstance(value, str):
        _check_text(name, value, schema)
    elif isinstance(value, list):
        return _checked_list(name, value, schema)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        _check_number(name, value, schema)
    return value


def as_meant(value: Any, kind: str) -> Any:
    """The value itself, or what can only be meant by it.

    Some clients send every argument as text; a model cannot mend that, so its meaning is taken.
    """
    if kind in ("integer", "number") and isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, str):
        return value
    text = value.strip()
    if kind in ("integer", "number") and _WHOLE.fullmatch(text):
        return int(text)
    if kind == "number" and _DECIMAL.fullmatch(text):
        return float(text)
    if kind == "boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.startswith({"array": "[", "object": "{"}.get(kind, "\0")):
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            return value
    return value


def _is_a(value: Any, kind: str) -> bool:
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    types: dict[str, type] = {"string": str, "boolean": bool, "array": list, "object": dict}
    return isinstance(value, types[kind])


def _check_text(name: str, text: str, schema: Json) -> None:
    if _SURROGATE.search(text):
        raise BadArgument(name, f"{name} holds half a character: send valid Unicode text")
    if len(text) < schema.get("minLength", 0):
        raise BadArgument(name, f"{name} must not be empty")
    longest = schema.get("maxLength")
    if longest is not None and len(text) > longest:
        said = f"{name} is {len(text):,} characters long, the most is {longest:,}"
        if longest == MOST_NOTE_CHARACTERS:  # in the engine's words, which say what to do instead
            said = f"{name}: a note has at most {longest:,} characters; add a longer text as a file"
        raise BadArgument(name, said)
    if "pattern" in schema and not re.search(schema["pattern"], text):
        raise BadArgument(name, f"{name} must be {schema['description']}")


def _check_number(name: str, number: float, schema: Json) -> None:
    least, most = schema.get("minimum", -_LARGEST), schema.get("maximum", _LARGEST)
    if least <= number <= most:
        return
    if "maximum" in schema:
        raise BadArgument(name, f"{name} must be from {least} to {most}")
    bound = f"{least} or more" if number < least else f"at most {most}"
    raise BadArgument(name, f"{name} must be {bound}")


def _checked_list(name: str, values: list[Any], schema: Json) -> list[Any]:
    most = schema.get("maxItems")
    if most is not None and len(values) > most:
        raise BadArgument(name, f"{name} has {len(values)} entries, the most is {most}")
    return [
        _checked(f"{name}[{position}]", value, schema["items"])
        for position, value in enumerate(values)
    ]
