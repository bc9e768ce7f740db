"""Bytes in, text out, whatever they are written in.

In the order of how much each can be trusted: a byte order mark, strict UTF-8, what the file
declares, a guess from the bytes, and Windows-1252, in which nearly anything can be read.
"""

import codecs
import re

import chardet

from kb.engine.ingest.extract.kind import WIDE_MARKS

_MARKS = ((codecs.BOM_UTF8, "utf-8"), *WIDE_MARKS)
_DECLARED = re.compile(rb"(?:coding|charset)[:=][ \t]*[\"']?([\w.-]{1,40})", re.IGNORECASE)
_DECLARED_WITHIN = 1_024
_GUESS_FROM = 65_536  # bytes
_SURE_ENOUGH = 0.03  # below, from a word or two, chardet takes "Größe" for Icelandic on a Mac
# Codecs that are no character sets, or that ASCII bytes prove wrong.
_NO_CHARSET = re.compile(
    r"utf[_-]?(7|16|32)|idna|punycode|escape|undefined|mbcs|oem", re.IGNORECASE
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def decode(data: bytes, declared: str | None = None) -> str:
    """The text with `\\n` as its only line end, without NUL and without half characters.

    `declared` is what a mail or the like says outside of the bytes. It is tried first: some
    charsets of East Asia look like ASCII.
    """
    text = _strictly(data, declared) if declared and declared.lower() != "utf-8" else None
    text = _decode(data) if text is None else text
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return _SURROGATES.sub("\ufffd", text)


def _decode(data: bytes) -> str:
    for mark, charset in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(charset, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if _is_damaged_utf8(data, error):
            return data.decode("utf-8", "replace")
    for named in (_declared(data), _guessed(data)):
        text = _strictly(data, named) if named else None
        if text is not None:
            return text
    return data.decode("cp1252", "replace")


def _is_damaged_utf8(data: bytes, error: UnicodeDecodeError) -> bool:
    """UTF-8 that was cut off or has a bad byte here and there: other charsets look unlike it."""
    text = data[: error.start + _GUESS_FROM].decode("utf-8", "replace")
    wrong = text.count("\ufffd")
    right = sum(character > "\x7f" for character in text) - wrong
    return right > 10 * wrong


def _declared(data: bytes) -> str | None:
    match = _DECLARED.search(data[:_DECLARED_WITHIN])
    return match[1].decode("ascii", "replace") if match else None


def _guessed(data: bytes) -> str | None:
    """A guess from where the first byte beyond ASCII stands: what comes before tells nothing."""
    beyond = next((match.start() for match in re.finditer(rb"[\x80-\xff]", data)), 0)
    start = max(0, beyond - 1_024)
    guess = chardet.detect(data[start : start + _GUESS_FROM])
    return guess["encoding"] if guess["confidence"] >= _SURE_ENOUGH else None


def _strictly(data: bytes, charset: str) -> str | None:
    if _NO_CHARSET.search(charset):
        return None
    try:
        return str(data, charset)
    except (LookupError, ValueError):  # unknown or no charset; bytes that it does not have
        return None
