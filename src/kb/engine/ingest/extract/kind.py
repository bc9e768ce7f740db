"""A file and its name in, the kind of file out.

Bytes alone tell text from everything else, and what is in an archive tells which document it is, so
a renamed program never reaches a reader. The name decides only between kinds of text, where bytes
cannot tell; where it says nothing, the first tag or the first lines do.
"""

import codecs
import re
import unicodedata
from pathlib import PurePath
from typing import BinaryIO

from kb.engine.ingest.extract.containers import kind_of_ole, kind_of_zip
from kb.engine.ingest.extract.extraction import ending

PREFIX = 8_192  # bytes to look at

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"\0\0\0\x0cjP  \r\n\x87\n", "jp2"),
    (b"\xff\x4f\xff\x51", "jp2"),  # its pixels without the box around them
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"{\\rtf", "rtf"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "ole"),  # old Office: doc, xls, ppt
    (b"\x09\x08\x10\0\0\x06", "xls"),  # the records of a workbook, outside of any container
    (b"\x09\x08\x08\0\0\x05", "xls"),
    (b"\x09\x04\x06\0", "xls"),
    (b"\x09\x02\x06\0", "xls"),
    (b"\x09\0\x04\0", "xls"),
    (b"PK\x03\x04", "zip"),  # and what is built on it: docx, xlsx, pptx, odt, epub
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"Rar!\x1a\x07", "rar"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"!BDN", "pst"),
    (b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d", "onenote"),
    (b"\xa1\x2f\xff\x43\xd9\xef\x76\x4c", "onenote"),
    (b"AT&TFORM", "djvu"),
    (b"ITSF\x03\0\0\0", "chm"),
    (b"\xffWPC", "wordperfect"),
    (b"\xdb\xa5\x2d\0", "word2"),
    (b"HWP Document File", "hwp"),
    (b"\0\0\x1a\0", "lotus"),
    (b"\x1a\x45\xdf\xa3", "matroska"),
    (b"\x7fELF", "program"),
    (b"MZ\x90\0", "program"),
    (b"SQLite format 3\0", "sqlite"),
    (b"%!PS-Adobe", "postscript"),
    (b"ID3", "mp3"),
    (b"OggS", "ogg"),
    (b"fLaC", "flac"),
)
_ANY_SIGNATURE = tuple(signature for signature, _ in _SIGNATURES)
_RIFF = {b"WEBP": "webp", b"WAVE": "wav", b"AVI ": "avi"}
_BITMAP_HEADERS = frozenset({12, 40, 52, 56, 64, 108, 124})  # bytes
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
_ODD = frozenset({"Cn", "Co", "Cs"})  # unassigned, private use, half a character
_CONTROLS = bytes(sorted({*range(32), 127} - {7, 8, 9, 10, 11, 12, 13, 27}))
_MAX_NULS = 0.001  # of the first bytes; a log of a machine that went down has a few
_MAX_CONTROLS = 0.02  # of the bytes; a log with colours and bells has fewer

_MARKDOWN = frozenset({"md", "markdown", "mdown", "mkd", "mkdn", "mdx", "qmd", "rmd"})
_CODE_ENDINGS = """
    py pyi pyx js mjs cjs jsx ts mts cts tsx vue svelte java kt kts scala groovy gradle go rs c h cc
    cpp cxx hh hpp hxx cs fs fsx vb swift m mm rb rake php pl pm lua r jl dart zig nim d ada adb hs
    elm ml mli ex exs erl hrl clj cljs lisp el scm rkt sh bash zsh fish ps1 psm1 bat cmd sql tf hcl
    proto thrift graphql css scss sass less asm s f f90 f95 pas v sv vhd vhdl sol cmake mk awk tcl
"""
_CODE = frozenset(_CODE_ENDINGS.split())
_CODE_NAMES = frozenset(
    {"makefile", "dockerfile", "containerfile", "jenkinsfile", "rakefile", "gemfile", "vagrantfile"}
    | {"justfile", "cmakelists.txt"}
)
_NAMED = {
    **dict.fromkeys(("csv", "tsv", "tab", "psv"), "csv"),
    **dict.fromkeys(("json", "geojson", "webmanifest"), "json"),
    **dict.fromkeys(("jsonl", "ndjson"), "jsonl"),
    **dict.fromkeys(("html", "htm", "xhtml"), "html"),
    **dict.fromkeys(("eml", "mht", "mhtml"), "eml"),
    **dict.fromkeys(("mbox", "mbx"), "mbox"),
    **dict.fromkeys(("tex", "ltx", "latex"), "tex"),
    "ipynb": "ipynb",
}
# These are what they say, whatever they begin with: a log may open with a tag or a bracket.
_PLAIN_ENDINGS = """
    txt text log out rst bib adoc asciidoc org textile wiki yaml yml toml ini cfg conf
    properties env srt vtt sub diff patch po pot ics vcf lock
"""
_PLAIN = frozenset(_PLAIN_ENDINGS.split())
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
_JSON_START = re.compile(r"\{\s*(?:\"|\})|\[\s*(?:[{\"\d-]|\[\s*[{\[\"\d-])")


def kind_of(file: BinaryIO, filename: str) -> str:
    """The kind, which is the key of its extractor if it has one; `binary` for unknown bytes.

    Raises ContentTooLarge for an archive with more in it than any document has.
    """
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
    return "tar" if ending(filename) == "tar" else "binary"  # of old, without a mark of its own


def _kind_of_bytes(prefix: bytes) -> str | None:
    if prefix.startswith(b"%PDF-") or (b"%PDF-" in prefix[:_PDF_WITHIN] and not _is_utf8(prefix)):
        return "pdf"
    if prefix.startswith(_ANY_SIGNATURE):
        return next(kind for signature, kind in _SIGNATURES if prefix.startswith(signature))
    if prefix[:4] == b"RIFF":
        return _RIFF.get(prefix[8:12])
    if prefix[:2] == b"BM" and int.from_bytes(prefix[14:18], "little") in _BITMAP_HEADERS:
        return "bmp"
    if is_metafile(prefix):
        return "metafile"
    if prefix[60:68] in (b"BOOKMOBI", b"TEXtREAd"):
        return "mobi"
    if prefix[257:262] == b"ustar":
        return "tar"
    if prefix[4:8] == b"ftyp":
        brand = prefix[8:12]
        return (
            "avif"
            if brand in (b"avif", b"avis")
            else "heic"
            if brand[:2] in (b"he", b"mi", b"ms")
            else "mp4"
        )
    return None


def is_metafile(data: bytes) -> bool:
    """Whether it is a drawing of Windows: EMF, or WMF with or without where it is to be placed."""
    if data[:4] == b"\1\0\0\0" and data[40:44] == b" EMF":
        return True
    head = data[22:28] if data[:4] == b"\xd7\xcd\xc6\x9a" else data[:6]
    return head[:4] in (b"\1\0\x09\0", b"\2\0\x09\0") and head[4:] in (b"\0\3", b"\0\1")


def wide_charset(data: bytes) -> tuple[str, int] | None:
    """Of text in units of two or four bytes: its charset, and how long the mark before it is.

    Without a mark it is known by its NULs, which leave nothing but what can be printed.
    """
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
    if named in _MARKDOWN:
        return "markdown"
    if named in _CODE or name in _CODE_NAMES or prefix.startswith(b"#!"):
        return "code"
    if named in _NAMED:
        return _NAMED[named]
    is_plain = named in _PLAIN and name.rpartition(".")[0]  # the ending of no ending is txt, too
    if is_plain:
        return "text"
    kind = _kind_of_lines(_decoded(prefix), is_xml=named == "xml")
    return "xml" if named == "xml" and kind not in _OWN_READERS else kind


def _begins_as_mail(prefix: bytes, filename: str) -> bool:
    """A mail may hold any bytes. By the name of a mailbox, its first line may tell no time."""
    text = prefix.decode("latin-1").replace("\r\n", "\n")
    is_mail = _HEADER_LINES.match(text) and _MAIL_HEADER.search(text)
    if text.startswith("From ") and _NAMED.get(ending(filename)) == "mbox":
        return bool(_MAIL_HEADER.search(text))
    return bool(is_mail or _MAILBOX.match(text))


def _decoded(prefix: bytes) -> str:
    wide = wide_charset(prefix)
    if wide is not None:
        charset, mark = wide
        return prefix[mark:].decode(charset, "replace")
    return prefix.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")


def _kind_of_lines(text: str, *, is_xml: bool) -> str:
    """By the first tag, by the headers of a mail, or by how JSON begins.

    In a file that is named XML, `<a>` and `<title>` are as good names as any.
    """
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
