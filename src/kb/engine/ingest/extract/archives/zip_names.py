"""Decodes the names in a zip archive: as Unicode if they are marked so, otherwise by the charset in
which all of them together consist of letters only."""

import codecs
import unicodedata
import zipfile
from collections.abc import Iterable

import chardet

_IS_UNICODE = 0x800
_CHARSETS = ("utf-8", "cp932", "gb2312", "big5", "euc_kr", "cp866")
_NARROW = ("\uff61", "\uff9f")  # letters of Japanese that no name has, and any bytes give
_MOSTLY = 0.5
_MARKS = frozenset("NLMPZS")
_DRAWN = ("\u2500", "\u25ff")  # lines and blocks, which wrong charsets are full of

# Nothing can be imported any more once the reader is confined.
for _charset in _CHARSETS:
    codecs.lookup(_charset)


def names_of(members: list[zipfile.ZipInfo]) -> list[str]:
    raw = [_bytes(member) for member in members]
    charset = _charset_of([name for name in raw if name])
    return [
        name.decode(charset, "replace") if name and charset else member.filename
        for name, member in zip(raw, members, strict=True)
    ]


def _bytes(member: zipfile.ZipInfo) -> bytes:
    """The bytes of a name without a charset; Python reads it in that of the first PCs."""
    if member.flag_bits & _IS_UNICODE or member.filename.isascii():
        return b""
    try:
        return member.filename.encode("cp437")
    except UnicodeError:
        return b""


def _charset_of(names: list[bytes]) -> str:
    """Empty for that of the first PCs, in which a Latin letter here and there is beyond ASCII."""
    together = b"\n".join(names)
    if not names or _fits(names, "utf-8"):
        return "utf-8" if names else ""
    stems = b"".join(name.rpartition(b"/")[2].rpartition(b".")[0] or name for name in names)
    if sum(byte > 127 for byte in stems) < len(stems) * _MOSTLY:
        return ""
    guess = str(chardet.detect(together)["encoding"] or "").lower().replace("-", "_")
    asked = {"euc_kr": "euc_kr", "cp949": "euc_kr", "big5": "big5"}.get(guess)
    candidates = [asked, *_CHARSETS] if asked else _CHARSETS
    return next((charset for charset in candidates if charset and _fits(names, charset)), "")


def _fits(names: Iterable[bytes], charset: str) -> bool:
    try:
        text = "".join(name.decode(charset) for name in names)
    except UnicodeError:
        return False
    return all(map(_is_of_a_name, text))


def _is_of_a_name(sign: str) -> bool:
    is_narrow = _NARROW[0] <= sign <= _NARROW[1]
    is_drawn = _DRAWN[0] <= sign <= _DRAWN[1]
    return not is_narrow and not is_drawn and unicodedata.category(sign)[0] in _MARKS
