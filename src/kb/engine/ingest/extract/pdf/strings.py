"""Gets text out of pdfium's functions."""

from collections.abc import Callable
from typing import Any

import pypdfium2.raw as pdfium_c

_LONGEST = 20_000  # characters


def string(get: Callable[..., int], *arguments: Any) -> str:
    """The text, with `\\n` as its only line end and without half characters, on which pypdfium2's
    own helpers raise. The function tells the size first, in bytes of UTF-16."""
    size = get(*arguments, None, 0)
    if size <= 2:
        return ""
    buffer = (pdfium_c.FPDF_WCHAR * (size // 2))()
    get(*arguments, buffer, size)
    text = bytes(buffer)[: 4 * _LONGEST].decode("utf-16-le", "ignore")[:_LONGEST]
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "").strip()
