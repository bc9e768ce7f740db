"""The table of file formats: the reader, the signs and the name of each. To add a format, write its
reader and add a row. What is inside zip and OLE files is recognised in containers.py."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

Mark = dict[int, bytes]  # what stands where in a file of the format, all of it


@dataclass(frozen=True, slots=True)
class Format:
    """A format that can be read."""

    kind: str
    name: str  # as people call it
    reader: str  # a module beside this one; behind a colon its function if that is not `extract`
    doc_type: str = ""  # what its documents are listed as, if it is not the kind
    marks: tuple[Mark, ...] = ()  # any of them is enough
    endings: str = ""  # as most files are called
    is_text: bool = False  # its bytes cannot tell, so its endings do
    heavy: bool = False  # brings along large libraries, or reads any file that is inside of its own
    holds_files: bool = False  # its reader is given one for what is inside
    is_picture: bool = False
    pictures: str = ""  # who finds those inside: a module in pictures/inside
    objects: str = ""  # who finds what other programs set into it: a module in embedded


@dataclass(frozen=True, slots=True)
class Refused:
    """A known format that cannot be read."""

    kind: str
    advice: str  # what it is, and what to do
    marks: tuple[Mark, ...] = ()
    endings: str = ""  # where its marks tell too little alone, and what is text may begin so


def _begins(*beginnings: bytes) -> tuple[Mark, ...]:
    return tuple({0: beginning} for beginning in beginnings)


def _picture(kind: str, endings: str, name: str, *marks: Mark) -> Format:
    reader = "pictures.image"
    return Format(kind, name, reader, "image", marks, endings, heavy=True, is_picture=True)


def _archive(kind: str, endings: str, name: str, function: str, *marks: Mark) -> Format:
    reader = f"archives.archive:{function}"
    return Format(kind, name, reader, "archive", marks, endings, heavy=True, holds_files=True)


_BITMAP_HEADERS = (12, 40, 52, 56, 64, 108, 124)  # bytes
_DRAWING_HEADERS = tuple(
    kind + b"\0\x09\0" + of for kind in (b"\1", b"\2") for of in (b"\0\3", b"\0\1")
)
_CODE = """
    py pyi pyx js mjs cjs jsx ts mts cts tsx vue svelte java kt kts scala groovy gradle go rs c h cc
    cpp cxx hh hpp hxx cs fs fsx vb swift m mm rb rake php pl pm lua r jl dart zig nim d ada adb hs
    elm ml mli ex exs erl hrl clj cljs lisp el scm rkt sh bash zsh fish ps1 psm1 bat cmd sql tf hcl
    proto thrift graphql css scss sass less asm s f f90 f95 pas v sv vhd vhdl sol cmake mk awk tcl
"""
_PLAIN = """
    txt text log out rst bib adoc asciidoc org textile wiki yaml yml toml ini cfg conf
    properties env srt vtt sub diff patch po pot ics vcf lock
"""

# In the order in which they are told. Most readers bring along large libraries, so they are named
# rather than imported.
FORMATS = (
    Format(
        "pdf", "PDF", "pdf.pdf_file", heavy=True, holds_files=True, pictures="pdf", endings="pdf"
    ),
    Format(
        "docx",
        "DOCX",
        "ooxml.docx",
        pictures="office",
        objects="office",
        endings="docx docm dotx dotm",
    ),
    Format(
        "pptx",
        "PPTX",
        "ooxml.pptx",
        pictures="office",
        objects="office",
        endings="pptx pptm ppsx potx",
    ),
    Format(
        "xlsx", "XLSX", "ooxml.xlsx", pictures="office", objects="office", endings="xlsx xlsm xltx"
    ),
    Format("doc", "DOC", "ole.doc", "docx", objects="old_office", endings="doc dot"),
    Format("ppt", "PPT", "ole.ppt", "pptx", objects="old_office", endings="ppt pps"),
    Format(
        "xls",
        "XLS",
        "ole.xls",
        "xlsx",
        # The records of a workbook, outside of any container.
        _begins(
            b"\x09\x08\x10\0\0\x06",
            b"\x09\x08\x08\0\0\x05",
            b"\x09\x04\x06\0",
            b"\x09\x02\x06\0",
            b"\x09\0\x04\0",
        ),
        objects="old_office",
        endings="xls",
    ),
    Format("xlsb", "XLSB", "ooxml.xlsb", "xlsx", objects="office", endings="xlsb"),
    Format("vsdx", "VSDX", "ooxml.vsdx", endings="vsdx"),
    Format(
        "odt", "ODT", "odf.odt", pictures="opendocument", objects="opendocument", endings="odt fodt"
    ),
    Format(
        "ods", "ODS", "odf.ods", pictures="opendocument", objects="opendocument", endings="ods fods"
    ),
    Format(
        "odp", "ODP", "odf.odp", pictures="opendocument", objects="opendocument", endings="odp fodp"
    ),
    Format("rtf", "RTF", "rtf.document", marks=_begins(b"{\\rtf"), objects="rtf", endings="rtf"),
    Format("epub", "EPUB", "books.epub", heavy=True, pictures="epub", endings="epub"),
    Format(
        "mobi",
        "MOBI",
        "books.mobi",
        "epub",
        ({60: b"BOOKMOBI"}, {60: b"TEXtREAd"}),
        heavy=True,
        endings="mobi azw3",
    ),
    Format("fb2", "FB2", "books.fb2", "epub", endings="fb2"),
    Format(
        "html",
        "HTML",
        "web.page",
        endings="html htm xhtml",
        is_text=True,
        heavy=True,
        pictures="html",
    ),
    Format(
        "eml",
        "EML",
        "mail.eml",
        "email",
        endings="eml mht mhtml",
        is_text=True,
        heavy=True,
        holds_files=True,
    ),
    Format("msg", "MSG", "mail.msg", "email", heavy=True, holds_files=True, endings="msg"),
    Format(
        "mbox",
        "MBOX",
        "mail.mbox",
        "email",
        endings="mbox mbx",
        is_text=True,
        heavy=True,
        holds_files=True,
    ),
    Format(
        "pst",
        "PST",
        "mail.pst",
        "email",
        _begins(b"!BDN"),
        heavy=True,
        holds_files=True,
        endings="pst ost",
    ),
    Format("csv", "CSV", "plain.delimited", endings="csv tsv tab psv", is_text=True),
    Format("json", "JSON", "plain.data", endings="json geojson webmanifest", is_text=True),
    Format(
        "jsonl", "JSONL", "plain.data:extract_lines", "json", endings="jsonl ndjson", is_text=True
    ),
    Format("xml", "XML", "plain.xml"),
    Format("ipynb", "Jupyter notebooks", "plain.notebook", "code", endings="ipynb", is_text=True),
    _picture("jpeg", "jpeg jpg", "JPG", *_begins(b"\xff\xd8\xff")),
    _picture("png", "png", "PNG", *_begins(b"\x89PNG\r\n\x1a\n")),
    _picture("gif", "gif", "GIF", *_begins(b"GIF87a", b"GIF89a")),
    _picture("tiff", "tiff tif", "TIFF", *_begins(b"II*\0", b"MM\0*")),
    _picture("webp", "webp", "WebP", {0: b"RIFF", 8: b"WEBP"}),
    _picture(
        "bmp", "bmp", "BMP", *({0: b"BM", 14: bytes([size, 0, 0, 0])} for size in _BITMAP_HEADERS)
    ),
    replace(
        _picture("heic", "heic heif", "HEIC", {4: b"ftyphe"}, {4: b"ftypmi"}, {4: b"ftypms"}),
        reader="pictures.image:extract_heic",
    ),
    _picture("avif", "avif", "AVIF", {4: b"ftypavif"}, {4: b"ftypavis"}),
    # The second is its pixels without the box around them.
    _picture("jp2", "jp2", "JP2", *_begins(b"\0\0\0\x0cjP  \r\n\x87\n", b"\xff\x4f\xff\x51")),
    Format("svg", "SVG", "pictures.svg", "image", is_picture=True, endings="svg"),
    Format(
        "metafile",
        "EMF and WMF",
        "pictures.metafile",
        "image",
        (
            {0: b"\1\0\0\0", 40: b" EMF"},
            *({0: b"\xd7\xcd\xc6\x9a", 22: header} for header in _DRAWING_HEADERS),
            *_begins(*_DRAWING_HEADERS),
        ),
        endings="emf wmf",
    ),
    Format(
        "markdown",
        "markdown",
        "plain.markdown",
        endings="md markdown mdown mkd mkdn mdx qmd rmd",
        is_text=True,
    ),
    Format("tex", "TeX", "plain.tex.latex", "text", endings="tex ltx latex", is_text=True),
    Format("man", "man pages", "plain.manual.page", "text"),
    Format("info", "GNU Info", "plain.info", "text"),
    Format("code", "source code", "plain.text:extract_code", endings=_CODE, is_text=True),
    Format("text", "plain text", "plain.text", endings=_PLAIN, is_text=True),
    # And what is built on zip: docx, odt, epub.
    _archive("zip", "zip", "ZIP", "zipped", *_begins(b"PK\x03\x04", b"PK\x05\x06")),
    _archive("tar", "tar", "TAR", "tar", {257: b"ustar"}),
    _archive("gzip", "gz tgz", "GZ", "gzipped", *_begins(b"\x1f\x8b")),
    _archive("bzip2", "bz2", "BZ2", "bzipped", *_begins(b"BZh")),
    _archive("xz", "xz", "XZ", "xz", *_begins(b"\xfd7zXZ\0")),
    Format(
        "iwork",
        "iWork files with a preview",
        "archives.iwork",
        heavy=True,
        holds_files=True,
        endings="pages numbers key",
    ),
)


def _message(sort: bytes) -> tuple[Mark, ...]:
    """Of PKCS#7: behind its length, which takes more or less room, stands what it is."""
    number = b"\x06\x09\x2a\x86\x48\x86\xf7\x0d\1\7" + sort
    return tuple({0: b"\x30", at: number} for at in range(2, 7))


_UNPACK = "unpack it and add the files"
_AS_TABLES = "export its tables as csv"
_SOUND = "it is a sound recording: add what is said in it as text"
_VIDEO = "it is a video: add what is said in it as text"
_UNKNOWN = "it is a binary file of unknown type"

# Behind those that can be read: where both would do, a file is what can be read.
REFUSED = (
    Refused(
        "onenote",
        "it is a OneNote section: export it as pdf or docx",
        _begins(b"\xe4\x52\x5c\x7b\x8c\xd8\xa7\x4d", b"\xa1\x2f\xff\x43\xd9\xef\x76\x4c"),
    ),
    Refused("ppt95", "it is a presentation of PowerPoint 95 or older: save it as pptx"),
    Refused("vsd", "it is an old Visio drawing: save it as vsdx"),
    Refused("publisher", "it is a Publisher document: save it as pdf"),
    Refused("project", "it is a plan of Microsoft Project: save it as xlsx or pdf"),
    Refused("works", "it is a document of Microsoft Works: save it as docx"),
    Refused("odg", "it is an OpenDocument drawing: save it as pdf"),
    Refused("postscript", "it is PostScript: save it as pdf", _begins(b"%!PS-Adobe")),
    Refused("djvu", "it is a DjVu book: save it as pdf", _begins(b"AT&TFORM")),
    Refused("xps", "it is an XPS document: save it as pdf"),
    Refused(
        "chm",
        "it is a help file of Windows (CHM): unpack it and add its pages",
        _begins(b"ITSF\x03\0\0\0"),
    ),
    Refused(
        "wordperfect",
        "it is a WordPerfect document: save it as docx",
        _begins(b"\xffWPC", b"\xcb\x0a\x01"),  # the second is that of 4.2
    ),
    Refused(
        "displaywrite",
        "it is a document of IBM DisplayWrite: save it as docx",
        _begins(b"\0\x05\xe1\x03\0"),
    ),
    Refused("word2", "it is a document of Word 2: save it as docx", _begins(b"\xdb\xa5\x2d\0")),
    Refused(
        "hwp",
        "it is a document of Hangul (HWP): save it as docx or pdf",
        _begins(b"HWP Document File"),
    ),
    Refused(
        "lotus",
        "it is a sheet of Lotus 1-2-3: save it as xlsx",
        _begins(b"\0\0\x1a\0", *(b"\0\0\2\0" + of for of in (b"\4\4", b"\5\4", b"\6\4"))),
    ),
    Refused(
        "quattro",
        "it is a sheet of Quattro Pro: save it as xlsx",
        _begins(*(b"\0\0\2\0" + of for of in (b"\x20Q", b"\x21Q", b"\1\x10", b"\2\x10"))),
    ),
    Refused("7z", f"it is a 7-Zip archive: {_UNPACK}", _begins(b"7z\xbc\xaf\x27\x1c")),
    Refused("rar", f"it is a RAR archive: {_UNPACK}", _begins(b"Rar!\x1a\x07")),
    Refused(
        "zstd", f"it is an archive packed by Zstandard: {_UNPACK}", _begins(b"\x28\xb5\x2f\xfd")
    ),
    Refused("warc", f"it is an archive of web pages (WARC): {_UNPACK}", _begins(b"WARC/"), "warc"),
    Refused("program", "it is a program", _begins(b"\x7fELF", b"MZ\x90\0")),
    Refused(
        "java",
        "it is a compiled Java class",
        _begins(*(b"\xca\xfe\xba\xbe\0\0\0" + bytes([version]) for version in range(45, 100))),
    ),
    Refused("sqlite", f"it is a database of SQLite: {_AS_TABLES}", _begins(b"SQLite format 3\0")),
    Refused(
        "access",
        f"it is a database of Access: {_AS_TABLES}",
        _begins(b"\0\1\0\0Standard Jet DB", b"\0\1\0\0Standard ACE DB"),
    ),
    Refused(
        "dbase",
        f"it is a table of dBase: {_AS_TABLES}",
        tuple(
            {0: version, 12: bytes(16)} for version in (b"\3", b"\x30", b"\x83", b"\x8b", b"\xf5")
        ),
        "dbf",
    ),
    Refused(
        "berkeley",
        f"it is a Berkeley database: {_AS_TABLES}",
        tuple(
            {12: mark}
            for mark in (b"\x62\x31\5\0", b"\0\5\x31\x62", b"\x61\x15\6\0", b"\0\6\x15\x61")
        ),
    ),
    Refused(
        "psd", "it is a picture of Photoshop: save it as png", _begins(b"8BPS\0\1", b"8BPS\0\2")
    ),
    Refused("dwg", "it is a drawing of AutoCAD: save it as pdf", ({0: b"AC10", 6: bytes(5)},)),
    Refused(
        "font",
        "it is a font",
        _begins(
            b"\0\1\0\0\0",
            b"OTTO\0",
            b"ttcf\0",
            *(w + of for w in (b"wOFF", b"wOF2") for of in (b"\0\1\0\0", b"OTTO")),
        ),
    ),
    Refused(
        "signed",
        "it is a digital signature, or a message inside one: save the message from a mail program",
        _message(b"\2"),
    ),
    Refused(
        "encrypted", "it is an encrypted message: save it from a mail program", _message(b"\3")
    ),
    Refused("mp3", _SOUND, _begins(b"ID3")),
    # Without words about it before its first frame.
    Refused("mpeg", _SOUND, _begins(b"\xff\xfb", b"\xff\xfa", b"\xff\xf3", b"\xff\xf2"), "mp3"),
    Refused("ogg", _SOUND, _begins(b"OggS")),
    Refused("flac", _SOUND, _begins(b"fLaC")),
    Refused("wav", _SOUND, ({0: b"RIFF", 8: b"WAVE"},)),
    Refused("mp4", _VIDEO, ({4: b"ftyp"},)),  # of what the pictures above are not
    Refused("avi", _VIDEO, ({0: b"RIFF", 8: b"AVI "},)),
    Refused("matroska", _VIDEO, _begins(b"\x1a\x45\xdf\xa3")),
    Refused("ole", _UNKNOWN, _begins(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")),  # what holds doc, xls
    Refused("nuls", "it is text with NUL bytes in it: remove them and add it again"),
    Refused("binary", _UNKNOWN),
)

BY_KIND = {each.kind: each for each in FORMATS}


def endings(formats: Iterable[Format]) -> frozenset[str]:
    """The endings of files of these formats."""
    return frozenset(ending for each in formats for ending in each.endings.split())
