"""Prints plain lines without loading a terminal library."""

import json
import shutil
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import click

from kb.cli.terminal.safe_text import escape_unsafe, one_line

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

json_option: Decorator = click.option(
    "--json", "as_json", is_flag=True, help="Print JSON, for programs."
)


def print_json(value: Any, indent: int | None = 2) -> None:
    """The value as JSON on standard output; what could steer a terminal is escaped."""
    click.echo(escape_unsafe(json.dumps(value, ensure_ascii=False, indent=indent)))


def warn(line: str) -> None:
    """A line for people that is not part of the output; a terminal gets it broken between words."""
    line = f"kb: {one_line(line)}"
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
    click.echo(line, err=True)
