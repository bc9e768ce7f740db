"""The types of fields that several routes share, with their checks."""

import contextlib
import json
import math
import re
import unicodedata
from datetime import UTC, date, datetime, time
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from kb.engine.values import LONGEST_TITLE
from kb.kinds import WORDS, as_format, kinds_of

MOST_TAGS = 100
MOST_NOTE_CHARACTERS = 1_000_000
DEEPEST = 8
METADATA_BYTES = 2**20
_SURROGATE = re.compile("[\ud800-\udfff]")


class Body(BaseModel):
    """A request body. An unknown field is refused: a typo is not a silent default."""

    model_config = ConfigDict(extra="forbid")


def _one_line(text: str) -> str:
    text = unicodedata.normalize("NFC", text).strip()
    if not text:
        raise ValueError("must not be blank")
    if _holds_controls(text):
        raise ValueError("must not hold control characters or line breaks")
    return text


def _holds_controls(text: str) -> bool:
    return any(unicodedata.category(character) in ("Cc", "Cs") for character in text)


def _path(text: str) -> str:
    """As it was sent: which spelling of a path is kept, the store decides."""
    shown = _one_line(text)
    return shown if _holds_controls(text) else text


def _text(text: str) -> str:
    if "\0" in text:
        raise ValueError("must not hold NUL characters")
    if not text.strip():
        raise ValueError("must not be blank")
    if len(text) > MOST_NOTE_CHARACTERS:
        raise ValueError(
            f"a note has at most {MOST_NOTE_CHARACTERS:,} characters; add a longer text as a file"
        )
    return text


def _unique(tags: list[str]) -> list[str]:
    return list(dict.fromkeys(tags))


def several(choice: str | list[str] | None) -> tuple[str, ...]:
    """None, one or several, as several."""
    return () if choice is None else (choice,) if isinstance(choice, str) else tuple(choice)


def doc_types(choice: str | list[str] | None) -> tuple[str, ...]:
    """What is in the store, for the words of a `Kind` or of `Kinds`."""
    return kinds_of(*several(choice))


def _known(choice: str | list[str]) -> str | list[str]:
    doc_types(choice)
    return choice


def _moment(text: str, at_end: bool) -> str:
    """A date or a time as the store writes times; a date alone is its start or its end."""
    try:
        if len(text) <= len("2026-01-31"):
            day = date.fromisoformat(text)
            moment = datetime.combine(day, time.max if at_end else time.min, UTC)
        else:
            moment = datetime.fromisoformat(text)
            moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ValueError("must be a date (2026-01-31) or a time (2026-01-31T12:00:00Z)") from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def _seen(text: str) -> str:
    """A time to be compared with those in the store: another spelling would only ever conflict."""
    with contextlib.suppress(ValueError):
        if _moment(text, at_end=False) == text:
            return text
    raise ValueError(
        "must be the updated_at (or created_at) that kb answered, such as"
        " 2026-01-31T12:00:00.000000Z"
    )


Tag = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_line)]
Tags = Annotated[list[Tag], Field(max_length=MOST_TAGS), AfterValidator(_unique)]
Title = Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE), AfterValidator(_one_line)]
SourcePath = Annotated[str, Field(min_length=1, max_length=4096), AfterValidator(_path)]
Origin = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_line)]
Count = Annotated[int, Field(ge=0, le=2**63 - 1)]
Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
Label = Annotated[str, Field(min_length=1, max_length=50), AfterValidator(_one_line)]
_KindWord = Annotated[
    str, Field(min_length=1, max_length=50, json_schema_extra={"enum": list(WORDS)})
]
Kind = Annotated[_KindWord, AfterValidator(_known)]
Kinds = Annotated[
    _KindWord | Annotated[list[_KindWord], Field(min_length=1, max_length=50)],
    AfterValidator(_known),
]
Format = Annotated[Label, AfterValidator(as_format)]
# The upper bound is checked with the text, which says what to do; the schema names it all the same.
NoteText = Annotated[
    str,
    Field(min_length=1, json_schema_extra={"maxLength": MOST_NOTE_CHARACTERS}),
    AfterValidator(_text),
]
Moment = Annotated[str, Field(min_length=1, max_length=40), AfterValidator(_seen)]
After = Annotated[str, Field(max_length=40), AfterValidator(lambda text: _moment(text, False))]
Before = Annotated[str, Field(max_length=40), AfterValidator(lambda text: _moment(text, True))]


def _bounded(metadata: Any) -> Any:
    """Level by level, without recursion: what is in it decides how deep it is.

    Before it is known to be metadata at all: what goes too deep breaks that check."""
    level: list[Any] = [metadata]
    for _ in range(DEEPEST + 1):
        level = [inner for value in level for inner in _inside(value)]
        if not all(map(_fits_json, level)):
            raise ValueError("must not hold NaN, infinity or half a character")
        if not level:
            return _small(metadata)
    raise ValueError(f"must not be nested more than {DEEPEST} deep")


def _small(metadata: Any) -> Any:
    """It is in every list of documents; a body may be as large as a note."""
    if len(json.dumps(metadata, ensure_ascii=False).encode()) > METADATA_BYTES:
        raise ValueError("must not take more than 1 MB as JSON")
    return metadata


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []


def _fits_json(value: Any) -> bool:
    """Python reads more as JSON than it may write as JSON."""
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, str) or not _SURROGATE.search(value)


Metadata = Annotated[
    dict[Annotated[str, Field(max_length=200)], JsonValue],
    Field(max_length=200),
    BeforeValidator(_bounded),
]
