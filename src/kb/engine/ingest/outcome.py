"""Pages in, what the document and its job say of the reading out."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from kb.engine.models import Page, Unread

_METHODS = {"text": "text_extraction", "ocr": "ocr", "image": "image_analysis"}
_REASONS = 3  # that a warning tells in full
_LONGEST_LIST = 200  # characters; metadata comes with every list of documents


def processing_method(pages: Iterable[Page]) -> str:
    """How the text was had; `mixed` where it was had in several ways."""
    methods = {page.method for page in pages if page.text.strip()}
    return (
        _METHODS[methods.pop()] if len(methods) == 1 else "mixed" if methods else _METHODS["text"]
    )


def missing_pages(unread: Sequence[Unread]) -> dict[str, Any]:
    """What the document's metadata says of the pages that are not in it."""
    return {"missing_pages": _ranges(page.number for page in unread)} if unread else {}


def warning(unread: Sequence[Unread]) -> str:
    """What a job that is done has to say: which pages are missing, and why."""
    reasons: dict[str, list[int]] = {}
    for page in unread:
        reasons.setdefault(page.reason, []).append(page.number)
    told = [
        f"page{'s' if len(numbers) > 1 else ''} {_ranges(numbers)}: {reason}"
        for reason, numbers in list(reasons.items())[:_REASONS]
    ]
    if len(reasons) > _REASONS:
        told.append("and others for other reasons")
    return f"Not everything could be read. {'; '.join(told)}" if told else ""


def _ranges(numbers: Iterable[int]) -> str:
    """`3, 7–9`."""
    runs = groupby(enumerate(sorted(set(numbers))), lambda pair: pair[1] - pair[0])
    spans = [[number for _, number in run] for _, run in runs]
    text = ", ".join(f"{s[0]}–{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans)
    return text if len(text) <= _LONGEST_LIST else text[: _LONGEST_LIST - 2].rstrip(", ") + " …"
