"""Writes the log to stderr: JSON for machines, plain text for a person at a terminal.

One event is one line, whatever a file name or an error message contains, and the keys given to
`configure` never appear.
"""

import json
import logging
import re
import sys
import traceback
from collections.abc import Iterable
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import TextIO

from kb.settings.keys import SHORTEST_KEY

CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
MESSAGE_SHOWN = 300  # of an exception: enough to understand it, too little to hold a document
CAUSES_SHOWN = 5

_request = ContextVar("request", default="")


def name_request(request_id: str) -> None:
    """From here on, every line about what this task does carries the id."""
    _request.set(request_id)


def current_request() -> str:
    """The id that this task's lines carry; empty outside of a request."""
    return _request.get()


def configure(
    level: str = "INFO", *, secrets: Iterable[str] = (), stream: TextIO | None = None
) -> None:
    """Send everything from `level` up to stderr, in place of whatever was configured before."""
    out = stream if stream is not None else sys.stderr
    handler = logging.StreamHandler(out)
    handler.setFormatter((PlainLines if out.isatty() else JsonLines)(secrets))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())


class _Lines(logging.Formatter):
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        super().__init__()
        patterns = [_pattern(secret) for secret in secrets if secret]
        self._secrets = re.compile("|".join(patterns)) if patterns else None

    def _hide(self, text: str) -> str:
        return self._secrets.sub("***", text) if self._secrets else text


def _pattern(secret: str) -> str:
    """Any key is taken, one that is part of a common word, too: a short one must stand alone."""
    found = re.escape(secret)
    return found if len(secret) >= SHORTEST_KEY else rf"(?<!\w){found}(?!\w)"


class JsonLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        event = {
            "time": _time(record).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
            "level": record.levelname,
            "logger": record.name,
            "message": self._hide(record.getMessage()),
        }
        if request_id := _request.get():
            event["request"] = request_id
        if record.exc_info and record.exc_info[1] is not None:
            event["exception"] = self._hide(_traceback(record.exc_info[1]))
        # ASCII alone: every control character but one is escaped by it, wherever it stands.
        return json.dumps(event, ensure_ascii=True).replace("\x7f", "\\u007f")


class PlainLines(_Lines):
    def format(self, record: logging.LogRecord) -> str:
        time = _time(record).astimezone().strftime("%H:%M:%S")
        line = f"{time} {record.levelname:7} {_escape(self._hide(record.getMessage()))}"
        if request_id := _request.get():
            line += f" ({request_id})"
        if record.exc_info and record.exc_info[1] is not None:
            frames = self._hide(_traceback(record.exc_info[1])).splitlines()
            line += "".join(f"\n    {_escape(frame)}" for frame in frames)
        return line


def _time(record: logging.LogRecord) -> datetime:
    return datetime.fromtimestamp(record.created, UTC)


def _escape(text: str) -> str:
    """Control characters could recolour the terminal or fake a line; direction marks, mislead."""
    escaped = CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return escaped.encode("utf-8", "backslashreplace").decode()


def _traceback(error: BaseException) -> str:
    """Frames without their local values, and each message cut short: contents stay out of logs."""
    parts: list[str] = []
    link: BaseException | None = error
    while link is not None and len(parts) < CAUSES_SHOWN:
        message = str(link)[:MESSAGE_SHOWN]
        frames = "".join(traceback.format_tb(link.__traceback__))
        parts.append(f"{frames}{type(link).__qualname__}: {message}")
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)
    return "\nwhich led to:\n".join(reversed(parts))
