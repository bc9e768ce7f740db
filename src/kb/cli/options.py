"""The options that several commands share, checked."""

import functools
import os
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

import click

from kb.cli.completion import complete_tags
from kb.cli.session import Session, engine_of
from kb.cli.terminal.say import Decorator, json_option
from kb.kinds import OFFERED


def with_engine(function: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say which engine, and a `Session` made of them."""

    @click.option(
        "--engine-url", metavar="URL", help="Where the engine is. [env var: KB_ENGINE_URL]"
    )
    @click.option(
        "--api-key-file",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="A file with the key, readable only by you. [env var for the key: KB_API_KEY]",
    )
    @json_option
    @functools.wraps(function)
    def command(
        *args: Any,
        engine_url: str | None,
        api_key_file: Path | None,
        as_json: bool,
        **options: Any,
    ) -> Any:
        url, key, origin = engine_of(engine_url, api_key_file)
        return function(Session(url, key, as_json, origin), *args, **options)

    return command


# Any text, but a shell completes it with the names of files. Whether it can be read is found out
# where it is read.
ANY_PATH = click.Path(readable=False)


def path_prefix_option(help: str = "Only documents whose path starts with this.") -> Decorator:
    """An option for the beginning of paths. A folder of this machine means what is in it: `pap`
    is not the beginning of `pap-old`."""

    def as_folder(_ctx: Any, _param: Any, value: str | None) -> str | None:
        return os.path.join(value, "") if value and os.path.isdir(value) else value

    return click.option(
        "--path-prefix",
        metavar="PATH",
        type=ANY_PATH,
        callback=as_folder,
        help=f"{help} A folder: what is in it.",
    )


def tags_option(name: str = "--tags", help: str = "Only with all of these tags.") -> Decorator:
    """An option for tags, repeated or with commas, that gives one flat list without repeats."""

    def flat(_ctx: Any, _param: Any, value: tuple[str, ...]) -> list[str]:
        tags = (tag.strip() for part in value for tag in part.split(","))
        return list(dict.fromkeys(filter(None, tags)))

    return click.option(
        name,
        multiple=True,
        metavar="TAG,…",
        callback=flat,
        shell_complete=complete_tags,
        help=f"{help} Repeat it or use commas.",
    )


def _offered_kinds(_ctx: Any, _param: Any, begun: str) -> list[str]:
    return [word for word in OFFERED if word.startswith(begun.lower())]


def type_option(help: str = "Only this kind, such as note, pdf or spreadsheet.") -> Decorator:
    """An option for a kind of document. Whether a word is one the engine tells: it may know more
    of them than this command."""
    return click.option(
        "--type", "doc_type", metavar="TYPE", shell_complete=_offered_kinds, help=help
    )


per_document_option = click.option(
    "--per-document", metavar="N", type=click.IntRange(1, 100), help="At most N of one document."
)
min_relevance_option = click.option(
    "--min-relevance",
    metavar="X",
    type=click.FloatRange(0, 1),
    help="Only passages at least this relevant.",
)
recency_option = click.option(
    "--recency",
    metavar="DAYS",
    type=click.FloatRange(0, 36_500, min_open=True),
    help="Prefer new documents: after DAYS, being new counts half.",
)


_AGE = re.compile(r"(\d{1,6})([hdw])")
_SECOND = re.compile(r"[T ]\d\d:\d\d:\d\d(?![.,\d])")
_HOURS = {"h": 1, "d": 24, "w": 168}


def moment_option(name: str, field: str, help: str, *, at_end: bool = False) -> Decorator:
    """An option for a time: a date, a date with a time (both of this machine's zone) or an age.

    A date means the whole day: its first moment, or with `at_end` its last. So does a second.
    """

    def as_api_writes(_ctx: Any, _param: Any, value: str | None) -> str | None:
        return None if value is None else _moment(value.strip(), at_end)

    return click.option(name, field, metavar="TIME", callback=as_api_writes, help=help)


def _moment(text: str, at_end: bool) -> str:
    age = _AGE.fullmatch(text)
    try:
        if age:
            moment = datetime.now(UTC) - timedelta(hours=int(age[1]) * _HOURS[age[2]])
        elif len(text) == len("2026-01-31"):
            day = date.fromisoformat(text)
            moment = datetime.combine(day, time.max if at_end else time.min).astimezone(UTC)
        else:
            moment = datetime.fromisoformat(text).astimezone(UTC)
            if at_end and _SECOND.search(text):
                moment = moment.replace(microsecond=999_999)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is not a time; use 2026-01-31, 2026-01-31T12:00 or an age such as 7d"
        ) from None
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
