"""A text or a file's name in, a title out, for documents that nobody named."""

from pathlib import PurePosixPath, PureWindowsPath

LONGEST = 80


def first_line(text: str) -> str:
    """A note's title when none is given: its first line with words, without heading marks."""
    return shortened(_first_line(text))


def is_first_line(title: str, text: str) -> bool:
    """Whether a note has its title from its text; formerly that was cut within a word."""
    return title in (first_line(text), _first_line(text)[:LONGEST])


def stem(filename: str) -> str:
    name = PureWindowsPath(PurePosixPath(filename).name).name
    return name.rsplit(".", 1)[0] or name


def shortened(title: str) -> str:
    """The title, if it is too long up to the end of a word, with an ellipsis.

    Where no space is near, as in languages that have none, it is cut where the room ends.
    """
    if len(title) <= LONGEST:
        return title
    space = title.rfind(" ", LONGEST // 2, LONGEST)
    cut = title[: LONGEST - 1 if space < 0 else space]
    return cut.rstrip(" ,;:–—-") + "…"


def _first_line(text: str) -> str:
    for line in text.splitlines():
        bare = line.strip().lstrip("#").strip()
        if bare:
            return bare
    return "Note"
