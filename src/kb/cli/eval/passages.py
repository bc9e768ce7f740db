"""Whether one text contains another, as a person would see it.

Only words count: people copy a passage from a page, a PDF viewer or a slide, each with its own
quotes, dashes, line breaks and punctuation.
"""

import re
import unicodedata
from collections.abc import Iterator

# Scripts that put no spaces between words: there, each character is a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = re.compile(f"[{_UNSPACED}]|[^\\W_{_UNSPACED}]+")
_LEAST_INSIDE = 5  # words: fewer stand side by side by chance


def words_of(text: str) -> str:
    """The words of a text in small letters, a space before, between and after them."""
    plain = unicodedata.normalize("NFKC", text.replace("\u00ad", "")).casefold()
    return f" {' '.join(_WORD.findall(plain))} "


def word_ends(text: str) -> Iterator[int]:
    """The positions at which the words of a text end."""
    return (match.end() for match in _WORD.finditer(text))


def holds(text: str, passage: str) -> bool:
    """Whether a text holds a passage, both as `words_of` gives them.

    Where documents are cut is not the asker's business: a text that holds at least half of the
    passage at one of its ends, or lies in it as a whole, has it too.
    """
    if passage in text:
        return True
    inner, wanted = text.split(), passage.split()
    if not inner or not wanted:
        return False
    if len(inner) >= _LEAST_INSIDE and text in passage:
        return True
    count = len(wanted)
    for kept in range(count - 1, max((count - 1) // 2, _LEAST_INSIDE - 1), -1):
        if wanted[kept - 1] == inner[-1] and wanted[:kept] == inner[-kept:]:
            return True
        if wanted[count - kept] == inner[0] and wanted[count - kept :] == inner[:kept]:
            return True
    return False
