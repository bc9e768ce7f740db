"""Draws pages of stored files in the sandbox, since that means parsing a hostile file, and keeps
the pictures in a folder under the original's name, so that they are deleted with it. If there are
too many, those not requested for longest are deleted."""

import base64
import binascii
import json
import logging
import os
import re
import threading
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kb.engine.data_folder.originals import naming_trouble
from kb.engine.errors import ExtractionFailed, NoSuchPage, NoTextFound
from kb.engine.ingest.extract.extraction import Source
from kb.engine.ingest.sandbox import Limits, Sandbox
from kb.engine.pages import Box, Page, PlacedWord

logger = logging.getLogger(__name__)

DRAWN = frozenset({"pdf", "png", "jpg", "jpeg", "gif", "tif", "tiff", "webp", "bmp"})
READER = "kb.engine.ingest.render.reader"
LIMITS = Limits(
    cpu_seconds=10,
    page_seconds=20.0,
    document_seconds=20.0,
    crashes=1,
    characters=8 * 2**20,
    pages=1,
)
_KEPT = 200 * 2**20
_PNG = b"\x89PNG\r\n\x1a\n"
_OURS = re.compile(r"([0-9a-f]{32})-\d{1,7}\.(png|json)|\.[0-9a-f]{32}")


@dataclass(frozen=True, slots=True)
class Drawn:
    """A page as a picture: where its PNG is, its size, and the words on it."""

    path: Path
    width: int
    height: int
    pages: int
    words: list[PlacedWord]


class PagePictures:
    """Draws pages, one at a time: two would have to share the processor with searches."""

    def __init__(
        self, folder: Path, originals: Path, sandbox: Sandbox, kept_bytes: int = _KEPT
    ) -> None:
        self._folder = folder
        self._originals = originals
        self._sandbox = sandbox
        self._kept_bytes = kept_bytes
        self._drawing = threading.Lock()
        # Or every file that an ingest has no use for would have the whole folder looked through.
        self._drawn: set[str] = set()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def picture(self, stored_name: str, filename: str, number: int) -> Drawn:
        """Raises NoSuchPage, and what reading a file may raise."""
        found = self._kept(stored_name, number)
        if found is not None:
            return found
        with self._drawing:
            return self._kept(stored_name, number) or self._draw(stored_name, filename, number)

    def forget(self, stored_name: str) -> None:
        """Delete the pictures of a file."""
        if stored_name not in self._drawn:
            return
        self._drawn.discard(stored_name)
        for path in self._folder.glob(f"{stored_name}-*"):
            path.unlink(missing_ok=True)

    def sweep(self, needed: Iterable[str]) -> None:
        """At start: delete the pictures of files that are gone, and what a crash left half done."""
        names = set(needed)
        for path in self._folder.iterdir():
            ours = _OURS.fullmatch(path.name)
            if ours and ours[1] in names:
                self._drawn.add(ours[1])
            elif ours:
                path.unlink(missing_ok=True)

    def close(self) -> None:
        self._sandbox.close()

    def _kept(self, stored_name: str, number: int) -> Drawn | None:
        path = self._path(stored_name, number)
        try:
            told = json.loads(path.with_suffix(".json").read_bytes())
            os.utime(path)
        except (OSError, ValueError):
            return None
        return _drawn(path, told)

    def _draw(self, stored_name: str, filename: str, number: int) -> Drawn:
        original = self._originals / stored_name
        source = Source(original, filename, start=number - 1)
        try:
            page = next(iter(self._sandbox.extract(source, lambda: False).pages), None)
        except NoTextFound as error:
            raise NoSuchPage(filename, number) from error
        if not isinstance(page, Page):
            raise ExtractionFailed(
                f"Page {number} of {filename} cannot be drawn", filename=filename
            )
        png, told = _checked(page.text, filename)
        path = self._path(stored_name, number)
        self._drawn.add(stored_name)
        with naming_trouble(self._folder.name):
            self._folder.mkdir(mode=0o700, exist_ok=True)  # all that is in it can be made again
            self._write(path, png)
            self._write(path.with_suffix(".json"), json.dumps(told).encode())
            self._make_room()
        drawn = _drawn(path, told)
        if not original.exists():  # deleted meanwhile, and nothing of it may stay
            self.forget(stored_name)
            raise NoSuchPage(filename, number)
        return drawn

    def _path(self, stored_name: str, number: int) -> Path:
        return self._folder / f"{stored_name}-{number}.png"

    def _write(self, path: Path, content: bytes) -> None:
        temporary = self._folder / f".{uuid.uuid4().hex}"
        temporary.write_bytes(content)
        os.replace(temporary, path)

    def _make_room(self) -> None:
        kept = []
        for path in self._folder.glob("*.png"):
            about = path.stat()
            kept.append((about.st_mtime, about.st_size, path))
        size = sum(bytes_ for _, bytes_, _ in kept)
        for _, bytes_, path in sorted(kept)[:-1]:
            if size <= self._kept_bytes:
                break
            path.with_suffix(".json").unlink(missing_ok=True)
            path.unlink(missing_ok=True)
            size -= bytes_


def _checked(text: str, filename: str) -> tuple[bytes, dict[str, Any]]:
    """The sandbox's answer, if it fits the request: its process may act for the file."""
    try:
        told = json.loads(text)
        png = base64.b64decode(told["png"], validate=True)
        sizes = {name: int(told[name]) for name in ("width", "height", "pages")}
        words = [_word(*word) for word in told["words"]]
    except (ValueError, TypeError, KeyError, IndexError, binascii.Error, RecursionError) as error:
        raise ExtractionFailed(f"{filename} cannot be drawn", filename=filename) from error
    if not png.startswith(_PNG) or not all(0 < size < 10**7 for size in sizes.values()):
        raise ExtractionFailed(f"{filename} cannot be drawn", filename=filename)
    return png, {**sizes, "words": words}


def _word(text: str, *sides: float) -> list[str | float]:
    left, top, right, bottom = (min(max(float(side), 0.0), 1.0) for side in sides)
    return [str(text), left, top, right, bottom]


def _drawn(path: Path, told: dict[str, Any]) -> Drawn:
    words = [PlacedWord(text, Box(*sides)) for text, *sides in told["words"]]
    return Drawn(path, told["width"], told["height"], told["pages"], words)
