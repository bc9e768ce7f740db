"""Prints what a check found."""

import click
from rich.text import Text

from kb.cli.connect.checking import Finding
from kb.cli.terminal.output import console
from kb.cli.terminal.safe_text import one_line

_MARKS = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("·", "dim")}
_WORDS = {True: "works", False: "fails", None: "not reached"}
_INDENT = 10  # a mark, the longest step, and the spaces between


def show_findings(findings: list[Finding]) -> None:
    """A line for each step on a terminal, columns elsewhere: step, outcome, message."""
    screen = console()
    for finding in findings:
        message = one_line(finding.message)
        if not screen.is_terminal:
            click.echo(f"{finding.step}\t{_WORDS[finding.works]}\t{message}")
            continue
        mark, style = _MARKS[finding.works]
        text = Text(message or _WORDS[finding.works], "dim" if finding.works is None else "")
        first, *others = text.wrap(screen, max(20, screen.width - _INDENT))
        screen.print(Text.assemble((mark, style), f" {finding.step:<{_INDENT - 2}}", first))
        for line in others:
            screen.print(Text(" " * _INDENT) + line)
