"""The kinds of document, and the words that people use for them.

Every program of kb uses this list, and so do the pages about them: a reader may assign no other
kind, and a filter by `doc_type` takes a kind or one of its synonyms.
"""

from dataclasses import dataclass

NOTE = "note"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind as programs write it, as people call it, and the other words that stand for it."""

    doc_type: str
    name: str
    synonyms: tuple[str, ...] = ()


# A synonym may stand for several kinds. They are written as `_folded` leaves a word.
KINDS = (
    Kind(NOTE, "Note", ("memo",)),
    Kind("pdf", "PDF", ("document",)),
    Kind("docx", "Word", ("document", "office", "word", "doc")),
    Kind("odt", "OpenDocument text", ("document", "office", "opendocument")),
    Kind("rtf", "Rich text", ("document", "richtext")),
    Kind("xlsx", "Excel", ("spreadsheet", "office", "excel", "xls", "sheet", "workbook", "table")),
    Kind(
        "ods",
        "OpenDocument sheet",
        ("spreadsheet", "office", "opendocument", "sheet", "workbook", "table"),
    ),
    Kind("csv", "Table", ("spreadsheet", "sheet", "table", "tsv", "data")),
    Kind("pptx", "PowerPoint", ("presentation", "office", "powerpoint", "ppt", "slide", "deck")),
    Kind("odp", "OpenDocument slides", ("presentation", "office", "opendocument", "slide", "deck")),
    Kind("iwork", "Apple iWork", ("document", "office", "pages", "numbers", "keynote")),
    Kind("vsdx", "Visio", ("drawing", "diagram", "office")),
    Kind("html", "Web page", ("document", "webpage", "website", "web", "htm", "xhtml")),
    Kind("email", "Mail", ("mail", "eml", "message")),
    Kind("epub", "Book", ("document", "book", "ebook")),
    Kind("image", "Image", ("picture", "photo", "screenshot", "img")),
    Kind("markdown", "Markdown", ("document", "md")),
    Kind("text", "Text", ("document", "plain", "plaintext", "txt")),
    Kind("code", "Code", ("source", "sourcecode", "script")),
    Kind("json", "JSON", ("data", "jsonl", "ndjson")),
    Kind("xml", "XML", ("data",)),
    Kind("archive", "Archive", ("zip", "tar", "zipfile")),
)
DOC_TYPES = tuple(kind.doc_type for kind in KINDS)
# What to offer where there is room for a few words: the kinds, and what is asked for most instead.
_USUAL = ("document", "spreadsheet", "presentation", "webpage")
OFFERED = (*DOC_TYPES, *_USUAL)


def _meanings() -> dict[str, tuple[str, ...]]:
    meanings: dict[str, tuple[str, ...]] = {}
    for kind in KINDS:
        for word in (kind.doc_type, *kind.synonyms):
            meanings[word] = (*meanings.get(word, ()), kind.doc_type)
    return meanings


_MEANINGS = _meanings()
WORDS = tuple(_MEANINGS)


class UnknownKind(ValueError):
    """A word that stands for no kind; the message names those that do."""

    def __init__(self) -> None:
        super().__init__(
            f"There is no such kind of document: use {', '.join(DOC_TYPES)},"
            f" or a word such as {', '.join(_USUAL)}"
        )


def kinds_of(*words: str) -> tuple[str, ...]:
    """The kinds that these words stand for, each once: `spreadsheet` for xlsx, ods and csv.

    Case, spaces, hyphens and a plural make no difference. Raises UnknownKind.
    """
    found: dict[str, None] = {}
    for word in map(_folded, words):
        meant = _MEANINGS.get(word) or _MEANINGS.get(word.removesuffix("s"))
        if meant is None:
            raise UnknownKind
        found |= dict.fromkeys(meant)
    return tuple(found)


def _folded(word: str) -> str:
    return "".join(filter(str.isalnum, word.casefold()))


_SAME_FORMAT = {"jpeg": "jpg", "htm": "html", "tif": "tiff"}


def as_format(ending: str) -> str:
    """A file's format by its one name, whatever ending a file or a filter spells it with."""
    name = ending.strip().lower().removeprefix(".")
    return _SAME_FORMAT.get(name, name)
