"""An object within a document: where it is, and how to get it."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

# Its name and its bytes, or why there are none; None: it is nothing that could be read here.
File: TypeAlias = "tuple[str, bytes] | str | None"

# By programs.
_MADE_UP = ("oleobject", "microsoft_", "object", "embedded", "package", "afchunk", "image")


@dataclass(frozen=True, slots=True)
class Found:
    """An object by where it is in words (`object on slide 3`), and how it is had. A picture is read
    only if its object was not."""

    place: str
    file: Callable[[], File]
    is_picture: bool = False

    def is_named(self, name: str) -> bool:
        """Whether a person called it so, and a reader does not know it from the place."""
        return not name.lower().startswith(_MADE_UP) and name not in self.place


def told_apart(objects: Iterable[Found]) -> Iterator[Found]:
    """Those that stand in the same place are counted: `object 2 on Sheet1`."""
    told: Counter[str] = Counter()
    for each in objects:
        told[each.place] += 1
        number = told[each.place]
        counted = each.place.replace("object", f"object {number}", 1)
        yield each if number == 1 else replace(each, place=counted)
