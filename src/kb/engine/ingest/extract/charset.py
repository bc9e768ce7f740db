"""Decodes bytes into text by, most trustworthy first: a byte order mark, strict UTF-8, what the
file declares, a guess from the bytes, and Windows-1252, which can decode nearly anything."""

import re

import chardet

from kb.engine.ingest.extract.kind import wide_charset

_SEVEN_BITS = (b"\x1b$", ("iso2022_kr", "iso2022_jp_2"))  # East Asia in ASCII bytes
_DECLARED = re.compile(rb"(?:coding|charset)[:=][ \t]*[\"']?([\w.-]{1,40})", re.IGNORECASE)
_DECLARED_WITHIN = 1_024
_GUESS_FROM = 65_536  # bytes
_SURE_ENOUGH = 0.03  # below, from a word or two, chardet takes "Größe" for Icelandic on a Mac
_SURE = 0.5
_LATIN_CHARSET = re.compile(
    r"windows-125[0247]|iso-?8859-?(?:1|2|3|4|9|10|13|14|15|16)", re.IGNORECASE
)
_BEYOND = re.compile(rb"[\x80-\xff]")
_BEYOND_WORD = re.compile(rb"[A-Za-z]*+[\x80-\xff][A-Za-z\x80-\xff]*+")
_HIGH = bytes(range(0x80, 0x100))
_AROUND = 8_192  # bytes before and after one beyond ASCII that may tell about it
# Codecs that are no character sets, or that ASCII bytes prove wrong.
_NO_CHARSET = re.compile(
    r"utf[_-]?(7|16|32)|idna|punycode|escape|undefined|mbcs|oem", re.IGNORECASE
)
_SURROGATES = re.compile("[\ud800-\udfff]")


def decode(data: bytes, declared: str | None = None) -> str:
    """The text with `\\n` as its only line end, without NUL and without half characters. What a
    mail or the like has `declared` is tried first: some charsets of East Asia look like ASCII."""
    text = _strictly(data, declared) if declared and declared.lower() != "utf-8" else None
    text = _decode(data) if text is None else text
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    return _SURROGATES.sub("\ufffd", text)


def _decode(data: bytes) -> str:
    wide = wide_charset(data)
    if wide is not None:
        charset, mark = wide
        return data[mark:].decode(charset, "replace")
    for charset in _SEVEN_BITS[1] if _SEVEN_BITS[0] in data else ():
        shifted = _strictly(data, charset)
        if shifted is not None:
            return shifted
    try:
        return data.decode("utf-8-sig")
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
    """A guess from the lines with bytes beyond ASCII. chardet finds Macs, terminals and Hebrew in a
    table with an umlaut here and there, so where most words are Latin, only charsets of that script
    are believed, unless it is rather sure."""
    sample = _telling_lines(data)
    guess = chardet.detect(sample)
    name, confidence = guess["encoding"] or "", guess["confidence"]
    is_odd = _is_latin(sample) and not _LATIN_CHARSET.fullmatch(name)
    return name if confidence >= (_SURE if is_odd else _SURE_ENOUGH) else None


def _telling_lines(data: bytes) -> bytes:
    data = data.replace(b"\r", b"\n")
    lines: list[bytes] = []
    position = size = 0
    while size < _GUESS_FROM and (found := _BEYOND.search(data, position)):
        start = max(position, found.start() - _AROUND)
        start = data.rfind(b"\n", start, found.start()) + 1 or start
        end = data.find(b"\n", found.end(), found.end() + _AROUND)
        position = found.end() + _AROUND if end < 0 else end
        lines.append(data[start:position])
        size += len(lines[-1])
    return b"\n".join(lines)[:_GUESS_FROM]


def _is_latin(sample: bytes) -> bool:
    """Whether most words with letters beyond ASCII have as many within; or are single signs."""
    words = _BEYOND_WORD.findall(sample)
    latin = sum(
        len(word) < 2 or 2 * len(word.translate(None, _HIGH)) >= len(word) for word in words
    )
    return 2 * latin >= len(words)


def _strictly(data: bytes, charset: str) -> str | None:
    if _NO_CHARSET.search(charset):
        return None
    try:
        return str(data, charset)
    except (LookupError, ValueError):  # unknown or no charset; bytes that it does not have
        return None
