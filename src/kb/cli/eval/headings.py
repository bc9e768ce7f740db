"""Turns headings and passages into questions one could ask about them."""

import itertools
import re
from collections.abc import Iterator

from kb.cli.eval.passages import word_ends, words_of
from kb.client import Json

_LEAST_WORDS = 4  # a heading that says enough by itself
_LEAST_PASSAGE, _MOST_PASSAGE = 5, 25
_LEAST_QUOTE = 7
_MOST_DIGITS = 0.1  # of a sentence's characters; what has more is a row of a table
_NUMBERING = re.compile(r"^(?:[0-9]+(?:\.[0-9]+)*[.):]?|[A-Za-z][.)]|[ivxIVX]+[.)])\s+(?=\S)")
_MARKS = re.compile(r"[*`#]+|\[([^\]]*)\]\([^)]*\)")
_EMPHASIS = re.compile(r"[*`]+")
_SENTENCE_END = re.compile(r"(?<=[.!?])\s|(?<=[。！？])")
_NO_TEXT = re.compile(r"^\s*(#|\||```|~~~|---|===|\+\+\+|<|!\[|\$ )")
_ABBREVIATED = words_of("approx corp dept est etc inc ltd max min vol")
# A sentence that begins so leans on the one before it.
_BACKWARD = words_of(
    "accordingly additionally also among and as because but consequently finally furthermore he her"
    " here his however i if instead it its moreover my nevertheless or our she similarly so such"
    " that their then there therefore these they this those thus we while you your"
)
_LIST_MARK = re.compile(r"^\s*(?:[-*+•]|\d+[.)])\s+")

# What stands in so many documents that it asks for nothing: as words in small letters.
_GENERIC = """
    abstract; about; about this document; acknowledgements; acknowledgments; added;
    agenda; appendix; attachments; author; authors; background; bibliography; changed;
    changelog; chapter; conclusion; conclusions; contact; contents; description;
    details; discussion; documentation; example; examples; executive summary; faq;
    features; figures; fixed; footnotes; foreword; further reading; general; getting
    started; glossary; history; home; how it works; how to use; index; info;
    information; installation; instructions; introduction; license; licence;
    limitations; links; list; material; materials; methods; methodology; misc;
    miscellaneous; more; new; next steps; notes; objective; objectives; options; other;
    outline; overview; page; parameters; part; preface; prerequisites; questions; quick
    start; quickstart; readme; reference; references; related work; removed;
    requirements; resources; result; results; section; see also; setup; sheet; slide;
    sources; status; steps; summary; table; table of contents; tables; tags; tasks;
    thank you; the end; title; todo; to do; unreleased; untitled; usage; version; what
    is new; anhang; beispiel; beispiele; einführung; einleitung; fazit; inhalt;
    inhaltsverzeichnis; kapitel; literatur; quellen; überblick; übersicht; vorwort;
    zusammenfassung; bibliographie; exemple; exemples; introducción; introduction
    générale; sommaire; conclusiones; resumen; índice; referencias; введение;
    заключение; содержание; 引言; 结论; 摘要; 目录
"""
_GENERIC_WORDS = frozenset(words_of(name).strip() for name in _GENERIC.split(";"))


def heading_question(title: str, headings: tuple[str, ...]) -> str | None:
    """The innermost heading as a question; a short one with what it stands under.

    None where it says nothing: "Introduction", "Chapter 3", a date, a number.
    """
    names = [_bare(name) for name in (title, *headings)]
    if _is_generic(names[-1]):
        return None
    if len(words_of(names[-1]).split()) >= _LEAST_WORDS:
        return names[-1]
    above = next(
        (
            name
            for name in reversed(names[:-1])
            if not _is_generic(name) and words_of(name) != words_of(names[-1])
        ),
        None,
    )
    if above is not None:
        return f"{above}: {names[-1]}"
    return names[-1] if len(words_of(names[-1]).split()) > 1 else None


def _bare(heading: str) -> str:
    """Without numbering and marks: `3.2 **Tools**:` is Tools."""
    text = " ".join(_MARKS.sub(r"\1", heading).split())
    return _NUMBERING.sub("", text).rstrip(" :.")


def _is_generic(heading: str) -> bool:
    words = [word for word in words_of(heading).split() if not word.isnumeric()]
    letters = sum(letter.isalpha() for letter in "".join(words))
    return letters < 3 or " ".join(words) in _GENERIC_WORDS


def opening_of(chunk: Json) -> str | None:
    """The first words of a passage below its headings: enough to know it by."""
    named = {words_of(heading) for heading in chunk["headings"]}
    for line in _lines(chunk["text"]):
        if words_of(line) not in named:
            first = _SENTENCE_END.split(line)[0]
            return _cut(first) or _cut(line)
    return None


def sentences_of(chunk: Json) -> Iterator[str]:
    """The sentences of a passage that one could ask with, for all that a program can tell."""
    for line in _lines(chunk["text"]):
        parts = [part.strip() for part in _SENTENCE_END.split(line) if part.strip()]
        # The first may have begun in the passage before, the last may go on in the next.
        for sentence, after in itertools.pairwise(parts[1:]):
            if _can_stand_alone(sentence, after):
                yield sentence


def _can_stand_alone(sentence: str, after: str) -> bool:
    """Whether it is a whole sentence, of words, that speaks of something by its name."""
    words = words_of(sentence).split()
    digits = sum(letter.isdigit() for letter in sentence)
    return (
        _LEAST_QUOTE <= len(words) <= _MOST_PASSAGE
        and f" {words[0]} " not in _BACKWARD
        and words[:2] != ["in", "addition"]
        and f" {words[-1]} " not in _ABBREVIATED
        and (len(words[-1]) > 2 or not words[-1].isascii())  # "U.S." ends no sentence either
        and sentence[0].isalnum()
        and not sentence[0].islower()
        and not after[0].islower()
        and digits <= _MOST_DIGITS * len(sentence)
        and "|" not in sentence
    )


def _lines(text: str) -> Iterator[str]:
    """The paragraphs of running text, each on one line."""
    inside_code = False
    for block in re.split(r"\n\s*\n", text):
        kept = []
        for line in block.splitlines():
            if line.lstrip().startswith(("```", "~~~")):
                inside_code = not inside_code
            elif not inside_code and not _NO_TEXT.match(line):
                kept.append(_EMPHASIS.sub("", _LIST_MARK.sub("", line)))
        if kept:
            yield " ".join(" ".join(kept).split())


def _cut(line: str) -> str | None:
    """The line, or its first words; None if there are too few to identify it."""
    ends = list(word_ends(line))
    if len(ends) < _LEAST_PASSAGE:
        return None
    return line if len(ends) <= _MOST_PASSAGE else line[: ends[_MOST_PASSAGE - 1]]
