"""Manuals in GNU Info, whole and in parts."""

import pytest

from kb.engine.pages import Remark
from proportion import assert_in_proportion

OPENING = """This is tides.info, produced by makeinfo version 6.8 from tides.texi.

START-INFO-DIR-ENTRY
* Tides: (tides).  When the harbour is deep.
END-INFO-DIR-ENTRY
"""
NODES = """\x1f
File: tides.info,  Node: Top,  Next: Spring Tide,  Up: (dir)

Tides
*****

* Menu:

* Spring Tide::    When the moon is full.

\x1f
File: tides.info,  Node: Spring Tide,  Prev: Top,  Up: Top

1 Spring Tide
=============

The water rises high.\x00\x08[index\x00\x08]
"""
TABLE = "\x1f\nTag Table:\n" + "Node: Spring Tide\x7f432\n" * 90 + "\x1f\nEnd Tag Table\n"


def test_each_node_of_a_manual_is_a_section(extracted):
    found = extracted((OPENING + NODES + TABLE).encode(), "tides.info")
    *pages, remark = found.pages
    assert (found.doc_type, found.format, found.title) == ("text", "info", "Tides")
    assert [page.location for page in pages] == [None, "Top", "Spring Tide"]
    assert pages[0].text == OPENING.partition("\n")[0]
    assert pages[2].text == "1 Spring Tide\n=============\n\nThe water rises high."
    assert remark == Remark(words_left_out=2 + 90 * 3 + 3)


def test_a_manual_in_parts_is_read_part_by_part(extracted):
    table = f"\x1f\nIndirect:\ntides.info-1: 220\n{TABLE}"
    [page, _] = extracted((OPENING + table).encode(), "tides.info").pages
    assert page.text.startswith("This is tides.info")
    part = extracted(f"part 1\n{NODES}".encode(), "tides.info-1")
    assert [page.location for page in list(part.pages)[:-1]] == [None, "Top", "Spring Tide"]


def test_pictures_of_a_manual_are_what_a_terminal_shows_or_what_is_said_of_them(extracted):
    drawn = '\0\b[image src="a.png" alt="a boat" text="the \\"boat\\"\n  ~~~~"\0\b]'
    said = '\0\b[image src="b.png" alt="a [small] crane"\0\b]'
    bare = "\0\b[image src=c.png\0\b]"
    node = f"\x1f\nFile: a.info,  Node: Top\n\n{drawn}\n{said}\n{bare}\n"
    *_, page, _ = extracted(f"About boats\n{node}".encode(), "tides.info").pages
    assert page.text == 'the "boat"\n  ~~~~\n[Image: a [small] crane]\n[Image: c.png]'


def test_a_node_without_text_is_no_passage(extracted):
    pages = extracted(f"{NODES}\x1f\nFile: tides.info,  Node: Empty\n\x1f".encode(), "tides.info")
    assert [page.location for page in list(pages.pages)[:-1]] == ["Top", "Spring Tide"]


@pytest.mark.parametrize(
    "part",
    ["START-INFO-DIR-ENTRY\n", "\x1f\nFile: x Node: a Node: b", "\b[image src=", "\b[image src=x"],
)
def test_a_hostile_manual_is_read_in_time_that_grows_as_it_does(extracted, part):
    def read(times):
        list(extracted(f"{NODES}{part * times}".encode(), "tides.info").pages)

    assert_in_proportion(read, 500)
