"""An object within a document: where it is, and how it is had."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

File: TypeAlias = "tuple[str, bytes] | str"  # its name and its bytes, or why there are none

_MADE_UP = ("oleobject", "microsoft_", "object", "embedded", "package", "afchunk")  # by programs


@dataclass(frozen=True, slots=True)
class Found:
    """An object by where it is in words (`object on slide 3`), and how it is had."""

    place: str
    file: Callable[[], File]

    def is_named(self, name: str) -> bool:
        """Whether a person called it so, and a reader does not know it from the place."""
        return not name.lower().startswith(_MADE_UP) and name not in self.place
