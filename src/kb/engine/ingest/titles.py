"""Titles for documents that nobody named, from their text or file name."""

import re
from collections.abc import Sequence

from kb.engine.values import LONGEST_TITLE, Chunk
from kb.source_path import file_name

_FIRST_WORDS = 80  # characters of a title that is made out of a text

_FROM_PROGRAM = re.compile(r"(?:Microsoft )?(?:Word|PowerPoint|Excel|Publisher|Visio)(?: - |$)")
_FILE_NAME = re.compile(
    r"\.(?:docx?|dotx?|odt|rtf|pptx?|odp|xlsx?|ods|pub|indd|qxd|qxp|tex|dvi|html?|txt|pdf|ps|eps|tiff?"
    r"|jpe?g|png|cdr|ai|psd|vsdx?|wpd|fm|pmd)$",
    re.IGNORECASE,
)
# What programs put where nobody has put a title, in the languages that they speak most, and with
# a number or without; `Dia` without one is a program that draws. Names of other programs stand
# alone, or with their version or what they made.
_MADE_UP = """
    untitled|anonymous|unknown|unspecified|none|null|title|no title|default|template|print|output
    (?:untitled )?(?:document|presentation|spreadsheet|workbook|drawing)|doc|page|layout|scan
    pdf(?: document)?|scanned(?: image| document)?|new (?:document|presentation|page)
    slide|book|sheet|folie|dia(?=[ _-]?[0-9])|diapositiva?|diapositive|mappe|tabelle|feuil|hoja
    classeur|libro
    dokument|unbenannt|ohne titel|präsentation|sans titre|présentation|sin título|presentación
    senza titolo|presentazione|sem título|apresentação|naamloos|document sans titre
    power ?point[ -](?:presentation|präsentation)|présentation powerpoint
    presentación de powerpoint|presentazione (?:standard di )?powerpoint|apresentação do powerpoint
    スライド|幻灯片|投影片|슬라이드|слайд|snímek|slajd|snímka|slayt|lysbilde|dias nummer|bild
    powerpoint (?:プレゼンテーション|演示文稿|簡報|프레젠테이션)|презентация powerpoint
    (?:no )?slide title|kein folientitel|aucun titre de diapositive|diapositiva sin título
    nessun titolo diapositiva|geen diatitel|ingen lysbildetittel|ingen bildrubrik
    click to (?:edit|add) (?:master )?title(?: style)?
    (?:microsoft )?(?:office )?(?:word|excel|powerpoint|publisher|visio)(?: document| workbook)?
    (?:adobe )?(?:photoshop|illustrator|indesign|acrobat|framemaker|pagemaker)(?: pdf| document)?
    (?:libre|open)office(?:\\.org)?(?: writer| calc| impress| draw)?|google (?:docs|slides|sheets)
    (?:la)?tex|pdflatex|ghostscript|wkhtmltopdf|pandoc|calibre|itext|quarkxpress|coreldraw
    crystal reports?|apache poi|openpyxl|keynote|pages|numbers|canva|print to pdf|(?:web)?page
"""
_NO_TITLE = re.compile(
    f"(?:{'|'.join(line.strip() for line in _MADE_UP.strip().splitlines())})"
    r"[ _-]?(?:(?:v|cs|cc)?[0-9][0-9.]{0,8})?",
    re.IGNORECASE,
)
_TO_FILL_IN = re.compile(r"[.…_]{5}")  # the first line of a form
_BY_PEOPLE = frozenset({"email", "markdown", "epub"})  # whose titles are never a program's
# In names of files that are called after nothing that is in them: `paper-final(1)`.
_GENERIC_WORDS = """
    article attachment copy doc document download draft file final fulltext main manuscript output
    page paper pdf preprint print sample scan submission supplement untitled version view
"""
_GENERIC_NAMES = frozenset(_GENERIC_WORDS.split())
_CODE = re.compile(r"[0-9a-f\W_]+|(?:.*[^0-9a-z])?[0-9a-f]{12,}(?:[^0-9a-z].*)?")
_NAME_WORD = re.compile(r"[^\W\d_]{3,}|(?:19|20)\d\d")
_ENOUGH = 2  # words of a name, or a word and a year
_PACKED = re.compile(r"(?<=.)\.(?:gz|bz2|xz)$", re.IGNORECASE)
_OPENING = 20  # passages; a heading further on names no document


def first_line(text: str) -> str:
    """A note's title when none is given: its first line with words, without heading marks."""
    return shortened(_first_line(text), _FIRST_WORDS)


def is_first_line(title: str, text: str) -> bool:
    """Whether a note has its title from its text; formerly that was cut within a word."""
    return title in (first_line(text), _first_line(text)[:_FIRST_WORDS])


def document_title(said: str | None, doc_type: str, chunks: Sequence[Chunk], filename: str) -> str:
    """The title that a file gives itself; the first heading if that says nothing, else its name."""
    if said is None or doc_type in _BY_PEOPLE:
        return shortened(said or stem(filename))
    headings = (heading for chunk in chunks[:_OPENING] for heading in chunk.headings)
    found = telling(said) or next(filter(None, map(telling, headings)), None)
    return shortened(found or stem(filename))


def telling(title: str) -> str | None:
    """A title without the program that wrote it; None if a program made it up."""
    found = _FROM_PROGRAM.sub("", title)
    bare = found.strip("()[]<> \t.")
    made_up = (
        not any(map(str.isalnum, bare))
        or (len(bare) == 1 and bare.isascii())
        or _NO_TITLE.fullmatch(bare)
        or _FILE_NAME.search(bare)
        or _TO_FILL_IN.search(found)
        or "\\" in found
        or found.startswith(("/", "file:", "http:", "https:"))
    )
    return None if made_up else found


def says_little(filename: str) -> bool:
    """Whether a file's name hardly says what is in it: a number, a code, `paper_final`, `zsh`."""
    name = stem(filename).lower()
    telling_words = set(_NAME_WORD.findall(name)) - _GENERIC_NAMES
    return _CODE.fullmatch(name) is not None or (name.isascii() and len(telling_words) < _ENOUGH)


def stem(filename: str) -> str:
    name = _PACKED.sub("", file_name(filename))
    return name.rsplit(".", 1)[0] or name


def shortened(title: str, longest: int = LONGEST_TITLE) -> str:
    """The title, if too long up to the end of a word, or where the room ends, with an ellipsis."""
    if len(title) <= longest:
        return title
    space = title.rfind(" ", longest // 2, longest)
    cut = title[: longest - 1 if space < 0 else space]
    return cut.rstrip(" ,;:–—-") + "…"


def _first_line(text: str) -> str:
    for line in text.splitlines():
        bare = line.strip().lstrip("#").strip()
        if bare:
            return bare
    return "Note"
