"""Tells what kind a file is. Bytes separate text from everything else, so a renamed program never
reaches a reader. The name decides between kinds of text; without one, the first tag or lines."""

import codecs
import re
import unicodedata
from collections.abc import Iterable
from pathlib import PurePath
from typing import BinaryIO

from kb.engine.ingest.extract.containers import kind_of_ole, kind_of_zip
from kb.engine.ingest.extract.extraction import ending
from kb.engine.ingest.extract.formats import BY_KIND, FORMATS, REFUSED, Format, Mark, Refused

PREFIX = 8_192  # bytes to look at
_BY_MARKS: tuple[Format | Refused, ...] = (
    *FORMATS,
    *(each for each in REFUSED if not each.endings),
)

_PDF_WITHIN = 1_024  # a PDF may begin after some junk
# UTF-32 comes first: its little-endian mark begins with that of UTF-16.
WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# And without a mark: the bytes of a unit, and which of them a Latin letter fills.
_UNMARKED = (
    ("utf-32-le", 4, 0),
    ("utf-32-be", 4, 3),
    ("utf-16-le", 2, 0),
    ("utf-16-be", 2, 1),
)
_FEWEST_UNITS = 8
_MOST_LATIN = 0.8  # of the units
_SHIFTED = b"\x1b$)C"
_INFO_MARKS = (b"\0\b[", b"\0\b]")  # around an index entry or a picture in GNU Info
_ODD = frozenset({"Cn", "Co", "Cs"})  # unassigned, private use, half a character
_CONTROLS = bytes(sorted({*range(32), 127} - {7, 8, 9, 10, 11, 12, 13, 27}))
_MAX_NULS = 0.001  # of the first bytes; a log of a machine that went down has a few
_MAX_CONTROLS = 0.02  # of the bytes; a log with colours and bells has fewer

_CODE_NAMES = frozenset(
    {"makefile", "dockerfile", "containerfile", "jenkinsfile", "rakefile", "gemfile", "vagrantfile"}
    | {"justfile", "cmakelists.txt"}
)
# The kind of files of text, whatever they begin with: a log may open with a tag or a bracket.
_BY_ENDING = {
    ending: each.kind for each in FORMATS if each.is_text for ending in each.endings.split()
}
_HTML_TAG_NAMES = """
    html head body title meta link base script style p div span a b i u em strong table ul ol dl
    h1 h2 h3 h4 h5 h6 article section main header footer nav center font br hr img form pre
"""
_HTML_TAGS = frozenset(_HTML_TAG_NAMES.split())
# Comments, declarations and the document type come before the first tag.
_BEFORE_TAG = re.compile(
    r"(?:\s|<\?[^>]*+>|<!--(?:[^-]|-(?!->))*+-->|<!doctype[^>\[]*+(?:\[[^\]]*+\]\s*+)?+>)*+",
    re.IGNORECASE,
)
_FIRST_TAG = re.compile(r"<([a-z][\w:.-]*+)", re.IGNORECASE)
# An OpenDocument file that is one file says in its first tag what it is.
_FLAT = re.compile(
    r"mimetype=[\"']application/vnd\.oasis\.opendocument\."
    "(text|spreadsheet|presentation|graphics)"
)
_FLAT_KINDS = {"text": "odt", "spreadsheet": "ods", "presentation": "odp", "graphics": "odg"}
# What is named XML and has a reader of its own nevertheless.
_OWN_READERS = frozenset({"html", "svg", "fb2", *_FLAT_KINDS.values()})
_HEADER_LINES = re.compile(r"(?:[A-Za-z][\w-]{0,70}:[^\n]*\n(?:[ \t][^\n]*\n)*){2}")
_MAIL_HEADER = re.compile(
    r"^(?:from|received|subject|message-id|mime-version|return-path):", re.IGNORECASE | re.MULTILINE
)
_MAILBOX = re.compile(r"From [^\n]{1,1000}\d{2}:\d{2}[^\n]{0,100}\n>?[A-Za-z][\w-]{0,70}[: ]")
# Requests and remarks, and among them the one that names the page or, without it, the first heading
# of all pages, below what is certainly a request. A condition can stand before it in its line.
_MANUAL = re.compile(
    r"\s*(?:"
    r"(?:[.'\\][^\n]*\n(?:[^\n]*\n)*?)?"
    r"(?:[.']if[ \t][^\n]*[ \t])?\.[ \t]*(?:TH|Dd|Dt)[ \t]+\S"
    r"|(?:[.'][ \t]*(?:\\|[A-Za-z]{1,3}\b)[^\n]*\n(?:[^\n]*\n)*?)?"
    r"(?:[.']if[ \t][^\n]*[ \t])?\.[ \t]*S[Hh][ \t]+(\"?)NAME\1[ \t\r]*$)",
    re.MULTILINE,
)
_LINK_TO_MANUAL = re.compile(r"(?:[.']\\\"[^\n]*\n)*\.so[ \t]+man[\w.]*/\S+\s*$")
_INFO = re.compile(rb"\x1f\f?\n(?:File: |Indirect:|Tag Table:)")
_JSON_START = re.compile(r"\{\s*(?:\"|\})|\[\s*(?:[{\"\d-]|\[\s*[{\[\"\d-])")


def kind_of(file: BinaryIO, filename: str) -> str:
    """The kind, which is the key of its extractor if it has one; `binary` for unknown bytes. Raises
    ContentTooLarge for an archive with more in it than any document has."""
    file.seek(0)
    prefix = file.read(PREFIX)
    kind = _kind_of_bytes(prefix)
    if kind == "zip":
        return kind_of_zip(file, filename)
    if kind == "ole":
        return kind_of_ole(file, filename)
    if kind is not None:
        return kind
    if is_text(prefix) or _begins_as_mail(prefix, filename):
        return _kind_of_text(prefix, filename)
    return _kind_of_binary(prefix, ending(filename))


def _kind_of_bytes(prefix: bytes) -> str | None:
    if prefix.startswith(b"%PDF-") or (b"%PDF-" in prefix[:_PDF_WITHIN] and not _is_utf8(prefix)):
        return "pdf"
    return next((each.kind for each in _BY_MARKS if _has_mark(prefix, each.marks)), None)


def _kind_of_binary(prefix: bytes, named: str) -> str:
    if named == "tar":  # of old, without a mark of its own
        return "tar"
    for each in REFUSED:
        if named in each.endings.split() and _has_mark(prefix, each.marks):
            return each.kind
    text = prefix.replace(b"\0", b"")
    is_text_besides = len(text) > len(prefix) // 2 and is_text(text) and _is_utf8(text)
    return "nuls" if is_text_besides else "binary"


def _has_mark(data: bytes, marks: Iterable[Mark]) -> bool:
    return any(all(data.startswith(part, at) for at, part in mark.items()) for mark in marks)


def is_metafile(data: bytes) -> bool:
    """Whether it is a drawing of Windows: EMF, or WMF with or without where it is to be placed."""
    return _has_mark(data, BY_KIND["metafile"].marks)


def wide_charset(data: bytes) -> tuple[str, int] | None:
    """The charset of text in units of two or four bytes, and the length of its mark. Without a mark
    it is recognised by its NULs: the rest must be printable."""
    for mark, charset in WIDE_MARKS:
        if data.startswith(mark):
            return charset, len(mark)
    start = data[: PREFIX // 2]
    if 0 not in start:
        return None
    for charset, unit, letter in _UNMARKED:
        units = len(start) // unit
        nuls = [start[at::unit].count(0) for at in range(unit)]
        if (
            units < _FEWEST_UNITS
            or nuls[letter]
            or min(nuls[:letter] + nuls[letter + 1 :]) < (units * _MOST_LATIN)
        ):
            continue
        text = start[: units * unit].decode(charset, "replace")
        if all(character.isprintable() or character.isspace() for character in text):
            return charset, 0
    return None


def is_text(data: bytes) -> bool:
    """Whether bytes can be text at all: hardly any controls and, but in UTF-16 and -32, NULs."""
    wide = wide_charset(data)
    if wide is not None:
        charset, mark = wide
        text = data[mark:PREFIX].decode(charset, "replace")
        odd = sum(unicodedata.category(character) in _ODD for character in text)
        return odd <= len(text) * _MAX_CONTROLS
    if b"\x1f" in data[:PREFIX] and _INFO.search(data):
        data = data.translate(None, b"\x1f\x7f")
        for sign in _INFO_MARKS:
            data = data.replace(sign, b"")
    if data[:PREFIX].count(0) > len(data[:PREFIX]) * _MAX_NULS:
        return False
    if _SHIFTED in data[:PREFIX]:  # Korean in seven bits, by two controls
        data = data.translate(None, b"\x0e\x0f")
    controls = len(data) - len(data.translate(None, _CONTROLS))
    return controls <= len(data) * _MAX_CONTROLS


def _is_utf8(prefix: bytes) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(prefix)  # may end within a character
    except UnicodeDecodeError:
        return False
    return True


def _kind_of_text(prefix: bytes, filename: str) -> str:
    named = ending(filename)
    name = PurePath(filename.replace("\\", "/")).name.lower()
    kind = _BY_ENDING.get(named)
    if name in _CODE_NAMES or (prefix.startswith(b"#!") and kind != "markdown"):
        return "code"
    text = _decoded(prefix) if kind in (None, "text") else ""
    if _MANUAL.match(text) or _LINK_TO_MANUAL.match(text):
        return "man"  # whose ending is its section, `tar.1`
    if kind in (None, "text") and b"\x1f" in prefix and _INFO.search(prefix):
        return "info"
    has_ending = name.rpartition(".")[0]  # that of a name without one is txt, too
    if kind is not None and (has_ending or kind != "text"):
        return kind
    kind = _kind_of_lines(_decoded(prefix), is_xml=named == "xml")
    return "xml" if named == "xml" and kind not in _OWN_READERS else kind


def _begins_as_mail(prefix: bytes, filename: str) -> bool:
    """A mail may hold any bytes. By the name of a mailbox, its first line may tell no time."""
    text = prefix.decode("latin-1").replace("\r\n", "\n")
    is_mail = _HEADER_LINES.match(text) and _MAIL_HEADER.search(text)
    if text.startswith("From ") and _BY_ENDING.get(ending(filename)) == "mbox":
        return bool(_MAIL_HEADER.search(text))
    return bool(is_mail or _MAILBOX.match(text))


def _decoded(prefix: bytes) -> str:
    wide = wide_charset(prefix)
    if wide is not None:
        charset, mark = wide
        return prefix[mark:].decode(charset, "replace")
    return prefix.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def _kind_of_lines(text: str, *, is_xml: bool) -> str:
    """By the first tag, the headers of a mail, or how JSON begins. XML may name any tag `<a>`."""
    text = text.replace("\r\n", "\n").lstrip("\ufeff").lstrip()
    before = _BEFORE_TAG.match(text)
    tag = _FIRST_TAG.match(text, before.end() if before else 0)
    if tag is not None:
        name = tag[1].lower().rpartition(":")[2]
        if name == "svg":
            return "svg"
        if name == "fictionbook":
            return "fb2"
        flat = _FLAT.search(text, tag.start()) if name == "document" else None
        if flat is not None:
            return _FLAT_KINDS[flat[1]]
        html_tags = {"html"} if is_xml else _HTML_TAGS
        is_html = name in html_tags or "<!doctype html" in text[: tag.start()].lower()
        return "html" if is_html else "xml"
    if text.startswith("<?xml"):
        return "xml"
    if _MAILBOX.match(text):
        return "mbox"
    if _HEADER_LINES.match(text) and _MAIL_HEADER.search(text):
        return "eml"
    return "json" if _JSON_START.match(text) else "text"
