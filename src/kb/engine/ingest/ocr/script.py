"""Judges whether the text that an OCR engine returned is the picture's real text. Of scripts that
rapidocr cannot read, it returns nothing, or digits and commas that it is sure of. Drawn pages in 17
languages had 1.4 to 2.6 letters to a square of the line's height if it could read them, and below
0.1 in Cyrillic, Arabic, Hebrew, Korean, Hindi and Thai; it knows some of Greek and Vietnamese."""

import unicodedata
from collections.abc import Sequence

from kb.engine.ingest.ocr.boxes import Box, mean_score
from kb.engine.ingest.wordlike import word_share

_FEWEST_LETTERS = 0.5  # to a square of a line's height
_ENOUGH = 20.0  # squares of found lines: with less, nothing can be said
_A_LINE = 6.0  # squares: of two words
_A_WORD = 3.0
_STRAIGHT = 3.0  # degrees
_SURE = 0.8  # what is upright and in letters that it knows has .95 and more, Hebrew .78
_MOST_UNREAD = 0.5  # of the squares
_MOST_STRANGE = 0.3  # of the letters
_READ = ("LATIN", "CJK", "HIRAGANA", "KATAKANA", "IDEOGRAPHIC", "FULLWIDTH", "HALFWIDTH")
_LIKE_WORDS = 0.75  # of the words
_VIETNAMESE = frozenset("ơưƠƯ")  # those that it has; most others with two marks are left out
_SOME = 0.01  # of the letters


def is_readable(boxes: Sequence[Box]) -> bool:
    """Whether rapidocr knows the script that a picture is written in, as far as one can tell."""
    squares = [box.width / max(box.height, 1.0) for box in boxes]
    whole = sum(squares)
    if whole < _ENOUGH:
        return not _is_unread_line(boxes)
    if mean_score(boxes) < _SURE and any(box.text.strip() for box in boxes):
        return False
    unread = sum(
        square
        for box, square in zip(boxes, squares, strict=True)
        if _letters(box.text) < _FEWEST_LETTERS * square
    )
    if unread > _MOST_UNREAD * whole:
        return False
    text = "\n".join(box.text for box in boxes)
    letters = [character for character in text if character.isalpha()]
    strange = sum(not unicodedata.name(letter, "").startswith(_READ) for letter in letters)
    vietnamese = sum(letter in _VIETNAMESE for letter in letters)
    return (
        strange <= _MOST_STRANGE * len(letters)
        and vietnamese <= _SOME * len(letters)
        and word_share(text) >= _LIKE_WORDS
    )


def _is_unread_line(boxes: Sequence[Box]) -> bool:
    """Whether not a letter was read where there are words, straight and one after the other."""
    lines = [box.width / box.height for box in boxes if box.height and abs(box.angle) < _STRAIGHT]
    words = sum(line for line in lines if line > _A_WORD)
    return words > _A_LINE and not any(map(_letters, (box.text for box in boxes)))


def _letters(text: str) -> int:
    """Letters and digits; a Chinese one is as wide as two others."""
    return sum(
        2 if unicodedata.east_asian_width(character) in "WF" else 1
        for character in text
        if character.isalnum()
    )
