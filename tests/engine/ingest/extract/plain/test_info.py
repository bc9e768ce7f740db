"""Manuals in GNU Info, whole and in parts."""

from kb.engine.pages import Remark

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


def test_text_with_a_few_controls_is_text(extracted):
    [page] = extracted(b"The water rises\x7f\x1f high.\n" * 50, "tides.txt").pages
    assert "rises" in page.text
