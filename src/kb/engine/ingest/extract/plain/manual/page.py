"""A man page as `man` shows it. It knows man's own macros and BSD's mdoc, and follows those that a
page defines. For any other macro the words are shown, since nothing should be lost."""

import re

from kb.engine.ingest.extract.extraction import Extraction, Source, ending
from kb.engine.ingest.extract.plain.manual import mdoc
from kb.engine.ingest.extract.plain.manual.escapes import Escapes
from kb.engine.ingest.extract.plain.manual.own_macros import Lines, OwnMacros
from kb.engine.ingest.extract.plain.manual.table import Table
from kb.engine.ingest.extract.plain.text import read_text
from kb.engine.ingest.extract.refusals import Refusals
from kb.engine.ingest.extract.rows import pipe_row
from kb.engine.pages import Page

_REQUEST = re.compile(r"[.'][ \t]*(\S*)[ \t]*(.*)")
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|([^ \t]+)')
_REMARK = re.compile(r"\\[\"#].*")
_OTHER_PAGE = re.compile(r"man[\w.]*/(.+)\.(\w+)")
_HEADINGS = {"SH": "## ", "Sh": "## ", "SS": "### ", "Ss": "### "}
_BREAKS = frozenset(["PP", "P", "LP", "Pp", "Lp", "HP", "sp", "br", "TP", "RS", "RE", "El"])
_FONTS = frozenset(["B", "I", "SM", "SB", "R", "SY", "UR", "MT", "URL", "MTO"])
_MIXED = frozenset(["BR", "RB", "BI", "IB", "IR", "RI"])
_VERBATIM = frozenset({"nf", "EX", "Bd"})
_FILLED = frozenset({"fi", "EE", "Ed"})
_DEFINITIONS = frozenset({"de", "de1", "am", "am1", "ig"})
_CHOICES = frozenset({"if", "ie", "el"})
_IN_A_ROW = 8  # conditions of one line
# Whatever a page makes of these, they tell what is a heading, an item or code.
_STRUCTURE = frozenset([*_HEADINGS, "TH", "TP", "IP", "PP", "EX", "EE"])
# What is about fonts, places, registers, files and the index, and shows nothing by itself.
_LAYOUT_NAMES = """
    ad af ai as as1 bp box boxa brp c2 cc ce cf ch char chop close color cp cs cu da dei dei1 di do
    dt ec ecr em eo ev evc ex fam fc fchar fl fp ft ftr fschar fzoom gcolor hc hcode hla hlm hpf
    hpfa hpfcode hw hy hym hys in it itc kern lc length lf lg linetabs ll ls lsm lt mc mk mso
    msoquiet na ne nh nm nn nroff ns nx open opena os output pc pev pi pl pm pn po ps psbb pso ptr
    pvs rchar rd return rfschar rj rn rnn rr rs rt schar shc shift sizes so soquiet spreadwarn ss
    sty substring sv sy ta tag tc ti tkf tl tm tm1 tmc tr trf trin trnt troff uf ul unformat vpt vs
    warn warnscale wh while writec writem AT UC PD DT IX TA SM Bl Bk Ek Bf Ef Dd Os Sm Rs Re
    LINKSTYLE YS
"""
_LAYOUT = frozenset(_LAYOUT_NAMES.split())
_BULLETS = frozenset("•o*-—·+")


def extract(source: Source) -> Extraction:
    page = ManualPage()
    page.read(read_text(source))
    if not page.text.strip():
        raise Refusals(source.filename).no_text()
    pages = iter([Page(page.text, markup="markdown", lines_count=False)][source.start :])
    return Extraction("text", ending(source.filename), pages, title=page.title)


class ManualPage:
    """A page that is read line by line."""

    def __init__(self) -> None:
        self.title: str | None = None
        self._shown: list[str] = []
        self._paragraph: list[str] = []  # its lines, while it goes on
        self._escapes = Escapes()
        self._name = ""
        self._heading = ""  # of a heading whose words come in the next line
        self._has_term = False  # the next line is what a paragraph is about
        self._begins = False  # an item has just begun
        self._code = False
        self._table: Table | None = None  # while one is read
        self._before_cell = 0  # how many lines were shown before the cell of text that is open
        self._own = OwnMacros(self._escapes)
        self._lines = Lines([])
        self._otherwise: list[bool] = []  # of each open choice, whether its other branch is shown

    @property
    def text(self) -> str:
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._shown)).strip("\n")

    def read(self, text: str) -> None:
        self._read_lines(text.split("\n"))
        self._end_table()
        self._end_paragraph()
        self._fence(begins=False)

    def _read_lines(self, lines: list[str]) -> None:
        around, self._lines = self._lines, Lines(lines)
        for line in self._lines:
            self._read_line(line)
        self._lines = around

    def _read_line(self, line: str) -> None:
        request = _REQUEST.fullmatch(line)
        if request:
            self._follow(request[1], request[2])
        elif self._table and (not self._table.in_text or line.startswith("T}")):
            self._read_row(self._table, line)
        else:
            self._show(self._escapes.plain(line))

    def _read_row(self, table: Table, line: str) -> None:
        """A row is one line. What is in a frame stays as it is."""
        self._end_paragraph()
        if not table.in_text:
            row = table.row_of(line)
        elif table.is_frame:
            row = table.end_text("", line)
        else:
            text = self._shown[self._before_cell :]
            del self._shown[self._before_cell :]
            self._code ^= text.count("```") % 2 == 1  # a cell has no room for fences
            row = table.end_text(" ".join(each for each in text if each != "```"), line)
        if row:
            self._show_line(row[0] if table.is_frame and len(row) == 1 else pipe_row(row))
        self._before_cell = len(self._shown)

    def _end_table(self) -> None:
        if self._table:
            self._read_row(self._table, "T}" if self._table.in_text else "")
        self._table = None

    def _show(self, text: str) -> None:
        """Words of a paragraph, which goes on until something else comes."""
        if self._code:
            self._show_line(text)
        elif not text.strip():
            self._break()
        elif self._heading or self._has_term:
            self._show_line(self._heading + text)
            self._begins = self._has_term
            self._heading, self._has_term = "", False
        else:
            if text[0].isspace():
                self._end_paragraph()
            self._paragraph.append(text.strip())
            self._begins = False

    def _show_line(self, line: str) -> None:
        self._end_paragraph()
        self._shown.append(line)

    def _end_paragraph(self) -> None:
        if self._paragraph:
            self._shown.append(" ".join(self._paragraph))
            self._paragraph.clear()

    def _break(self) -> None:
        """A blank line; an item's title stays with its description."""
        if not self._begins:
            self._show_line("")

    def _show_item(self, words: str) -> None:
        self._begins = False
        self._break()
        self._show_line(f"- {words}".rstrip())
        self._begins = True

    def _follow(self, macro: str, rest: str) -> None:
        if macro in self._own and macro not in _STRUCTURE:
            with self._own.within():
                self._read_lines(self._own.expanded(macro, _words_of(rest)))
        elif macro in _DEFINITIONS:
            self._define(macro, *_words_of(rest)[:2])
        elif macro in _CHOICES:
            self._choose(macro, rest)
        elif macro == "T&" and self._table:
            self._table.look_anew()
        elif macro in ("TS", "TE"):
            self._end_table()
            self._table = Table(self._escapes.plain) if macro == "TS" else None
        elif macro == "ds":
            name, _, value = rest.partition(" ")
            self._escapes.define(name, value)
        elif macro == "nr":
            self._own.set_register(*(*_words_of(rest), "", "")[:2])
        elif macro == "rm":
            self._own.remove(_words_of(rest))
        elif macro == "als":
            self._own.alias(*(*_words_of(rest), "", "")[:2])
        elif macro in _VERBATIM or macro in _FILLED:
            is_verbatim = macro in _VERBATIM and (macro != "Bd" or "-filled" not in rest)
            self._fence(begins=is_verbatim)
        elif macro == "so" and (other := _OTHER_PAGE.fullmatch(rest.strip())):
            self._show(f"See {other[1]}({other[2]})")
        elif macro in _BREAKS:
            self._begins = self._begins and macro != "TP"
            self._break()
            self._has_term = macro == "TP"
        else:
            parts = [self._escapes.plain(each).replace("\xa0", " ") for each in _words_of(rest)]
            self._follow_words(macro, parts)

    def _define(self, macro: str, name: str = "", end: str = ".") -> None:
        """Define a macro of the page's own; additions to a macro and comments are skipped."""
        body = self._lines.take_until(name or "." if macro == "ig" else end)
        if macro.startswith("de") and name:
            self._own.define(name, body)

    def _choose(self, macro: str, rest: str) -> None:
        """Of what depends on where it is shown, follow what a terminal shows."""
        for _ in range(_IN_A_ROW):
            if macro == "el":
                wanted, body = bool(self._otherwise) and self._otherwise.pop(), rest
            else:
                wanted, body = self._own.choose(rest)
            if macro == "ie":
                self._otherwise.append(not wanted)
            if not wanted:
                if "\\{" in body:
                    self._lines.pass_branch()
                return
            rest = body.replace("\\{", "").strip().removesuffix("\\")
            request = _REQUEST.fullmatch(rest)
            if not request or request[1] not in _CHOICES:
                break
            macro, rest = request[1], request[2]
        if rest:
            self._read_line(rest)

    def _fence(self, *, begins: bool) -> None:
        """Around lines that stay as they are; none begins or ends twice."""
        if begins != self._code:
            self._show_line("```")
        self._code = begins

    def _follow_words(self, macro: str, parts: list[str]) -> None:
        words = " ".join(parts)
        if macro in ("TH", "Dt") and parts:
            self._name = parts[0].lower().rstrip(":")
            self.title = f"{self._name}({parts[1]})" if len(parts) > 1 else self._name
        elif macro in _HEADINGS:
            self._end_table()
            self._fence(begins=False)
            self._begins = False
            self._break()
            self._heading = _HEADINGS[macro]
            self._show(words)
        elif macro == "IP" and parts:
            self._show_item("" if parts[0] in _BULLETS else parts[0])
        elif macro == "IP":
            self._break()
        elif macro == "It":
            self._show_item(mdoc.words(parts, self._name))
        elif macro in ("D1", "Dl"):
            self._show_line(mdoc.words(parts, self._name))
            self._begins = False
        elif macro in _FONTS:
            self._show(words)
        elif macro in _MIXED:
            self._show("".join(parts))
        elif macro == "OP":
            self._show(f"[{words}]")
        elif macro in mdoc.MACROS:
            self._show(mdoc.words([macro, *parts], self._name))
        elif words and macro not in _LAYOUT and not macro.startswith("\\"):
            self._show(words)


def _words_of(rest: str) -> list[str]:
    """The words of a line, with quoted text as one word; a space that stays is marked."""
    rest = _REMARK.sub("", rest).replace("\\ ", "\xa0")
    return [quoted.replace('""', '"') or word for quoted, word in _ARGUMENT.findall(rest)]
