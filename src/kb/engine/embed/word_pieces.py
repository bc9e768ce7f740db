"""Splits text into token ids: the uncased WordPiece that MiniLM and similar models use.

We do not use the `tokenizers` package: it brings a network client and a dozen more packages, holds
the interpreter lock while it works, and is slower than a dictionary of words.
"""

import sys
import threading
import unicodedata
from pathlib import Path

from kb.engine.errors import EmbeddingFailed

UNKNOWN, START, END = "[UNK]", "[CLS]", "[SEP]"
LONGEST_WORD = 100  # characters; the model was trained with longer words as unknown
CACHE_BYTES = 4_000_000
CACHED_CHARACTERS = 10_000
SLOT_BYTES = 100  # what a dictionary spends on an entry beside key and value
LAST_LATIN = "\u024f"  # accents are gone by then, so what remains of Latin lies below
IDEOGRAPHS = (
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)


class WordPiece:
    """The vocabulary and the words met so far. Any number of threads may use one."""

    def __init__(self, vocabulary: Path) -> None:
        pieces = vocabulary.read_text("utf-8").splitlines()
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        lacking = [mark for mark in (UNKNOWN, START, END) if mark not in self._ids]
        if lacking:
            raise EmbeddingFailed(
                f"{vocabulary} lacks {', '.join(lacking)}: it is not a WordPiece vocabulary"
            )
        self.start, self.end = self._ids[START], self._ids[END]
        self._unknown = (self._ids[UNKNOWN],)
        self._lengths = [len(piece.removeprefix("##")) for piece in pieces]
        self._longest = max(self._lengths)
        self._characters = _CleanCharacters()
        self._cut: dict[str, tuple[int, ...]] = {}
        self._cut_bytes = 0
        self._cut_lock = threading.Lock()

    def ids(self, text: str, limit: int = sys.maxsize) -> list[int]:
        """At most `limit` ids, without start and end marks: what follows them is not looked at."""
        ids: list[int] = []
        whole = self._ids
        for word in self._words(text):
            number = whole.get(word)
            if number is not None:
                ids.append(number)
            else:
                ids.extend(self._pieces(word))
            if len(ids) >= limit:
                break
        return ids[:limit]

    def legibility(self, text: str) -> float:
        """The share of the text's characters, 0 to 1, that stand in a piece with a meaning.

        Unread are words without pieces, and letters of other scripts that stand alone: the
        vocabulary spells Russian or Chinese out, and letters say nothing about a word. Characters
        are counted, not words, as Chinese has no words to count and a long unread word is a
        greater loss than a short one. Punctuation is left out: every language has it.
        """
        read = unread = 0
        for word in self._words(text):
            if len(word) == 1 and _stands_alone(word):
                continue
            pieces = self._pieces(word)
            if pieces == self._unknown:
                unread += len(word)
            elif max(word) <= LAST_LATIN:
                read += len(word)
            else:
                lengths = [self._lengths[piece] for piece in pieces]
                letters = lengths.count(1)
                unread += letters
                read += sum(lengths) - letters
        return read / (read + unread) if read + unread else 1.0

    def _words(self, text: str) -> list[str]:
        return text.translate(self._characters).split()

    def _pieces(self, word: str) -> tuple[int, ...]:
        known = self._cut.get(word)
        if known is not None:
            return known
        pieces = tuple(self._longest_pieces(word)) or self._unknown
        if len(word) <= LONGEST_WORD:
            self._remember(word, pieces)
        return pieces

    def _longest_pieces(self, word: str) -> list[int]:
        """Greedily the longest piece that fits; nothing if some part fits none."""
        pieces: list[int] = []
        start = 0
        while start < len(word) <= LONGEST_WORD:
            for end in range(min(len(word), start + self._longest), start, -1):
                number = self._ids.get(word[start:end] if start == 0 else f"##{word[start:end]}")
                if number is not None:
                    break
            else:
                return []
            pieces.append(number)
            start = end
        return pieces

    def _remember(self, word: str, pieces: tuple[int, ...]) -> None:
        """Start afresh when full: common words are back at once, and nothing is kept in order."""
        size = sys.getsizeof(word) + sys.getsizeof(pieces) + SLOT_BYTES
        with self._cut_lock:
            if self._cut_bytes + size > CACHE_BYTES:
                self._cut.clear()
                self._cut_bytes = 0
            self._cut[word] = pieces
            self._cut_bytes += size


class _CleanCharacters(dict[int, str]):
    """For str.translate: what becomes of a character before words are looked up.

    Lower case, no accents, no control characters, spaces around punctuation and ideographs.
    """

    def __missing__(self, code: int) -> str:
        clean = _clean(chr(code))
        if len(self) < CACHED_CHARACTERS:  # all of Unicode would take 200 MB
            self[code] = clean
        return clean


def _clean(character: str) -> str:
    category = unicodedata.category(character)
    if character in "\t\n\r" or category in ("Zs", "Zl", "Zp"):
        return " "
    if character in "\0\ufffd" or category in ("Cc", "Cf", "Co", "Cs"):
        return ""
    if any(first <= ord(character) <= last for first, last in IDEOGRAPHS):
        return f" {character} "
    parts = unicodedata.normalize("NFD", character)
    bare = "".join(part for part in parts if unicodedata.category(part) != "Mn").lower()
    return "".join(f" {part} " if _stands_alone(part) else part for part in bare)


def _stands_alone(character: str) -> bool:
    """Punctuation, in the model's sense: ASCII symbols such as + and $ belong to it."""
    if character.isascii():
        return character.isprintable() and not character.isalnum() and character != " "
    return unicodedata.category(character).startswith("P")
