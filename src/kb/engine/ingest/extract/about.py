"""Turns what a document says about itself into short metadata."""

import re
from collections.abc import Mapping
from typing import Any

_LONGEST = 500  # characters of a value; metadata comes with every list of documents
_DATE = re.compile(
    r"(\d{4})(-\d\d(-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:?\d\d)?)?)?)?"
)


def about(values: Mapping[str, str | None]) -> dict[str, Any]:
    """The values that say something, each on one line and not too long."""
    lines = {name: line(value) for name, value in values.items() if value}
    return {name: value for name, value in lines.items() if value}


def line(text: str, longest: int = _LONGEST) -> str:
    """A text on one line, without what cannot be printed, and not too long."""
    words = " ".join(text[: 4 * longest].split())
    return "".join(character for character in words if character.isprintable())[:longest].strip()


def iso_date(text: str | None) -> str | None:
    """A date or time as it stands, if it is ISO 8601; people's own forms are left out."""
    match = _DATE.match((text or "").strip())
    return match[0].replace(" ", "T") if match else None
