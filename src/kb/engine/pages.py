"""What readers return, as plain values.

They are separate from the other nouns, so that a process that reads files is ready sooner.
"""

from dataclasses import dataclass
from typing import Literal

Markup = Literal["plain", "text", "markdown", "code", "asciidoc", "org", "mediawiki"]


@dataclass(frozen=True, slots=True)
class Grid:
    """Which rows and columns of a sheet a page's lines are: one line is one row."""

    rows: tuple[int, ...]
    columns: tuple[str, str] | None = None  # first and last, as letters; None where they have none


@dataclass(frozen=True, slots=True)
class Box:
    """A part of a line; the sides are shares of the page's width and height."""

    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class PlacedWord:
    text: str
    box: Box


@dataclass(frozen=True, slots=True)
class Carried:
    """Words of a page that end a sentence which the page before it has begun.

    They stand from `start` to `end`, and go where `at` to `until` is in the text of the page
    before. `torn` says that a word was parted there.
    """

    at: int
    until: int
    start: int
    end: int
    torn: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A piece of extracted text and where in the file it came from.

    `markup` says how the text is to be cut: `markdown` has headings, tables and fences, `code` has
    definitions, `text` has paragraphs and underlined headings, `plain` has paragraphs; the others
    have headings of their own. `method`
    says how the text was had: read, recognised in a picture, or said about one; `later` is an empty
    page that has to be recognised and was left out.
    What a chunk's place is called: `location` if there is one, with the
    cells of `grid`; else the page's number; else its lines, or where the lines are not those of
    the file (`lines_count` is False), what `places` says from that offset on, or the heading above
    where that is empty. `headings` are those that the document
    puts above the page without writing them on it, outermost first. The last `open_headings` of
    them count as headings of level 1 and on: one on the page ends those of its level and below.
    `words` says where on the page its words stand, if that cannot be had from the file again: it
    was recognised. `carried` are the first words of the page, where they end a sentence of the page
    before it.
    """

    text: str
    number: int | None = None
    location: str | None = None
    markup: Markup = "plain"
    method: Literal["text", "ocr", "image", "later"] = "text"
    grid: Grid | None = None
    lines_count: bool = True
    headings: tuple[str, ...] = ()
    open_headings: int = 0
    words: tuple[PlacedWord, ...] = ()
    carried: Carried | None = None
    places: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Unread:
    """A page that could not be read, and why, in words for the job that asked for it."""

    number: int
    reason: str


@dataclass(frozen=True, slots=True)
class Remark:
    """What a reader has to say of its reading beside pages, at any place among them.

    `text` warns of something that is not in the pages, in a few words without a full stop: an
    attachment that was not read, a text that was cut. It is empty where nothing went wrong.
    `words_left_out` counts words of the file that became no text, say those of a menu.
    """

    text: str = ""
    words_left_out: int = 0
