"""What a file should give, by a way of reading that shares nothing with kb's."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Reference:
    """The text that is to be found. `group` is who made the file, where that can be told.

    `headings` and `items` are those that have words in them; a format without them has none.
    `allowed` is text that may be found as well, and need not. `has_layout` says that a file of this
    kind knows no paragraphs, so that a reader has to tell where sentences go on.
    """

    text: str
    group: str = ""
    headings: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    allowed: str = ""
    has_layout: bool = False


Read = Callable[[Path], Reference | None]  # None for a file that it cannot read either


def labelled(path: Path) -> str | None:
    """The text as a person has written it down, in a file of that name and `.txt` beside it."""
    beside = path.with_name(path.name + ".txt")
    return beside.read_text("utf-8") if beside.exists() else None
