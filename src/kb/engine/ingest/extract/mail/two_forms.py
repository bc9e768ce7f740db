"""Finds what only the second of two forms of a text says. Most mails say the same in both."""

import re

MOST_BESIDES = 100_000  # characters of it that are read
_LONGEST = 2_000_000  # characters of both: nobody writes a mail that is longer
_ADDRESS = re.compile(r"(?:\]\(|https?://)\S*")
_WORD = re.compile(r"\w\w+")
_INSIDE_WORDS = re.compile("['’\u00ad]")  # apostrophes, which some programs change
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def only_in(other: str, text: str) -> str:
    """The sentences of `other` that have a word which `text` has not, a paragraph for each line."""
    if len(other) + len(text) > _LONGEST:
        return ""
    known = _words(text)
    found = []
    for line in other.splitlines():
        sentences = []
        for sentence in _SENTENCE_END.split(line):
            words = _words(sentence)
            if not words <= known:
                known |= words
                sentences.append(sentence)
        if sentences:
            found.append(" ".join(sentences))
    return "\n\n".join(found)


def _words(text: str) -> set[str]:
    """Where links lead is no word: the web page knows, and the plain text seldom."""
    plain = _INSIDE_WORDS.sub("", _ADDRESS.sub(" ", text)).casefold()
    return set(_WORD.findall(plain))
