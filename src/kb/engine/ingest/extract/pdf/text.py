"""Cleans the raw text of a page, as a person would copy it."""

import re
from itertools import pairwise

from kb.engine.ingest.paragraphs import HYPHENS, begins_within

_HALVES = re.compile("[\ud800-\udfff]")  # of characters, which alone are none
_WORDS = re.compile(r"[\w-]+")
_MOST_WORDS = 200_000  # a long book has 50,000; more come from no language
_PART = 40  # characters of a word that are looked at, on either side of a hyphen

# Where pdfium found a hyphen at the end of a line; it has left out the line break as well.
LINE_END_HYPHEN = "\ufffe"
# From an entry of a table of contents to its page.
_LEADER = re.compile(r"(?:[ \t]?\.){5,}[ \t]*")
_LEADERS = (".....", ". . . . .")
_LIGATURES = {
    0xFB00: "ff",
    0xFB01: "fi",
    0xFB02: "fl",
    0xFB03: "ffi",
    0xFB04: "ffl",
    0xFB05: "st",
    0xFB06: "st",
}
# What Word's symbol fonts put at the head of list items: shapes without a code of their own.
_BULLETS = dict.fromkeys((0xF0B7, 0xF0A7, 0xF06C, 0xF06E, 0xF075, 0xF076, 0xF0A8, 0xF0D8), "•")
_ARROWS = {0xF0E0: "→", 0xF0FC: "✓", 0xF0FE: "☑"}
# Where Adobe's fonts had figures with descenders and small capitals, before Unicode.
_FIGURES = {0xF730 + digit: str(digit) for digit in range(10)}
_SMALL_CAPITALS = {0xF761 + letter: chr(0x41 + letter) for letter in range(26)}
_SPACES = dict.fromkeys((0x0B, 0x0C), " ")
_CONTROLS = dict.fromkeys({*range(0x20), 0x7F, 0xAD, 0xFEFF} - {0x09, 0x0A, 0x0B, 0x0C})
_CHARACTERS = _CONTROLS | _SPACES | _LIGATURES | _BULLETS | _ARROWS
_CHARACTERS |= _FIGURES | _SMALL_CAPITALS
_ODD = re.compile(f"[{''.join(map(chr, _CHARACTERS))}\ud800-\udfff]")  # most texts have none


class Words:
    """The words of a document as far as it was read: they tell whether a hyphen is part of a word
    (`non-GAAP`) or came with the line break. Reading ahead would read each page twice, and decide
    two of 55 hyphens in 378 pages otherwise."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._tokens: set[str] = set()  # what stands between spaces, of which most comes again
        self._new: set[str] = set()  # tokens whose words have not been asked for

    def learn(self, text: str) -> None:
        if len(self._tokens) < _MOST_WORDS:
            new = {*text.lower().split()} - self._tokens
            self._new |= new
            self._tokens |= new

    def _words(self) -> set[str]:
        for token in _WORDS.findall(" ".join(self._new)):
            word = token.strip("-")
            self._seen.add(word)
            if "-" in word:
                self._seen.update(word.split("-"))
        self._new.clear()
        return self._seen

    def keep_hyphen(self, before: str, after: str) -> bool:
        """Whether the two parts of a word that met at the end of a line keep their hyphen."""
        first, second = before.lower(), after.lower()
        seen = self._words()
        if f"{first}-{second}" in seen:
            return True
        if first + second in seen:
            return False
        if not first or not second or before[-1].isdigit() or after[0].isdigit():
            return True
        if after[0].isupper() and not before.isupper():
            return True  # a name or an abbreviation: `non-GAAP`, `mid-July`
        return first in seen and second in seen


def clean(raw: str, words: Words) -> str:
    """The text with `\\n` as its only line end, letters for ligatures and hyphens made good.
    Nothing else is normalised: NFKC would make x2 of x²."""
    return mended(learned([raw], words)[0], words)


def learned(raws: list[str], words: Words) -> list[str]:
    """Texts with plain characters, whose words are known from now on."""
    texts, whole = raws, "\n".join(raws)
    if _ODD.search(whole):
        texts = [_plain(raw) for raw in raws]
        whole = "\n".join(texts)
    _learn_whole_words(whole.split(LINE_END_HYPHEN), words)
    return texts


def _plain(raw: str) -> str:
    text = raw.replace("\r\n", "\n").replace("\r", "\n").translate(_CHARACTERS)
    return _HALVES.sub("\ufffd", text)


def mended(text: str, words: Words) -> str:
    """The text with the words in one that were parted at the ends of lines, and short leaders."""
    parts = text.split(LINE_END_HYPHEN)
    joined = [parts[0]]
    for before, part in pairwise(parts):
        hyphen = "-" if words.keep_hyphen(last_word(before), first_word(part)) else ""
        joined += [hyphen, part]
    whole = "".join(joined)
    if any(leader in whole for leader in _LEADERS):
        whole = _LEADER.sub(" … ", whole)
    return "\n".join(line.rstrip() for line in whole.split("\n"))


def torn(line: str, below: str) -> str:
    """The line, with the mark of a hyphen between small letters that came with its end."""
    if line.endswith(HYPHENS) and line[-2:-1].isalpha() and begins_within(below):
        return line[:-1] + LINE_END_HYPHEN
    return line


def continued(cell: str, below: str) -> str:
    """The text of a cell of a table with the line below it."""
    cell = torn(cell, below)
    return cell + below if cell.endswith(LINE_END_HYPHEN) else f"{cell} {below}".strip()


def _learn_whole_words(parts: list[str], words: Words) -> None:
    """Learn the text between hyphens without the pieces of words at them."""
    for number, part in enumerate(parts):
        start = len(first_word(part)) if number > 0 else 0
        end = len(part) - (len(last_word(part)) if number < len(parts) - 1 else 0)
        words.learn(part[start:end])


def last_word(text: str) -> str:
    tail = text[-_PART:]
    start = len(tail)
    while start > 0 and tail[start - 1].isalnum():
        start -= 1
    return tail[start:]


def first_word(text: str) -> str:
    head = text[:_PART]
    end = 0
    while end < len(head) and head[end].isalnum():
        end += 1
    return head[:end]
