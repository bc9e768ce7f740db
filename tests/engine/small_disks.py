"""A folder in, a full disk out."""

from contextlib import suppress


def fill_up(folder):
    """Leave no room; the file to delete to make some again."""
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4096)):
            pass
    return filler
