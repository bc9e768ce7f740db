"""Makes a page of text of each picture in a document, with the place it stands at."""

import hashlib
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from PIL import Image as Images
from PIL.Image import Image

from kb.engine.errors import KbError
from kb.engine.ingest import ocr
from kb.engine.ingest.extract.extraction import Extraction, OcrNeeded, Source
from kb.engine.ingest.extract.pictures.image import DAMAGE, FORMATS, MAX_PIXELS, parts, seen
from kb.engine.pages import Page, Remark, Unread

DIED = "its reader came to a bad end"
MOST = 2_000  # pictures of a document
_SHORTEST_SIDE = 24  # pixels: less is an icon, or a line
_SMALLEST = 5_000  # pixels in all: less is an icon, too, unless it has the shape of a word
_WORD_SHAPE, _SMALLEST_WORD = 3, 1_500  # times as wide as high; pixels
_A_WORD = 2  # letters
_TOO_LARGE = (Images.DecompressionBombWarning, Images.DecompressionBombError, MemoryError)


@dataclass(frozen=True, slots=True)
class Found:
    """A picture by its bytes, the number of its page, and the place in words: `on slide 3`."""

    place: str
    data: Callable[[], bytes]
    number: int | None = None


def extraction(doc_type: str, source: Source, found: Sequence[Found]) -> Extraction:
    return Extraction(
        doc_type,
        doc_type,
        _pages(source, found[:MOST], len(found) > MOST),
        page_count=min(len(found), MOST),
    )


def _pages(
    source: Source, found: Sequence[Found], are_more: bool
) -> Iterator[Page | Unread | Remark]:
    if source.careful:
        yield Unread(source.start + 1, DIED)
        return
    reading = Reading(len(found))
    if are_more:
        yield Remark(f"it has more than {MOST:,} pictures: the others were not read")
    for number, each in enumerate(found):
        text = ""
        if number >= source.start:
            try:
                text, doubt = reading.text_of(each.data())
            except KbError as error:
                doubt = error.message
            if doubt:
                yield Remark(f"the picture {each.place} {doubt}")
            yield Page(text, each.number, f"picture {each.place}", method="ocr", lines_count=False)
        else:  # so that it is known, should it come again
            reading.know(each.data())


class Reading:
    """Reads the pictures of one document, each once."""

    def __init__(self, pictures: int) -> None:
        reader = ocr.reader()
        if reader is None:
            raise OcrNeeded(1)
        self._reading = reader.document(pictures)
        self._known: set[bytes] = set()

    def know(self, data: bytes) -> bool:
        """Whether a picture has come before; from now on it has."""
        key = hashlib.sha256(data).digest()
        is_known = key in self._known
        self._known.add(key)
        return is_known

    def text_of(self, data: bytes) -> tuple[str, str]:
        """The text of a picture, and its problem, if any, in words that continue "the picture on
        slide 3 "."""
        if self.know(data):
            return "", ""
        try:
            picture = _opened(data)
            if not is_large(*picture.size):
                return "", ""
            shown = seen(picture)
        except _TOO_LARGE:
            return "", f"has more than {MAX_PIXELS // 1_000_000} million pixels and was not read"
        except DAMAGE:
            return "", "is damaged, or in a form that cannot be read"
        return self.text_on(shown)

    def text_on(self, shown: Image) -> tuple[str, str]:
        """The same of a picture as a person sees it."""
        found = [self._reading.read(part) for part in parts(shown)]
        text = "\n\n".join(each.text.strip() for each in found if each.text and not each.doubt)
        doubt = next((each.doubt for each in found if each.doubt), "")
        return text if sum(map(str.isalnum, text)) >= _A_WORD else "", doubt


def is_large(width: int, height: int) -> bool:
    """Whether a picture of this size can contain a word."""
    smallest = _SMALLEST_WORD if width >= _WORD_SHAPE * height else _SMALLEST
    return min(width, height) >= _SHORTEST_SIDE and width * height >= smallest


def may_hold_text(data: bytes) -> bool:
    """Whether a picture is large enough for a word. Of what cannot be opened its reader tells."""
    try:
        with _opened(data) as picture:
            return is_large(*picture.size)
    except (*_TOO_LARGE, *DAMAGE):
        return True


def _opened(data: bytes) -> Image:
    with warnings.catch_warnings():
        warnings.simplefilter("error", Images.DecompressionBombWarning)
        return Images.open(io.BytesIO(data), formats=tuple(FORMATS))
