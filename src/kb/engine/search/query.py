"""Parses a query as typed: what to look for, what must be there and what must not.

    "sea otter"      these words must be adjacent, in this order
    -word            passages with this word are left out; so with -"two words"
    tag:house        only documents with this tag; tag:"two words" if it has spaces
    -tag:house       only documents without it

Everything else is plain text, and there is no such thing as a syntax error: people and programs
paste whatever they have. So a condition must stand alone between spaces; an unclosed quotation mark
is a character, as in code; `--flag`, `-x` and `-5` exclude nothing. In a query that ends with a
question mark, quotes and hyphens are punctuation, and only tags are conditions.
"""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

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


Kind = Literal["phrase", "without", "tag", "without_tag"]


class Condition(NamedTuple):
    """What must or must not be there, and how it was typed."""

    kind: Kind
    words: str
    typed: str


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What to look for as plain text, and conditions beside it.

    Phrases are in `text` too: what must be there is also what is looked for. `unmet` are conditions
    that cannot hold, since there is nothing else to look for.
    """

    text: str
    conditions: tuple[Condition, ...] = ()
    unmet: tuple[Condition, ...] = ()

    @property
    def phrases(self) -> tuple[str, ...]:
        return self._of("phrase")

    @property
    def without(self) -> tuple[str, ...]:
        return self._of("without")

    @property
    def tags(self) -> tuple[str, ...]:
        return self._of("tag")

    @property
    def without_tags(self) -> tuple[str, ...]:
        return self._of("without_tag")

    def lacking(self, condition: Condition) -> "ParsedQuery":
        """The same without one of its conditions."""
        kept = tuple(each for each in self.conditions if each != condition)
        return replace(self, conditions=kept)

    def _of(self, kind: Kind) -> tuple[str, ...]:
        return tuple(each.words for each in self.conditions if each.kind == kind)


def parse(query: str) -> ParsedQuery:
    """Never fails. Where nothing is left to look for, the query is plain text after all."""
    if '"' not in query and "-" not in query and ":" not in query and "\u201c" not in query:
        return ParsedQuery(query)
    reader = _Reader(query)
    text = _PART.sub(reader.read, _QUOTES.sub('"', query))
    if not reader.conditions:
        return ParsedQuery(query)
    found = ParsedQuery(text.strip(), tuple(reader.conditions.values()))
    return found if any(map(str.isalnum, text)) else _words_alone(query, found)


class _Reader:
    """Takes the parts of a query in order and decides what stays of each in the text."""

    def __init__(self, query: str) -> None:
        self._query = query
        self._is_question = _QUESTION.search(query) is not None
        self._counts: Counter[Kind] = Counter()
        self.conditions: dict[tuple[Kind, str], Condition] = {}

    def read(self, part: re.Match[str]) -> str:
        if part["tag"]:
            tag = _tag(part["tag_words"] or part["tag_word"] or "")
            is_kept = tag and self._keep("without_tag" if part["minus"] else "tag", tag, part)
            return " " if is_kept else part[0]
        if self._is_question:
            return part[0]
        words = part["phrase"] or part["word"] or ""
        if not any(character.isalnum() for character in words):
            return part[0]
        if part["minus"]:
            return " " if self._keep("without", words, part) else part[0]
        self._keep("phrase", words, part)
        return words

    def _keep(self, kind: Kind, words: str, part: re.Match[str]) -> bool:
        """Whether there was room for one more."""
        if self._counts[kind] >= MOST_PARTS:
            return False
        if (kind, words) not in self.conditions:
            typed = self._query[part.start() : part.end()]
            self.conditions[kind, words] = Condition(kind, words, typed)
            self._counts[kind] += 1
        return True


def _tag(name: str) -> str:
    """A tag as tags are stored; empty where none can have that name."""
    tag = unicodedata.normalize("NFC", name).strip()
    is_line = not any(unicodedata.category(character) == "Cc" for character in tag)
    return tag if is_line and len(tag) <= _LONGEST_TAG else ""


def _words_alone(query: str, found: ParsedQuery) -> ParsedQuery:
    """What to look for where only conditions were given.

    Tags alone are looked for by their own words, among the documents that carry them. Exclusions
    alone would be answered by nearly everything, in no order: their words are looked for instead.
    """
    if found.tags:
        return replace(found, text=" ".join(found.tags))
    kept = tuple(each for each in found.conditions if each.kind != "without")
    unmet = tuple(each for each in found.conditions if each.kind == "without")
    return ParsedQuery(" ".join(found.without) or query.strip(), kept, unmet)
