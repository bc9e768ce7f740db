"""Reads the text in a picture or, if there is none, describes the picture in a few words.

Only Pillow decodes it, and only after the size in the header has been checked.
"""

import contextlib
import struct
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import replace
from importlib import import_module
from itertools import pairwise
from typing import Literal

import numpy as np
from PIL import Image as Images
from PIL import ImageOps, UnidentifiedImageError
from PIL.ExifTags import Base
from PIL.Image import Image, Resampling

from kb.engine.errors import ContentTooLarge, DamagedFile
from kb.engine.ingest import ocr
from kb.engine.ingest.extract.about import about
from kb.engine.ingest.extract.extraction import Extraction, OcrNeeded, Source
from kb.engine.ingest.extract.pictures.description import describe
from kb.engine.ingest.extract.pictures.exif import Facts, facts
from kb.engine.pages import Page, PlacedWord, Remark, Unread

MAX_PIXELS = 50_000_000
MAX_FRAMES = 5_000
FORMATS = {
    "JPEG": "jpg",
    "PNG": "png",
    "GIF": "gif",
    "TIFF": "tiff",
    "WEBP": "webp",
    "BMP": "bmp",
    "JPEG2000": "jp2",
    "AVIF": "avif",
    "HEIF": "heic",
}
_LARGEST = 4_000  # pixels on the longer side that are worth reading
_READ_WHOLE = 2_000  # pixels on the longer side
_A_WORD = 2  # letters
_FEW_LETTERS = 100  # of a picture's text: it is described, too
_LIGHT = 200  # of 255
_DARK = 80
_OPAQUE = 127
_SOME = 0.0005  # of what is drawn: a few words on a map
_SMALLEST = 24  # pixels on the shorter side: less is an icon
_TALL = 2.5  # times as high as wide: a picture of a long page, which is read in parts
_PART = 1.5  # times the width
DAMAGE = (
    UnidentifiedImageError,
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    TypeError,
    ArithmeticError,
    struct.error,
    RuntimeError,  # libheif, of what is beyond its limits
)

Images.MAX_IMAGE_PIXELS = MAX_PIXELS


def extract(source: Source) -> Extraction:
    """Raises DamagedFile, and ContentTooLarge for more pixels than can be borne."""
    picture = _open(source)
    file_format = FORMATS.get(picture.format or "", "jpg")
    known = facts(picture)
    metadata = about(
        {
            "author": known.author,
            "created": known.created,
            "keywords": known.keywords,
            "camera": known.camera,
            "dimensions": "{} × {}".format(*_shown_size(picture)),
        }
    )
    if known.place:
        metadata |= zip(("latitude", "longitude"), known.place, strict=True)
    reader = _Reader(source, picture, file_format.upper(), known)
    count = reader.frames if picture.format == "TIFF" else None
    return Extraction("image", file_format, reader.pages(), known.title, metadata, count)


def extract_heic(source: Source) -> Extraction:
    """Pictures of phones. Pillow leaves them to a library that is large and seldom needed."""
    pi_heif = import_module("pi_heif")
    pi_heif.register_heif_opener(thumbnails=False)
    return extract(source)


def _open(source: Source) -> Image:
    """The picture by its header alone."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Images.DecompressionBombWarning)
            picture = Images.open(source.path, formats=tuple(FORMATS))
    except (Images.DecompressionBombWarning, Images.DecompressionBombError) as error:
        raise _too_large(source) from error
    except DAMAGE as error:
        raise _damaged(source) from error
    return picture


class _Reader:
    """Reads one frame after the other; a tall one in parts."""

    def __init__(self, source: Source, picture: Image, name: str, known: Facts) -> None:
        self._source = source
        self._picture = picture
        self._name = name
        self._facts = known
        self.frames = _frame_count(picture)
        self._reading: ocr.Reading | None = None

    def pages(self) -> Iterator[Page | Unread | Remark]:
        done = 0
        with self._picture:
            for number in range(1, self.frames + 1):
                empty = self._in_place_of(number)
                if empty is not None:
                    done += 1
                    if done > self._source.start:
                        yield empty
                    continue
                frame = self._frame(number)
                pieces = parts(frame)
                top = 0
                for place, part in enumerate(pieces, start=1):
                    done += 1
                    if done > self._source.start:
                        location = f"part {place} of {len(pieces)}" if len(pieces) > 1 else None
                        span = (top / frame.height, part.height / frame.height)
                        yield from self._page(part, number, location, done, span)
                    top += part.height

    def _in_place_of(self, number: int) -> Page | None:
        """An empty page for a frame that is not wanted now."""
        wanted = self._source.wanted
        is_recognised = self._source.ocr.engine != "off" and min(self._size(number)) >= _SMALLEST
        if wanted == "all" or is_recognised == (wanted == "pictures"):
            return None
        method: Literal["later", "text"] = "later" if is_recognised else "text"
        return Page("", number if self.frames > 1 else None, method=method, lines_count=False)

    def _page(
        self,
        part: Image,
        number: int,
        location: str | None,
        place: int,
        span: tuple[float, float],
    ) -> Iterator[Page | Unread | Remark]:
        """One page, and where the whole picture may hold more than was read, that it does.

        `span` is where the part begins in its frame and how high it is, as shares of it.
        """
        found = self._recognised(part, number)
        doubt = "" if found is None else found.doubt
        text = "" if found is None or doubt else found.text.strip()
        if _letters(text) < _A_WORD:  # a dash or a dot that is no text
            text = ""
        whole = self.frames == 1 and location is None
        if whole or not doubt:
            yield Page(
                self._words(part, text, whole, place == 1),
                number if self.frames > 1 else None,
                location,
                method="ocr" if text else "image",
                lines_count=False,
                words=_in_frame(found.words, *span) if found is not None and text else (),
            )
        if doubt and whole and self._source.depth:
            yield Remark(f"it {doubt}")  # one page for each picture, whatever is on it
        elif doubt:
            yield Unread(place, doubt)

    def _words(self, part: Image, text: str, whole: bool, first: bool) -> str:
        """The text with people's captions; with little of it, a few words about the picture."""
        captions = "\n".join(self._facts.captions) if first else ""
        if whole and _letters(text) < _FEW_LETTERS:
            told = describe(part, self._name, _shown_size(self._picture), self._facts)
            return "\n\n".join(filter(None, [text, told]))
        return "\n\n".join(filter(None, [captions, text]))

    def _recognised(self, part: Image, number: int) -> ocr.Recognised | None:
        if self._source.ocr.engine == "off" or min(part.size) < _SMALLEST:
            return None
        reader = ocr.reader()
        if reader is None:
            raise OcrNeeded(number)
        if self._reading is None:
            self._reading = reader.document(self.frames)
        return self._reading.read(part)

    def _size(self, number: int) -> tuple[int, int]:
        try:
            if self.frames > 1:
                self._picture.seek(number - 1)
            return self._picture.size
        except DAMAGE as error:
            raise _damaged(self._source) from error

    def _frame(self, number: int) -> Image:
        """A frame as a person sees it."""
        picture = self._picture
        self._size(number)
        try:
            if picture.width * picture.height > MAX_PIXELS:
                raise _too_large(self._source)
            return seen(picture)
        except DAMAGE as error:
            raise _damaged(self._source) from error
        except MemoryError as error:
            raise _too_large(self._source) from error


def seen(picture: Image) -> Image:
    """A picture as a person sees it, without transparency and not needlessly large."""
    shrink = max(picture.size) / _LARGEST
    if shrink > 1:  # a JPEG can be decoded at a half or a quarter of its size
        picture.draft(None, (int(picture.width / shrink), int(picture.height / shrink)))
    shown = _opaque(ImageOps.exif_transpose(picture))
    if shrink > 1 and max(shown.size) < _TALL * min(shown.size):
        shown.thumbnail((_LARGEST, _LARGEST), Resampling.BOX)
    return shown


def _shown_size(picture: Image) -> tuple[int, int]:
    """Width and height as it is to be shown: a camera held upright notes that it was turned."""
    try:
        turned = picture.getexif().get(Base.Orientation) in (5, 6, 7, 8)
    except DAMAGE:
        turned = False
    return (picture.height, picture.width) if turned else picture.size


def _frame_count(picture: Image) -> int:
    """Pages of a TIFF; of what moves, the first frame says what it is."""
    if picture.format != "TIFF":
        return 1
    count = 1
    with contextlib.suppress(*DAMAGE):  # that there is no more, or that what follows is damaged
        while count < MAX_FRAMES:
            picture.seek(count)
            count += 1
    picture.seek(0)
    return count


def _opaque(picture: Image) -> Image:
    """In colours or shades of gray, on a background that contrasts with the drawing."""
    if picture.mode.startswith("I;16"):
        return Images.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    if picture.mode in ("RGBA", "LA", "PA", "RGBa", "La") or "transparency" in picture.info:
        drawn = picture.convert("RGBA")
        ground = Images.new("RGBA", drawn.size, _ground(drawn))
        return Images.alpha_composite(ground, drawn).convert("RGB")
    return picture.convert("L" if picture.mode in ("1", "L", "I", "F") else "RGB")


def _ground(drawn: Image) -> str:
    """Behind a transparent drawing: black if it is light, gray if it has dark letters, too."""
    pixels = np.asarray(drawn)
    opaque = pixels[:, :, 3] > _OPAQUE
    gray = np.asarray(drawn.convert("L"))[opaque]
    if not gray.size or gray.mean() <= _LIGHT:
        return "white"
    return "gray" if (gray < _DARK).mean() > _SOME else "black"


def parts(picture: Image) -> list[Image]:
    """A tall picture in pieces, cut where a row of pixels shows the least."""
    width, height = picture.size
    if height < _TALL * width or height < _READ_WHOLE:
        return [picture]
    narrow = picture.convert("L").resize((64, height), Resampling.BOX)
    unrest = np.asarray(narrow, dtype=np.float32).std(axis=1)
    unrest[1:] = np.maximum(unrest[1:], unrest[:-1])  # of the rows on both sides of a cut
    step = int(_PART * width)
    cuts = [0]
    while height - cuts[-1] > 1.5 * step:
        end = cuts[-1] + step
        calmest = int(unrest[end - step // 2 : end][::-1].argmin())  # the last of several
        cuts.append(end - 1 - calmest)
    cuts.append(height)
    return [picture.crop((0, top, width, bottom)) for top, bottom in pairwise(cuts)]


def _in_frame(words: Iterable[PlacedWord], top: float, height: float) -> tuple[PlacedWord, ...]:
    """The words of a part, with their positions in the whole."""
    return tuple(
        replace(
            word,
            box=replace(
                word.box, top=top + height * word.box.top, bottom=top + height * word.box.bottom
            ),
        )
        for word in words
    )


def _letters(text: str) -> int:
    return sum(character.isalnum() for character in text)


def _too_large(source: Source) -> ContentTooLarge:
    return ContentTooLarge(
        f"{source.filename} has more than {MAX_PIXELS // 1_000_000} million pixels:"
        " make it smaller and add it again",
        filename=source.filename,
    )


def _damaged(source: Source) -> DamagedFile:
    return DamagedFile(
        f"{source.filename} is damaged: it cannot be opened as a picture",
        filename=source.filename,
    )
