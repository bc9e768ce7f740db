"""What a document and its job say about how it was read."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any

from kb.engine.pages import Page, Remark, Unread
from kb.engine.values import Chunk, HowRead

_METHODS = {
    "text": "text_extraction",
    "ocr": "ocr",
    "image": "image_analysis",
    "later": "text_extraction",
}
_REASONS = 3  # that are told in full
_LONGEST_LIST = 200  # characters; this comes with every list of documents
_MOST_WARNINGS = 8


@dataclass(slots=True)
class Reading:
    """The results of a reader, as they come: its pages, those it could not read, its remarks."""

    pages: list[Page] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    def add(self, item: Page | Unread | Remark) -> None:
        if isinstance(item, Page):
            self.pages.append(replace(item, words=()))
        elif isinstance(item, Unread):
            self.unread.append(item)
        else:
            self.remarks.append(item)

    def how_read(
        self, reader: str, page_count: int | None, chunks: Iterable[Chunk], pictures: int = 0
    ) -> HowRead:
        """`page_count` is how many pages the file says it has; `pictures` are still to be read."""
        words = sum(len(chunk.text.split()) for chunk in chunks)
        missing = len({page.number for page in self.unread})
        numbers = {page.number for page in self.pages if page.number is not None}
        return HowRead(
            reader=reader,
            pages=page_count or len(numbers) + missing if numbers or page_count else None,
            pages_by_ocr=len({id(p) if p.number is None else p.number for p in self._recognised}),
            pages_missing=missing if self._has_pages else 0,
            pictures_waiting=pictures,
            words=words,
            share=self._share(words, max(len(numbers), 1), missing),
            warnings=self.warnings(),
        )

    def missing_pages(self) -> dict[str, Any]:
        """What the document's metadata says of the pages that are not in it."""
        if not self.unread or not self._has_pages:
            return {}
        return {"missing_pages": _ranges(page.number for page in self.unread)}

    def message(self) -> str:
        """What a job that is done has to say."""
        warnings = self.warnings()
        return f"Not everything could be read. {'; '.join(warnings)}" if warnings else ""

    @property
    def later(self) -> int:
        """How many pages were left out, as they have to be recognised."""
        return sum(page.method == "later" for page in self.pages)

    @property
    def whole_pages(self) -> int:
        """How many pages were recognised as a whole, and not a picture on them."""
        return len({page.number for page in self._recognised if page.location is None})

    @property
    def pictures(self) -> int:
        """How many pictures on pages, or in files within the file, there is text of."""
        return sum(page.location is not None for page in self.pages)

    @property
    def _recognised(self) -> list[Page]:
        return [page for page in self.pages if page.method == "ocr"]

    @property
    def _has_pages(self) -> bool:
        """Such as people know by their numbers: a mail, or an archive, has none."""
        return not self.pages or any(page.number is not None for page in self.pages)

    def _share(self, words: int, pages: int, missing: int) -> float | None:
        """Down to one in ten thousand; less than 1 where a remark warns of something missing."""
        is_known = not missing or self._has_pages
        if self.later or not is_known or any(remark.text for remark in self.remarks):
            return None
        left_out = sum(remark.words_left_out for remark in self.remarks)
        lost = left_out + missing * max(words / pages, 1)
        return round(min(words / (words + lost), 0.9999), 4) if lost else 1.0

    def warnings(self) -> tuple[str, ...]:
        """Each once: pages by why they are missing, then what the reader remarked."""
        remarks = list(dict.fromkeys(remark.text for remark in self.remarks if remark.text))
        told = [*_missing(self.unread, self._has_pages), *remarks]
        if len(told) > _MOST_WARNINGS:
            told[_MOST_WARNINGS - 1 :] = [f"and {len(told) - _MOST_WARNINGS + 1} warnings more"]
        return tuple(told)


def processing_method(pages: Iterable[Page]) -> str:
    """How the text was extracted; `mixed` if in several ways."""
    methods = {page.method for page in pages if page.text.strip()}
    return (
        _METHODS[methods.pop()] if len(methods) == 1 else "mixed" if methods else _METHODS["text"]
    )


def _missing(unread: Sequence[Unread], has_pages: bool) -> list[str]:
    """Which pages are missing, and why."""
    reasons: dict[str, list[int]] = {}
    for page in unread:
        reasons.setdefault(page.reason, []).append(page.number)
    told = [
        f"page{'s' if len(numbers) > 1 else ''} {_ranges(numbers)}: {reason}"
        if has_pages
        else reason
        for reason, numbers in list(reasons.items())[:_REASONS]
    ]
    return told if len(reasons) <= _REASONS else [*told, "and others for other reasons"]


def _ranges(numbers: Iterable[int]) -> str:
    """`3, 7–9`."""
    runs = groupby(enumerate(sorted(set(numbers))), lambda pair: pair[1] - pair[0])
    spans = [[number for _, number in run] for _, run in runs]
    text = ", ".join(f"{s[0]}–{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans)
    return text if len(text) <= _LONGEST_LIST else text[: _LONGEST_LIST - 2].rstrip(", ") + " …"
