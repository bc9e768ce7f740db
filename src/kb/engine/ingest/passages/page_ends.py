"""Completes sentences that run from one page to the next, on the first of them."""

from collections.abc import Sequence
from dataclasses import replace

from kb.engine.pages import Page


def whole_sentences(pages: Sequence[Page]) -> list[Page]:
    """What `carried` of a page says is done: those words stand on the page before it."""
    done = list(pages)
    # From the last to the first, so that all places are those in the texts as they came.
    for number in range(len(done) - 1, 0, -1):
        carried, page, before = done[number].carried, done[number], done[number - 1]
        if carried is None or carried.until > len(before.text):
            continue
        words = page.text[carried.start : carried.end]
        joint = "" if carried.torn else "\n"
        told = before.text[: carried.at] + joint + words + before.text[carried.until :]
        left = page.text[: carried.start] + page.text[carried.end :].lstrip()
        done[number - 1] = replace(before, text=told)
        done[number] = replace(page, text=left, carried=None)
    return done
