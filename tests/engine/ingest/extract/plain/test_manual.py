"""Pages of manuals, in both sets of macros."""

import pytest

from kb.engine.ingest.passages.chunk import chunk

MAN = r""".\" A remark that nobody sees
.de Unseen
never shown
..
.ds Hb harbour
.TH TIDES 1 "May 2024" "1.2" "Sea Manual"
.SH NAME
tides \- tells when the \*(Hb is deep
.SH
OPTIONS
.TP
\fB\-\-size\fR=\fIN\fP
Only ships of this size\&. See
.BR moor (8)
and \(lqPorts\(rq.
.if t \{\
for printers alone
.\}
.if n for terminals
.IP \(bu 2
.B one
.SS "Two words"
.nf
tides \-\-size 3
.fi
.TS
tab(:);
l l.
Port:Depth
_
T{
Bergen
T}:9 m
.TE
"""

MDOC = r""".\" $Id$
.Dd May 1, 2024
.Dt MOOR 8
.Os
.Sh NAME
.Nm moor
.Nd ties ships
.Sh DESCRIPTION
.Nm
.Op Fl v Ar rope ,
see
.Xr tides 1 .
.Bl -tag
.It Fl u Ns Ar N
.Pp
Use
.Dq strong
ropes.
.El
.Bd -literal
moor -v hemp
.Ed
"""


@pytest.fixture
def read(extracted):
    def read(text, filename="tides.1"):
        extraction = extracted(text, filename)
        [page] = extraction.pages
        return extraction, page

    return read


def test_a_page_is_read_as_man_shows_it(read):
    extraction, page = read(MAN)
    shown = [line for line in page.text.split("\n") if line]
    assert shown == [
        "## NAME",
        "tides - tells when the harbour is deep",
        "## OPTIONS",
        "--size=N",
        "Only ships of this size. See moor(8) and “Ports”. for terminals",
        "-",
        "one",
        "### Two words",
        "```",
        "tides --size 3",
        "```",
        "Port | Depth",
        "Bergen",
        "9 m",
    ]
    assert extraction.title == "tides(1)"
    assert extraction.doc_type == "text"


def test_the_macros_of_bsd_are_read_as_well(read):
    extraction, page = read(MDOC, "moor.8")
    shown = [line for line in page.text.split("\n") if line]
    assert shown == [
        "## NAME",
        "moor — ties ships",
        "## DESCRIPTION",
        "moor [-v rope], see tides(1).",
        "- -uN",
        "Use “strong” ropes.",
        "```",
        "moor -v hemp",
        "```",
    ]
    assert extraction.title == "moor(8)"


def test_what_an_item_is_about_stays_with_what_is_said_of_it(read):
    _, man = read(MAN)
    _, bsd = read(MDOC)
    assert "\n\n--size=N\nOnly ships" in man.text
    assert "\n\n- -uN\nUse “strong”" in bsd.text


def _count(text):
    return len(text.split())


def test_a_passage_of_a_page_stands_below_its_heading(read):
    _, page = read(MAN)
    [found] = [each for each in chunk([page], _count) if "ships" in each.text]
    assert found.headings == ("OPTIONS",)
    assert found.location == "section OPTIONS"


@pytest.mark.parametrize("filename", ["tides.1", "tides", "tides.3pm", "tides.txt", "tides.man"])
def test_a_page_is_known_by_what_is_in_it(read, filename):
    extraction, _ = read(MAN, filename)
    assert extraction.title == "tides(1)"


def test_a_line_that_begins_with_a_space_stands_alone(read):
    _, page = read(".TH A 1\nAllow it:\n moor one\n moor two\n")
    assert page.text == "Allow it:\nmoor one\nmoor two"


def test_a_text_that_only_begins_with_a_point_is_no_page(read):
    _, page = read("...and then\n.THE END\n", "story.1")
    assert page.text == "...and then\n.THE END\n"


def test_a_block_that_is_still_open_at_the_end_is_closed(read):
    _, page = read(".TH A 1\n.nf\ncode")
    assert page.text.endswith("```\ncode\n```")


@pytest.mark.parametrize(
    "line",
    [
        ".if n " * 20_000,
        f".B x{' ' * 50_000}x",
        "\\" * 50_000,
        f".ds a {'x' * 500}\n" + "\\*a" * 99,
    ],
)
def test_no_line_takes_long_or_grows_without_end(read, line):
    _, page = read(f".TH A 1\nwords\n{line}\n")
    assert len(page.text) < 60_000
