"""Pages of manuals, in both sets of macros."""

import pytest

from kb.engine.ingest.extract.plain.manual.table import Table
from kb.engine.ingest.passages.chunk import chunk
from proportion import assert_in_proportion

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
        "| Port | Depth |",
        "| Bergen | 9 m |",
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


@pytest.mark.parametrize(
    "begins",
    [
        ".if !'po4a'hide' .TH TIDES 1\n",
        '\\" A remark without its point\n.TH TIDES 1\n',
        '\\\n.\\" made by a program\n.TH TIDES 1\n',
        "\n\n.TH TIDES 1\n",
        ". TH TIDES 1\n",
        ".SH NAME\n",
        '\'\\" t\n.Sh "NAME"\n',
    ],
)
def test_a_page_is_known_whatever_stands_before_its_name(read, begins):
    _, page = read(f"{begins}.B ships\n", "tides.8")
    assert page.text.split()[-1] == "ships"
    assert ".B" not in page.text


@pytest.mark.parametrize(
    "text",
    [
        "...and then\n.THE END\n",
        "'Where is it?' she asked.\n.SH NAME\n",
        ".profile of a shell\n.SH NAME\n",
        ".B ships\n.SH NAME begins a page of a manual\n",
    ],
)
def test_a_text_that_only_begins_with_a_point_is_no_page(read, text):
    _, page = read(text, "story.1")
    assert page.text == text


def test_a_block_that_is_still_open_at_the_end_is_closed(read):
    _, page = read(".TH A 1\n.nf\ncode")
    assert page.text.endswith("```\ncode\n```")


@pytest.mark.parametrize(
    "line",
    [
        ".if n " * 9_000,
        f".B x{' ' * 50_000}x",
        "\\" * 50_000,
        f".ds a {'x' * 500}\n" + "\\*a" * 99,
    ],
)
def test_no_line_takes_long_or_grows_without_end(read, line):
    _, page = read(f".TH A 1\nwords\n{line}\n")
    assert len(page.text) < 60_000


OWN_MACROS = r""".TH MOOR 3
.de AP \" an argument
.ie !"\\$3"" \{\
.TP 15
\&\\$1 \\fI\\$2\\fP (\\$3)
.\}
.el \{\
.TP
\&\\$1
.\}
..
.de QW
.ie '\\*(lq'"' ``\\$1''\\$2
.el \\*(lq\\$1\\*(rq\\$2
..
.de CS
.nf
..
.de CE
.fi
..
.de Quiet
..
.AP "const char" *rope in/out
Holds the ship.
.AP rest
The others, see
.QW "the knots" .
.CS
moor(rope)
.CE
.Quiet nobody sees this
.Unknown shows its words
.ad b
"""


def test_macros_that_a_page_defines_are_followed_and_unknown_ones_show_their_words(read):
    _, page = read(OWN_MACROS)
    assert page.text.split("\n") == [
        "const char *rope (in/out)",
        "Holds the ship.",
        "",
        "rest",
        "The others, see “the knots”.",
        "```",
        "moor(rope)",
        "```",
        "shows its words",
    ]


def test_macros_know_how_many_arguments_they_have_and_pass_all_of_them_on(read):
    _, page = read(
        ".TH A 1\n.de All\n.if \\\\n(.$>1 many:\n.B \\\\$*\n..\n.als Every All\n"
        ".All one\n.PP\n.Every one two\n.rm All\n.PP\n.All gone\n"
    )
    assert page.text == "one\n\nmany: one two\n\ngone"


@pytest.mark.parametrize("begins", [".ie t \\{\\", ".de Macro", ".ig", ".if t \\{ never"])
def test_what_stands_behind_a_block_that_never_ends_is_not_lost(read, begins):
    _, page = read(f".TH A 1\n{begins}\nships\n.if t \\{{\\\nprinters\n.\\}}\n.B ropes\n")
    assert page.text == "ships ropes"


def test_a_branch_that_is_passed_over_ends_where_its_own_brace_does(read):
    _, page = read(
        ".TH A 1\n.ie t \\{\\\n.ie n \\{\\\none\n.\\}\n.el two\nthree\n.\\}\n"
        ".el \\{\\\n.ie n four\n.el five\nsix\n.\\}\n.if \\n(.g seven\n"
    )
    assert page.text == "four six seven"


def test_macros_that_call_themselves_or_grow_without_end_come_to_an_end(read):
    doubling = "".join(f".de M{n}\n" + f".M{n + 1} \\\\$1\n" * 99 + "..\n" for n in range(7))
    _, page = read(f".TH A 1\n.de Self\n.Self \\\\$1 \\\\$1\n..\n.Self ship\n{doubling}.M0 rope\n")
    assert page.text.startswith("ship")
    assert "rope" in page.text
    assert len(page.text) < 5_000_000


@pytest.mark.parametrize(
    "text", [".so man7/knots.7\n", ".so man3/knots.7", '.\\" Drawn up by hand\n.so man7/knots.7\n']
)
def test_a_page_that_only_points_to_another_names_that(read, text):
    extraction, page = read(text)
    assert (extraction.reader, page.text) == ("man", "See knots(7)")


def test_each_row_of_a_table_is_one_line_with_its_cells_in_their_columns(read):
    _, page = read(
        ".TH A 1\n.TS\nallbox tab(:);\nltB ltB lt.\nPort:Depth:Quay\n.T&\nl l\nl l.\n_\n"
        "T{\n.sp\n\\fBBergen\\fR\n.br\n(north)\nT}:T{\n9 m\nT}:east\n=\nOslo::T{\nwest\nT}\n"
        "Moss:7 \\\nm:\n.TE\nafter\n"
    )
    assert page.text.split("\n") == [
        "| Port | Depth | Quay |",
        "| Bergen (north) | 9 m | east |",
        "| Oslo |  | west |",
        "| Moss | 7 m |  |",
        "after",
    ]


def test_a_table_of_one_column_is_shown_as_what_stands_in_its_frame(read):
    _, page = read(".TH A 1\n.TS\nbox;\nlw(3i).\nT{\n.nf\nmoor one\nmoor two\n.fi\nT}\nlast\n.TE\n")
    assert page.text == "```\nmoor one\nmoor two\n```\nlast"


def test_what_stands_behind_a_table_that_never_ends_is_not_lost(read):
    _, page = read(".TH A 1\n.TS\nl l.\none\tT{\ntwo\n.SH PORTS\nBergen\n")
    assert page.text == "| one | two |\n\n## PORTS\nBergen"


def test_code_in_a_cell_leaves_no_fence_behind(read):
    _, page = read(".TH A 1\n.TS\nl l.\nT{\n.nf\nmoor\nT}\tone\nlast\ttwo\\\n.TE\n.nf\ncode\n.fi\n")
    assert page.text == "| moor | one |\n| last | two |\n```\ncode\n```"


def test_lines_that_are_displayed_stay_lines(read):
    _, page = read(
        ".Dd May 1, 2024\n.Dt A 1\n.Sh EXAMPLES\nAs in\n.Dl moor Fl v\n.D1 cast off\n.Pp\nDone.\n"
    )
    assert page.text == "## EXAMPLES\nAs in\nmoor -v\ncast off\n\nDone."


def test_a_space_that_stays_is_no_end_of_a_word(read):
    _, page = read(".TH A 1\n.BR RFC\\ 1122 .\n.RB [ \\-b\\ path ]\n")
    assert page.text == "RFC 1122. [-b path]"


def test_letters_have_the_accents_that_their_names_begin_with(read):
    _, page = read(".TH A 1\n\\(:Angstr\\[:o]m, \\('E\\(^o\\[~n]\\(,c\\(`a\n")
    assert page.text == "Ängström, Éôñçà"


def test_a_row_of_many_lines_takes_time_in_proportion_to_their_number():
    def cells(lines: int) -> None:
        table = Table(str)
        table.row_of("l.")
        for _ in range(lines):
            table.row_of("words " * 50 + "\\")

    assert_in_proportion(cells, 1_000)
