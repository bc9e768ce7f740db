"""A query as typed in, what to look for and what must and must not be there out.

    "sea otter"      these words must stand side by side, in this order
    -word            passages with this word are left out; so with -"two words"
    tag:house        only documents with this tag; tag:"two words" if it has spaces
    -tag:house       only documents without it

Everything else is plain text, and there is no such thing as a syntax error. People and programs
paste whatever they have: what does not clearly say one of the above says itself. So each of them
stands by itself between spaces; a quote that does not end is a character, as in code; `--flag`,
`-x` and `-5` leave nothing out. A query that ends in a question mark is a sentence, and quotes and
hyphens in it are what they are in any sentence; only tags are taken out of it.
"""

import re
import unicodedata
from dataclasses import dataclass

MOST_PARTS = 32  # of each kind; what comes after is plain text
_LONGEST_TAG = 200

_QUOTES = re.compile("[\u201c\u201d]")  # as phones and word processors write them
_QUESTION = re.compile(r"[?\uff1f\u037e\u061f]\s*$")
_PART = re.compile(
    r"""(?<!\S)
    (?P<minus>-?)
    (?:
        (?P<tag>tag:) (?: "(?P<tag_words>[^"]*)" | (?P<tag_word>[^\s"]\S*) )
      | "(?P<phrase>[^"]*)"
      | (?P<word>(?<=-)\.?[^\W\d_][^\s"]+)
    )
    (?=[\s.,;:!?]|$)""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What to look for as plain text, and conditions beside it.

    `phrases` are in `text` too: what must be there is also what is looked for.
    """

    text: str
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    without_tags: tuple[str, ...] = ()


def parse(query: str) -> ParsedQuery:
    """Never fails. Where nothing is left to look for, the query is plain text after all."""
    if '"' not in query and "-" not in query and ":" not in query and "\u201c" not in query:
        return ParsedQuery(query)
    reader = _Reader(_QUESTION.search(query) is not None)
    text = _PART.sub(reader.read, _QUOTES.sub('"', query))
    if not (reader.phrases or reader.without or reader.tags or reader.without_tags):
        return ParsedQuery(query)
    if not any(character.isalnum() for character in text):
        text = _words_alone(query, reader)
    return ParsedQuery(
        text.strip(),
        tuple(reader.phrases),
        tuple(reader.without),
        tuple(reader.tags),
        tuple(reader.without_tags),
    )


class _Reader:
    """Takes the parts of a query as they come and says what stays of each in the text."""

    def __init__(self, is_question: bool) -> None:
        self._is_question = is_question
        self.phrases: list[str] = []
        self.without: list[str] = []
        self.tags: list[str] = []
        self.without_tags: list[str] = []

    def read(self, part: re.Match[str]) -> str:
        if part["tag"]:
            kept = self.without_tags if part["minus"] else self.tags
            tag = _tag(part["tag_words"] or part["tag_word"] or "")
            return " " if tag and _keep(kept, tag) else part[0]
        if self._is_question:
            return part[0]
        words = part["phrase"] or part["word"] or ""
        if not any(character.isalnum() for character in words):
            return part[0]
        if part["minus"]:
            return " " if _keep(self.without, words) else part[0]
        _keep(self.phrases, words)
        return words


def _keep(kept: list[str], words: str) -> bool:
    """Whether there was room for one more."""
    if len(kept) >= MOST_PARTS:
        return False
    if words not in kept:
        kept.append(words)
    return True


def _tag(name: str) -> str:
    """A tag as tags are stored; empty where none can have that name."""
    tag = unicodedata.normalize("NFC", name).strip()
    is_line = not any(unicodedata.category(character) == "Cc" for character in tag)
    return tag if is_line and len(tag) <= _LONGEST_TAG else ""


def _words_alone(query: str, reader: _Reader) -> str:
    """What to look for where only conditions were given.

    Tags alone are looked for by their own words, among the documents that carry them. Exclusions
    alone would be answered by nearly everything, in no order: their words are looked for instead.
    """
    if reader.tags:
        return " ".join(reader.tags)
    words = " ".join(reader.without) or query
    reader.without.clear()
    return words
