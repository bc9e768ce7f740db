"""What a man page defines itself: macros, registers, and the conditions that depend on them."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager

from kb.engine.ingest.extract.plain.manual.escapes import Escapes

_DEEPEST = 8  # macros within macros
_MOST = 2_000_000  # characters that the macros of a page may come to
_FIRST_WORD = re.compile(r"[.'][ \t]*(\S{1,20})")
_BRACE = re.compile(r"\\([{}])")
_PARAMETER = re.compile(r"\\\$(?:(\d)|\((\d\d)|\[(\d{1,3})\]|[*@])")
_REGISTER = re.compile(r"\\n[+-]?(?:\((..)|\[([^\]]{1,40})\]|(.))")
_NUMBER = re.compile(r"\(?(-?\d{1,9})(?:(==?|>=?|<=?)(-?\d{1,9}))?\)?")
_CONDITION = re.compile(
    r"(?P<no>!?)[ \t]*(?:"
    r"(?P<quote>['\"])(?P<one>.*?)(?P=quote)(?P<two>.*?)(?P=quote)"
    r"|(?P<asks>[dr])[ \t]*(?P<name>[^\s\\]+)"
    r"|(?P<device>[ntoev])(?=[\s\\.']|$)"
    r"|(?P<number>(?:(?!\\\{)\S)*)"
    r")[ \t]*(?P<body>.*)"
)


class Lines:
    """Lines that are read one after the other. A block that never ends is not begun: everything
    after it would be lost."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = -1
        self._branches: dict[int, int] = {}
        self._requests: dict[str, list[int]] = {}
        self._look_ahead()

    def _look_ahead(self) -> None:
        begun: list[int] = []
        for at, line in enumerate(self._lines):
            if word := _FIRST_WORD.match(line):
                self._requests.setdefault(word[1], []).append(at)
            for brace in _BRACE.findall(line):
                if brace == "{":
                    begun.append(at)
                elif begun:
                    self._branches[begun.pop()] = at

    def __iter__(self) -> Iterator[str]:
        while self._at + 1 < len(self._lines):
            self._at += 1
            yield self._lines[self._at]

    def pass_branch(self) -> None:
        """Go on behind what this line has a brace around."""
        self._at = self._branches.get(self._at, self._at)

    def take_until(self, end: str) -> list[str]:
        """The lines before the request of that name, which are not read."""
        ends = self._requests.get(end, [])
        place = bisect_right(ends, self._at)
        if place == len(ends):
            return []
        taken = self._lines[self._at + 1 : ends[place]]
        self._at = ends[place]
        return taken


class OwnMacros:
    """The macros and registers of one page, and whether a condition on them holds."""

    def __init__(self, escapes: Escapes) -> None:
        self._escapes = escapes
        self._macros: dict[str, list[str]] = {}
        self._registers = {".g": 1}  # groff reads it
        self._depth = 0
        self._left = _MOST

    def __contains__(self, name: str) -> bool:
        return name in self._macros

    def define(self, name: str, body: list[str]) -> None:
        self._macros[name] = [line.replace("\\\\", "\\") for line in body]

    def alias(self, new: str, old: str) -> None:
        self._macros[new] = self._macros.get(old) or [f".{old} \\$@"]

    def remove(self, names: list[str]) -> None:
        for name in names:
            self._macros.pop(name, None)

    def set_register(self, name: str, value: str) -> None:
        if number := re.fullmatch(r"(-?\d{1,9})u?", self._with_registers(value)):
            self._registers[name] = int(number[1])

    def expanded(self, name: str, arguments: list[str]) -> list[str]:
        """Its lines with these arguments; of what would not end, the arguments alone."""
        values = [name, *arguments]

        def value(parameter: re.Match[str]) -> str:
            number = parameter[1] or parameter[2] or parameter[3]
            if number is None:
                return " ".join(arguments)
            return values[int(number)] if int(number) < len(values) else ""

        lines = [_PARAMETER.sub(value, line) for line in self._macros[name]]
        self._left -= sum(map(len, lines))
        if self._depth > _DEEPEST or self._left < 0:
            return ["\\&" + " ".join(arguments)]
        self._registers[".$"] = len(arguments)
        return lines

    @contextmanager
    def within(self) -> Iterator[None]:
        """While the lines of a macro are read."""
        self._depth += 1
        yield
        self._depth -= 1

    def choose(self, text: str) -> tuple[bool, str]:
        """Whether the condition that a line begins with holds on a terminal; and what follows."""
        condition = _CONDITION.fullmatch(text)
        if condition is None:
            return False, text
        return self._holds(condition) != bool(condition["no"]), condition["body"]

    def _holds(self, condition: re.Match[str]) -> bool:
        if condition["quote"]:
            return self._escapes.plain(condition["one"]) == self._escapes.plain(condition["two"])
        if condition["asks"]:
            name = condition["name"]
            return name in (self._macros if condition["asks"] == "d" else self._registers)
        if condition["device"]:
            return condition["device"] in "no"
        number = _NUMBER.fullmatch(self._with_registers(condition["number"]))
        if number is None:
            return False
        first, second = int(number[1]), int(number[3] or 0)
        return (
            (first > second and number[2] in (None, ">", ">="))
            or (first < second and number[2] in ("<", "<="))
            or (first == second and number[2] in ("=", "==", ">=", "<="))
        )

    def _with_registers(self, text: str) -> str:
        return _REGISTER.sub(
            lambda found: str(self._registers.get(found[1] or found[2] or found[3], 0)), text
        )
