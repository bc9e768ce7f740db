"""The errors for files that are refused, in the same words for every format."""

from pathlib import Path

from kb.engine.errors import (
    ContentTooLarge,
    DamagedFile,
    NestedTooDeep,
    NoTextFound,
    PasswordNeeded,
)


class Refusals:
    """What reads a file is one of these, so that each of its parts can refuse it."""

    def __init__(self, filename: str) -> None:
        self._filename = filename

    def damaged(self, reason: str) -> DamagedFile:
        return DamagedFile(f"{self._filename} is damaged: {reason}", filename=self._filename)

    def too_large(self, reason: str) -> ContentTooLarge:
        message = f"{self._filename} is too large to read: {reason}"
        return ContentTooLarge(message, filename=self._filename)

    def bytes_of(self, path: Path, most: int) -> bytes:
        """The whole file, if it has no more than so many."""
        with path.open("rb") as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise self.too_large(f"it has more than {most // 2**20} MB")
        return data

    def too_deep(self) -> NestedTooDeep:
        message = f"{self._filename} is nested too deeply to read"
        return NestedTooDeep(message, filename=self._filename)

    def locked(self) -> PasswordNeeded:
        return PasswordNeeded(
            f"{self._filename} is protected by a password: remove it and add the file again",
            filename=self._filename,
        )

    def no_text(self) -> NoTextFound:
        message = (
            f"{self._filename} has no text in it: it may be empty, or all its text may be in"
            " pictures. Open it to see, and save pictures of text as pdf or png"
        )
        return NoTextFound(message, filename=self._filename)
