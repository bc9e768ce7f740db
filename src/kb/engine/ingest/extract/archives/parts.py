"""Reads the files inside a file, counts them, and skips those that killed a reader before."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from kb.engine.ingest.extract.archives.attached import Read, attached_pages, pass_over
from kb.engine.ingest.extract.extraction import OcrNeeded, Source
from kb.engine.pages import Page, Remark, Unread

__all__ = ["Item", "Parts", "Read"]

Item = Page | Unread | Remark


class Parts:
    """Reads what is inside of one document. With `careful`, a reader died of the part before, which
    begins after `start` pages: that one is passed over."""

    def __init__(self, source: Source, read: Read) -> None:
        self._source = source
        self._read = read
        self._pages = 0
        self._deadly = source.start if source.careful else None

    def after_start(self, items: Iterable[Item]) -> Iterator[Item]:
        """The pages after those that are already done. Remarks are not pages."""
        done = 0
        for item in items:
            done += not isinstance(item, Remark)
            if done > self._source.start or isinstance(item, Remark):
                yield item

    def counted(self, page: Item) -> Item:
        if isinstance(page, Remark):
            return page
        self._pages += 1
        return replace(page, number=self._pages) if isinstance(page, Unread) else page

    def own(self, pages: Iterable[Item]) -> Iterator[Item]:
        """Those of the document itself."""
        pass_over(self._source, self._pages)
        for page in pages:
            yield self.counted(page)
            pass_over(self._source, self._pages)

    def begin(self, place: str) -> Item:
        """An empty page, so that it is known of which part a reader died."""
        return self.counted(Page("", location=place))

    @property
    def is_deadly(self) -> bool:
        """Whether a reader died here, which is told once."""
        if self._pages != self._deadly:
            return False
        self._deadly = None
        return True

    def pages(self, data: bytes, name: str, place: str) -> Iterator[Item]:
        """Those of one file, each cited by where the file is and its place in there."""
        try:
            pass_over(self._source, self._pages)
            for page in attached_pages(self._source, name, data, place, self._read):
                yield self.counted(page)
                pass_over(self._source, self._pages)
                if self.is_deadly:
                    yield Remark(f"{place} was not read to its end: it kills its reader")
                    return
        except OcrNeeded as error:
            raise OcrNeeded(self._pages + 1) from error
