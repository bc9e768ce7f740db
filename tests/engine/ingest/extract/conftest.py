"""A reader of pictures that extractors find in the tests of readers; none is left behind."""

import pytest

from kb.engine.ingest import ocr
from kb.engine.ingest.ocr import Recognised


class FakeReader:
    """Says of each picture how large it is, or what it was told to say, and keeps the pictures."""

    dpi = 200

    def __init__(self) -> None:
        self.answer: Recognised | None = None
        self.pictures = []
        self.pages = 0

    def document(self, pages=1):
        self.pages = pages
        return self

    def read(self, picture):
        self.pictures.append(picture)
        return self.answer or Recognised(f"{picture.width} by {picture.height}", 0.99)


@pytest.fixture
def reader():
    fake = FakeReader()
    ocr.hold(fake)
    yield fake
    ocr.hold(None)
