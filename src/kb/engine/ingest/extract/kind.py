"""The first bytes of a file and its name in, the kind of file out.

Bytes alone tell text from everything else, so a renamed program never reaches a reader of text. The
name decides only between kinds of text, where bytes cannot tell.
"""

import codecs
import unicodedata
from pathlib import PurePath

from kb.engine.ingest.extract.extraction import ending

PREFIX = 8_192  # bytes to look at

_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"II*\0", "tiff"),
    (b"MM\0*", "tiff"),
    (b"{\\rtf", "rtf"),
    (b"\xd0\xcf\x11\xe0", "doc"),  # the old Office container: doc, xls, ppt
    (b"PK\x03\x04", "zip"),  # and what is built on it: docx, xlsx, pptx, odt, epub
    (b"PK\x05\x06", "zip"),
    (b"\x1f\x8b", "gzip"),
    (b"7z\xbc\xaf\x27\x1c", "7z"),
    (b"\x7fELF", "program"),
    (b"SQLite format 3\0", "sqlite"),
)
_ZIPPED = frozenset({"docx", "pptx", "xlsx", "odt", "ods", "odp", "epub"})
_PDF_WITHIN = 1_024  # a PDF may begin after some junk
# UTF-32 comes first: its little-endian mark begins with that of UTF-16.
WIDE_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_ODD = frozenset({"Cn", "Co", "Cs"})  # unassigned, private use, half a character
_CONTROLS = bytes(sorted({*range(32), 127} - {7, 8, 9, 10, 11, 12, 13, 27}))
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


def kind_of(prefix: bytes, filename: str) -> str:
    """`text`, `markdown` or `code`; else the name of a binary format, or `binary`."""
    if prefix.startswith(b"%PDF-") or (b"%PDF-" in prefix[:_PDF_WITHIN] and not _is_utf8(prefix)):
        return "pdf"
    for signature, kind in _SIGNATURES:
        if prefix.startswith(signature):
            named = ending(filename)
            return named if kind == "zip" and named in _ZIPPED else kind
    if prefix[:4] == b"RIFF" and prefix[8:12] == b"WEBP":
        return "webp"
    return _kind_of_text(prefix, filename) if is_text(prefix) else "binary"


def is_text(data: bytes) -> bool:
    """Whether bytes can be text at all: hardly any controls, and no NUL but in UTF-16 and -32."""
    for mark, charset in WIDE_MARKS:
        if data.startswith(mark):
            text = data[len(mark) : PREFIX].decode(charset, "replace")
            odd = sum(unicodedata.category(character) in _ODD for character in text)
            return odd <= len(text) * _MAX_CONTROLS
    if b"\0" in data[:PREFIX]:
        return False
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
    return "text"
