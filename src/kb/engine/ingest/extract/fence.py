"""Writes code as a fenced block of Markdown."""

import re

_RUN = re.compile(r"`{3,}")


def fenced(code: str, language: str = "") -> str:
    """Between marks that are longer than any in the code."""
    longest = max(map(len, _RUN.findall(code)), default=2)
    fence = "`" * (longest + 1)
    text = code.strip("\n").rstrip()
    return f"{fence}{language}\n{text}\n{fence}"
