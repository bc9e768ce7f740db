"""The headings of AsciiDoc, Org and MediaWiki."""

import pytest

from kb.engine.ingest.passages.marked_blocks import marked_blocks
from proportion import assert_in_proportion

ASCIIDOC = """= Harbours
Mara <mara@example.test>
:toc:

[#deep]
== Deep *ones*

A formula:

e^i
---

----
== no heading
----
=== Bergen
Nine metres.
"""
ORG = """#+title: Harbours
* TODO Deep ones :sea:north:
text
** Bergen
#+begin_src org
* no heading
#+end_src
 * an item
"""
WIKI = """== Deep ''ones'' ==

=== [[Bergen|The port]] ===
<pre>
== no heading ==
</pre>
a == b
"""


def headings(text, language):
    blocks = list(marked_blocks(text, language))
    assert "".join(text[block.start : block.end] for block in blocks) == text
    return [(block.level, block.title) for block in blocks if block.kind == "heading"]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("asciidoc", ASCIIDOC, [(1, "Harbours"), (2, "Deep ones"), (3, "Bergen")]),
        ("org", ORG, [(1, "TODO Deep ones"), (2, "Bergen")]),
        ("mediawiki", WIKI, [(2, "Deep ones"), (3, "The port")]),
    ],
)
def test_headings_are_the_lines_that_the_language_marks_so(language, text, expected):
    assert headings(text, language) == expected


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("asciidoc", "== A\n\n----\n\n== B\n"),
        ("org", "* A\n#+end_src\n* B\n"),
        ("org", "* A\n#+begin_src c\n* B\n"),
        ("mediawiki", "= A =\ntext\n<pre>first line\nlast line</pre>\n\n= B =\n"),
        ("mediawiki", "= A =\n<nowiki/>\n= B =\n<nowiki>x</nowiki>\n"),
        ("mediawiki", "= A =\nas in <pre>\n= B =\n"),
    ],
)
def test_only_what_is_shown_as_it_is_and_ends_hides_headings(language, text):
    assert [title for _, title in headings(text, language)] == ["A", "B"]


def test_titles_of_asciidoc_may_be_underlined_and_begin_no_block():
    text = (
        "= T\n\nNAME\n----\nx\n\n[[s]]\nSYNOPSIS\n~~~~~~~~\n\n"
        ".Code\n-----\n== none\n-----\n\nOf all:\n----\n== none\n----\n\n== B"
    )
    found = [(1, "T"), (2, "NAME"), (3, "SYNOPSIS"), (2, "B")]
    assert headings(text, "asciidoc") == found


@pytest.mark.parametrize(
    ("language", "heading"),
    [("asciidoc", "== {}\n"), ("org", "* {}\n"), ("mediawiki", "== {} ==\n")],
)
def test_headings_in_a_row_take_time_in_proportion_to_their_number(language, heading):
    line = heading.format("Bergen" * 50)
    assert_in_proportion(lambda count: list(marked_blocks(line * count, language)), 1_000)
