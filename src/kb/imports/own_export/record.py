"""Checks one line of an export's documents.

Only what the reader and the question for a document's fate rest on is looked at; all else the
engine checks when the document is sent.
"""

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import Any

Json = dict[str, Any]

_LARGEST_ID = 2**63 - 1
_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


def trouble_in(record: Json) -> str | None:
    """In words, or None where this is a document."""
    for name, (is_right, words) in _FIELDS.items():
        if name not in record:
            return f"{name} is lacking"
        if not is_right(record[name]):
            return f"{name} must be {words}"
    return None


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_text_or_null(value: object) -> bool:
    return value is None or isinstance(value, str)


def _is_object(value: object) -> bool:
    return isinstance(value, dict)


def _is_object_or_null(value: object) -> bool:
    return value is None or isinstance(value, dict)


def _is_id(value: object) -> bool:
    return type(value) is int and 1 <= value <= _LARGEST_ID


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _LARGEST_ID


def _is_uid(value: object) -> bool:
    if not isinstance(value, str) or len(value) != 36:
        return False
    try:
        uuid.UUID(value)
    except ValueError:
        return False
    return True


def _is_time(value: object) -> bool:
    if not isinstance(value, str):
        return False
    try:
        return f"{datetime.strptime(value, _TIME).isoformat(timespec='microseconds')}Z" == value
    except ValueError:
        return False


def _is_time_or_null(value: object) -> bool:
    return value is None or _is_time(value)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _are_objects(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_object, value))


_TEXT_OR_NULL = (_is_text_or_null, "a text or null")

_FIELDS: dict[str, tuple[Callable[[object], bool], str]] = {
    "id": (_is_id, f"a number from 1 to {_LARGEST_ID}"),
    "uid": (_is_uid, "a UUID"),
    "title": (_is_text, "a text"),
    "filename": _TEXT_OR_NULL,
    "doc_type": (_is_text, "a text"),
    "source_path": _TEXT_OR_NULL,
    "tags": (_are_texts, "a list of texts"),
    "metadata": (_is_object, "an object"),
    "content_hash": (_is_text, "a text"),
    "size_bytes": (_is_count, f"a number from 0 to {_LARGEST_ID}"),
    "created_at": (_is_time, "a time as kb writes it"),
    "updated_at": (_is_time_or_null, "a time as kb writes it, or null"),
    "imported": (_is_object_or_null, "an object or null"),
    "jobs": (_are_objects, "a list of objects"),
    "path": _TEXT_OR_NULL,
    "sha256": _TEXT_OR_NULL,
}
