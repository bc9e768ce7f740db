"""Makes texts, sizes and times of unknown origin safe to print."""

import re
from datetime import datetime

# Control characters, what changes the direction of text, and lone surrogates: a document must not
# be able to move the cursor, recolour the screen, or make a name read as another.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)


def clean(text: str) -> str:
    """The text with a visible stand-in for every unsafe character, so that offsets stay right."""
    return _UNSAFE.sub(_stand_in, text)


def one_line(text: str) -> str:
    return clean(" ".join(text.split()))


def escape_unsafe(written: str) -> str:
    r"""Written JSON with its unsafe characters as \u escapes: the same value, safe to print."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", written)


def _stand_in(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else "�"


def size(count: int | None) -> str:
    """Bytes as a person reads them: `0 B`, `999 B`, `1.0 KB`, `23 MB`."""
    if count is None:
        return ""
    value, unit = float(count), "B"
    for larger in ("KB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1024, larger
    return f"{value:.1f} {unit}" if unit != "B" and value < 9.95 else f"{value:.0f} {unit}"


def moment(time: str | None, *, seconds: bool = False) -> str:
    """A time of the API in this machine's zone, to the minute, or to the second."""
    if not time:
        return ""
    try:
        written = "%Y-%m-%d %H:%M:%S" if seconds else "%Y-%m-%d %H:%M"
        return datetime.fromisoformat(time).astimezone().strftime(written)
    except ValueError:
        return clean(time)


def duration(seconds: float | None) -> str:
    """Seconds as a person reads them: `0.4 s`, `12 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`."""
    if seconds is None:
        return ""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def about(seconds: float) -> str:
    """A rough estimate, no more precise than it deserves: `about 7 s`, `about 3 min`, `about 1 h 20
    min`."""
    whole = max(1, round(seconds))
    if whole < 60:
        return f"about {whole} s"
    if whole < 3570:
        return f"about {round(whole / 60)} min"
    return f"about {duration(whole)}"


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`, `1,204 passages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"
