"""Replaces the escapes for signs, fonts and spaces in the text of a man page."""

import re
import unicodedata

_ESCAPE = re.compile(
    r"\\(?:"
    r"(?P<comment>[\"#].*)"
    r"|\((?P<pair>..)|\[(?P<name>[^\]]{1,40})\]"
    r"|\*(?:\((?P<string>..)|\[(?P<long>[^\]]{1,40})\]|(?P<short>.))"
    r"|[fFgkmMnVY](?:\(..|\[[^\]]{0,40}\]|[+-]?.)"
    r"|s(?:[+-]?\d|\([+-]?\d\d|\[[^\]]{0,9}\]|'[^']{0,9}')"
    r"|[ABbCDhHlLNoRSvwxXZ]'[^']{0,200}'"
    r"|(?P<sign>.)"
    r"|$)"
)
_PLAIN = {
    "-": "-",
    "e": "\\",
    "\\": "\\",
    " ": " ",
    "~": " ",
    "0": " ",
    "'": "'",
    "`": "`",
    ".": ".",
}
# Each by its name of two letters, and what it stands for.
_SIGN_NAMES = """
    bu• em— en– hy- lq“ rq” oq‘ cq’ aq' dq" ga` aa´ ti~ ha^ rs\\ sl/ la< ra> lB[ rB] lC{ rC} ba| or|
    co© rg® tm™ de° sc§ mu× +-± <=≤ >=≥ !=≠ ->→ <-← eq= pl+ ul_ Fo« Fc» ssß at@
"""
_ACCENTS = {
    ":": "\u0308",
    "'": "\u0301",
    "`": "\u0300",
    "^": "\u0302",
    "~": "\u0303",
    ",": "\u0327",
}
_MOST = 100  # characters of a string
_SIGNS = {entry[:2]: entry[2:] for entry in _SIGN_NAMES.split()}
_STRINGS = {"lq": "“", "rq": "”", "R": "®", "Tm": "™", "Aq": "'", "L'": "“", "R'": "”"}


class Escapes:
    """Puts in what escapes stand for; a page may define strings of its own."""

    def __init__(self) -> None:
        self._strings = dict(_STRINGS)

    def define(self, name: str, value: str) -> None:
        """Of any length a string could double with each that is made of it."""
        self._strings[name] = self.plain(value.removeprefix('"'))[:_MOST]

    def plain(self, text: str) -> str:
        return _ESCAPE.sub(self._meaning, text) if "\\" in text else text

    def _meaning(self, escape: re.Match[str]) -> str:
        if name := escape["pair"] or escape["name"]:
            code = re.fullmatch(r"u([0-9A-F]{4,5})", name)
            return chr(int(code[1], 16)) if code else _SIGNS.get(name) or _accented(name)
        if name := escape["string"] or escape["long"] or escape["short"]:
            return self._strings.get(name, "")
        return _PLAIN.get(escape["sign"] or "", "")


def _accented(name: str) -> str:
    """A letter with the accent that its name begins with: `:A` is Ä."""
    accent, letter = name[:1], name[1:]
    if accent not in _ACCENTS or len(letter) != 1 or not letter.isalpha():
        return ""
    return unicodedata.normalize("NFC", letter + _ACCENTS[accent])
