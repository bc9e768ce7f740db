"""Writes cells as one line of a Markdown table."""

from collections.abc import Iterable


def pipe_row(cells: Iterable[str]) -> str:
    """`| a | b |`: one line whatever the cells hold, so that a table is never cut inside a row."""
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
