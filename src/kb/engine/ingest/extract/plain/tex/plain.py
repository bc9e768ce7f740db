"""Reduces TeX to its words, line for line, so that they can be cited. Of unknown commands the name
is dropped and the argument kept. Formulas stay as they are written."""

import re

from kb.engine.ingest.extract.plain.tex import commands

_TOKEN = re.compile(
    r"(?P<comment>(?<!\\)%[^\n]*)"
    r"|\\(?P<command>[A-Za-z@]+)\*?[ \t]*"
    r"|\\(?P<sign>.|\n)"
    r"|(?P<dashes>-{2,3}|``|''|,,)"
    r"|(?P<mark>[{}$&~\n\[\]])"
    r"|(?P<words>[^\\%{}$&~\n\[\]\-`',]+|.)",
    re.DOTALL,
)
_DASHES = {"--": "–", "---": "—", "``": "“", "''": "”", ",,": "„"}
_NAME = re.compile(r"[ \t]*\{([A-Za-z@*]{1,60})\}")
_LETTER = re.compile(r"\s{0,3}(?:\{\s{0,3}(\\[ij]|\w)?\s{0,3}\}|(\\[ij](?![A-Za-z])|\w))")
_OPTION = re.compile(r"\[([^\[\]\n]{0,500})\]")
_BEGIN_DOCUMENT = re.compile(r"\\begin\s{0,3}\{document\}")
_DEFINED = re.compile(r"[ \t]*\\?[A-Za-z@]{0,60}[ \t]*")
_MOST_DEEP = 10_000
_LONGEST_VERBATIM = 1_000  # characters within a line


class Plain:
    """Goes once through a text."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._out: list[str] = []
        self._at = 0
        self._closing: list[str] = []  # what comes at the end of each group that is open
        self._next: list[str] = []  # what is to be done with the groups that follow
        self._unseen = 0  # groups that are not shown
        self._waiting: list[list[str]] = []  # what is to be done behind each of those
        self._heading = 0  # at which depth a heading was opened
        self._lines_owed = 0
        self._tables = 0
        self._absent: set[str] = set()  # ends of formulas that do not come any more
        begin = _BEGIN_DOCUMENT.search(source)
        self.has_document = begin is not None
        self._body = begin.end() if begin else 0

    def text(self) -> str:
        while self._at < len(self._source):
            match = _TOKEN.match(self._source, self._at)
            assert match is not None  # the last alternative takes anything
            self._at = match.end()
            self._take(match)
        self._out.append("\n" * self._lines_owed)
        lines = "".join(self._out).split("\n")
        return "\n".join(" ".join(line.split()) if line[:1] != "\0" else line[1:] for line in lines)

    @property
    def is_open(self) -> bool:
        """Whether something that is not shown was still open at the end."""
        return self._unseen > 0

    def _take(self, match: re.Match[str]) -> None:
        kind = match.lastgroup
        text = match[kind] if kind else ""
        if kind == "comment":
            return
        if kind == "command":
            self._command(text)
        elif kind == "sign":
            self._sign(text)
        elif kind == "mark":
            self._mark(text)
        elif kind == "dashes":
            self._say(_DASHES[text])
        else:
            if not text.isspace():
                self._next = []
            self._say(text)

    def _say(self, text: str) -> None:
        if not self._unseen and self._at >= self._body_or_title:
            self._out.append(text)

    @property
    def _body_or_title(self) -> int:
        """Text before the document is visible only if it is its title."""
        return 0 if self._heading else self._body

    def _line(self, count: int = 1) -> None:
        if self._heading:
            self._lines_owed += count
            self._out.append(" ")
        else:
            self._out.append("\n" * count)

    def _command(self, name: str) -> None:
        self._next = []
        if name in ("begin", "end"):
            self._environment(name)
        elif name in commands.HEADINGS:
            self._option()
            self._next = [f"heading {commands.HEADINGS[name]}"]
        elif name in ("def", "gdef", "edef", "xdef"):
            self._skip_primitive()
        elif name == "verb":
            self._verbatim_words()
        elif name == "item":
            said = self._option()
            self._say(f"- {said} " if said else "- ")
        elif name in commands.SAID:
            self._say(commands.SAID[name])
        elif len(name) == 1 and commands.is_accent(name):
            self._accent(name)
        elif name in commands.AROUND:
            self._option()
            self._next = [f"around {name}"]
        elif name in commands.UNSEEN:
            self._option()
            self._next = ["unseen"] * commands.UNSEEN[name]
            self._skip_defined(name)
        else:
            self._option()
            self._say(" ")

    def _skip_primitive(self) -> None:
        """`\\def\\name#1{…}`."""
        found = _DEFINED.match(self._source, self._at)
        self._at = found.end() if found else self._at
        while self._at < len(self._source) and self._source[self._at] not in "{\n":
            self._at += 1
        self._next = ["unseen"]

    def _skip_defined(self, name: str) -> None:
        """`\\newcommand\\name{…}` as well as `\\newcommand{\\name}{…}`."""
        if name not in ("newcommand", "renewcommand", "providecommand", "let"):
            return
        found = _DEFINED.match(self._source, self._at)
        if found and "\\" in found[0]:
            self._at = found.end()
            self._next = ["unseen"]
        if name == "let":
            self._next = []

    def _sign(self, sign: str) -> None:
        if commands.is_accent(sign):
            self._accent(sign)
        elif sign in "[(":
            self._formula(f"\\{sign}", "\\]" if sign == "[" else "\\)")
        elif sign == "\\":
            self._option()
            self._say(" ")
        elif sign == "\n":
            self._line()
        elif sign in "%&_#${}":
            self._say(sign)
        elif sign not in "-/@!":
            self._say(" ")

    def _mark(self, mark: str) -> None:
        if mark == "{":
            self._open()
        elif mark == "}":
            self._close()
        elif mark == "$":
            double = self._source.startswith("$", self._at)
            self._at += double
            self._formula("$" * (1 + double), "$" * (1 + double))
        elif mark == "\n":
            self._line()
        elif mark == "&":
            self._say(" | " if self._tables else "&")
        elif mark == "~":
            self._say(" ")
        elif mark == "[" and self._next:
            found = _OPTION.match(self._source, self._at - 1)
            self._at = found.end() if found else self._at
        else:
            self._say(mark)

    def _open(self) -> None:
        what, _, word = (self._next.pop(0) if self._next else "").partition(" ")
        if self._source[self._at - 2 : self._at - 1] == "}":  # the next argument of a command
            self._say(" ")
        if len(self._closing) >= _MOST_DEEP:
            return
        after = ""
        if what == "unseen":
            self._unseen += 1
            self._waiting.append(self._next)
            self._next = []
            after = "unseen"
        elif what == "heading" and not self._heading:
            self._heading = len(self._closing) + 1
            self._say(f"{'#' * int(word)} ")
            after = "heading"
        elif what == "around":
            self._say(commands.AROUND[word][0])
            after = f"around {word}"
        self._closing.append(after)

    def _close(self) -> None:
        what, _, word = (self._closing.pop() if self._closing else "").partition(" ")
        self._next = []
        if what == "unseen":
            self._unseen -= 1
            self._next = self._waiting.pop()
        elif what == "heading":
            self._heading = 0
            self._out.append("\n" * self._lines_owed)
            self._lines_owed = 0
        elif what == "around":
            self._say(commands.AROUND[word][1])

    def _environment(self, which: str) -> None:
        found = _NAME.match(self._source, self._at)
        if found is None:
            return
        name = found[1]
        self._at = found.end()
        if name in commands.TABLES:
            self._tables += 1 if which == "begin" else -1 if self._tables else 0
            self._next = ["unseen"] * (2 if name in ("tabularx", "tabular*") else 1)
            self._next = self._next if which == "begin" else []
            self._option()
            return
        if which == "end":
            return
        if name in commands.VERBATIM or name in commands.COMMENTS or name in commands.MATHS:
            end = self._source.find(f"\\end{{{name}}}", self._at)
            inside = self._source[self._at : end if end >= 0 else None]
            self._at += len(inside)
            if end >= 0:
                self._at += len(f"\\end{{{name}}}")
            self._as_it_is(inside, shown=name not in commands.COMMENTS)
            return
        said = self._option()
        if said and not re.fullmatch(r"[\w!.,=\s-]{0,5}|.*[=].*", said):
            self._say(f"{said} ")
        if name in ("figure", "table", "figure*", "table*", "minipage", "wrapfigure", "multicols"):
            self._next = ["unseen"] * (name in ("minipage", "multicols")) or []
        if name == "frame":
            self._next = ["heading 2"]
        if name == "thebibliography":
            self._next = ["unseen"]

    def _formula(self, begin: str, end: str) -> None:
        found = -1 if end in self._absent else self._source.find(end, self._at)
        if found < 0:
            self._absent.add(end)  # nor will it be there later
        if found < 0 or (end[0] == "$" and self._source.find("\n\n", self._at, found) >= 0):
            self._say(begin)  # never closed: a price, perhaps
            return
        inside = self._source[self._at : found]
        self._at = found + len(end)
        self._say(begin)
        for number, line in enumerate(inside.split("\n")):
            if number:
                self._line()
            self._say(line)
        self._say(end)

    def _as_it_is(self, text: str, *, shown: bool) -> None:
        for number, line in enumerate(text.split("\n")):
            if number:
                self._out.append("\n")
            if shown and line.strip() and not self._unseen and self._at >= self._body:
                self._out.append(f"\0{line}" if number else line)

    def _verbatim_words(self) -> None:
        if self._at >= len(self._source):
            return
        until = self._at + _LONGEST_VERBATIM
        end = self._source.find(self._source[self._at], self._at + 1, until)
        if end > 0 and "\n" not in self._source[self._at : end]:
            self._say(self._source[self._at + 1 : end])
            self._at = end + 1

    def _accent(self, mark: str) -> None:
        found = _LETTER.match(self._source, self._at)
        letter = (found[1] or found[2] or "") if found else ""
        if found and "\n" not in found[0]:
            self._at = found.end()
            self._say(commands.accented(mark, letter))

    def _option(self) -> str:
        """The text in brackets right after a command."""
        found = _OPTION.match(self._source, self._at)
        if found is None:
            return ""
        self._at = found.end()
        return found[1].strip()
