"""A file that is text in, that text out: as it stands, or what a parser of Python's own finds."""

import csv
import io
import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.reading.reference import Reference, labelled

_MARKS = ((b"\xff\xfe\0\0", "utf-32"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
_HEADING = re.compile(r"^#{1,6} +(.*?) *#*$", re.MULTILINE)
_ITEM = re.compile(r"^ *(?:[-*+]|\d{1,3}[.)]) +(.*)$", re.MULTILINE)
_FENCED = re.compile(r"^ *(```|~~~).*?^ *\1", re.MULTILINE | re.DOTALL)
_MANY_DEFINED = 0.02  # of the words
_TEX_COMMENT = re.compile(r"(?<!\\)%.*")
_TEX_HEADING = re.compile(r"\\(?:chapter|(?:sub)*section)\*?\{([^{}\\$]*)\}")
_WITHIN_BRACES = r"\{[^{}]*\}"
for _ in range(5):  # and as deep as people go
    _WITHIN_BRACES = rf"\{{(?:[^{{}}]|{_WITHIN_BRACES})*\}}"
_TEX_UNSEEN = re.compile(
    r"\\(?:label|ref|eqref|cref|Cref|autoref|pageref|[a-z]*cite[a-z]*|input|include|index|indexdef"
    r"|includegraphics|usepackage|documentclass|bibliography|bibliographystyle|pagestyle|vspace|hspace"
    r"|setlength|setcounter|addtocounter|thispagestyle|begin|end|newcommand|renewcommand|def|let"
    r"|rule|newtheorem|newenvironment|definecolor|DeclareMathOperator|setlist|hypersetup|cmidrule"
    r"|cline|fontsize|usefont)(?![A-Za-z])\*?\s*(?:\([^()]*\))?"
    rf"(?:\[[^\]]*\]|\{{(?:[^{{}}]|{_WITHIN_BRACES})*\}})*"
)
# What stands before the text: its colour, or the rows and columns that it goes over.
_TEX_MANNER = re.compile(
    r"\\(?:textcolor|color|colorbox|cellcolor|rowcolor)(?:\[[^\]]*\])?\{[^{}]*\}"
    r"|\\multi(?:row|column)(?:\[[^\]]*\])?\{[^{}]*\}(?:\[[^\]]*\])?\{(?:[^{}]|\{[^{}]*\})*\}"
)
_TEX_LEFT_OUT = re.compile(
    rf"\\[gex]?def\s*\\[A-Za-z@]+[^{{}}\n]*{_WITHIN_BRACES}|"  # what a command stands for
    r"\\begin\{comment\}.*?\\end\{comment\}|\\makeatletter.*?\\makeatother",
    re.DOTALL,
)
_TEX_PLACES = re.compile(r"(\\begin\{[^{}]*\})\[[htbpH!]*\]")  # where a figure may stand
_TEX_NAME = re.compile(r"\\((?:La|Bib)?TeX)(?![A-Za-z])")  # of itself, which is printed
_TEX_ACCENT = re.compile(r"\\(['`\"^~])(?:\{\\?([A-Za-z])\}|\\?([A-Za-z]))")
_LETTERS = {"o": "ø", "O": "Ø", "l": "ł", "L": "Ł", "ss": "ß", "ae": "æ", "AE": "Æ", "aa": "å"}
_TEX_LETTER = re.compile(r"\{\\(ss|ae|AE|aa|[oOlL])\}|\\(ss|ae|AE|aa|[oOlL])(?![A-Za-z@]) ?")
_ACCENTS = dict(zip("'`\"^~", "\u0301\u0300\u0308\u0302\u0303", strict=True))
_TEX_COMMAND = re.compile(r"\\[A-Za-z@]+\*?(?:[ \t]*\[[^\]\n]*\])?")
_SVG = "{http://www.w3.org/2000/svg}"
_SVG_ABOUT = (f"{_SVG}title", f"{_SVG}desc", "title", "desc")  # no dc:title of its metadata
_INLINE = frozenset({"a", "b", "i", "u", "em", "strong", "span", "font"})
_BOOK_LINES = frozenset({"p", "v", "subtitle", "text-author", "date", "td", "th"})
_SHOWN = ("text/plain", "text/markdown", "text/latex")


def plain(path: Path) -> Reference | None:
    text = labelled(path)
    return Reference(_decoded(path) if text is None else text)


def unknown(path: Path) -> Reference | None:
    """A file of any name: what XML or JSON says, which have many, or its text if it is neither."""
    data = path.read_bytes()
    if b"\0" in data or data.startswith(b"%!PS"):  # which may be a picture in letters
        return None
    begin = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:5]
    if begin.startswith((b"{", b"[")):
        return values(path)
    return (markup(path) if begin == b"<?xml" else None) or plain(path)


def markdown(path: Path) -> Reference | None:
    text = _decoded(path)
    prose = _FENCED.sub("", text)
    return Reference(text, headings=_found(_HEADING, prose), items=_found(_ITEM, prose))


def tex(path: Path) -> Reference | None:
    """What stands in the document's body, without comments, commands, and what is theirs alone."""
    source = _decoded(path)
    is_macros = source.count(r"\def") > _MANY_DEFINED * len(source.split())
    if is_macros and r"\begin{document}" not in source:
        return Reference(source)  # commands for others, and nothing to be printed
    text = _TEX_COMMENT.sub("", source)
    body = text.partition(r"\begin{document}")[2].partition(r"\end{document}")[0] or text
    body = _TEX_LEFT_OUT.sub("", body).replace("\\-", "")  # where a word may be parted
    said = _TEX_UNSEEN.sub(" ", _TEX_PLACES.sub(r"\1", _TEX_NAME.sub(r"\1", body)))
    said = _TEX_MANNER.sub("", said)
    said = _TEX_LETTER.sub(lambda found: _LETTERS[found[1] or found[2]], said)
    said = _TEX_ACCENT.sub(lambda found: f"{found[2] or found[3]}{_ACCENTS[found[1]]}", said)
    said = _TEX_COMMAND.sub(" ", said)
    said = re.sub("[{}]", "", said.replace("}{", " "))  # `{word}s` is one word
    return Reference(said, headings=_found(_TEX_HEADING, body), allowed=source)


def values(path: Path) -> Reference | None:
    """JSON: each value, and each name once; a table tells it once, too, and a path often."""
    try:
        found = json.loads(_decoded(path))
    except (ValueError, RecursionError):
        return plain(path)
    names: list[str] = []
    said = list(_leaves(found, names))
    return Reference("\n".join([*said, *dict.fromkeys(names)]), allowed="\n".join(names))


def notebook(path: Path) -> Reference | None:
    try:
        cells = json.loads(_decoded(path))["cells"]
    except (ValueError, KeyError, TypeError):
        return None
    sources, shown = [], []
    for cell in cells:
        sources.append(_joined(cell.get("source")))
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            forms = [_joined(data[form]) for form in _SHOWN if form in data]
            shown += [_joined(output.get("text")), *forms]
    return Reference("\n".join(sources), allowed="\n".join(shown))


def markup(path: Path) -> Reference | None:
    """XML: what stands between its tags, which part no word of a text that they stand in, such as
    one in two colours; attributes may be there as well."""
    try:
        root = ET.parse(path).getroot()
    except (ET.ParseError, ValueError, LookupError):
        return None
    body = root.find(".//{urn:oasis:names:tc:opendocument:xmlns:office:1.0}body")
    elements = list(root.iter())
    attributes = [value for element in elements for value in element.attrib.values()]
    names = [str(element.tag).rpartition("}")[2] for element in elements]
    told = "\n".join(_texts(root if body is None else body))  # of OpenDocument no settings
    return Reference(told, allowed="\n".join(attributes + names))


def _texts(element: ET.Element) -> Iterator[str]:
    beside = [element.text or "", *(child.tail or "" for child in element)]
    if any(map(str.strip, beside)) and not any(len(child) for child in element):
        yield "".join(element.itertext())
        return
    for child, text in zip([None, *element], beside, strict=True):
        if child is not None:
            yield from _texts(child)
        yield text


def drawing(path: Path) -> Reference | None:
    try:
        root = ET.parse(path).getroot()
    except (ET.ParseError, ValueError, LookupError):
        return None
    for element in root.iter():
        is_placed = _name(element) == "tspan" and {"y", "dy"} & element.attrib.keys()
        if is_placed and len(element.text or "") > 1:  # a line of its own, and no letter of a word
            element.text = f" {element.text}"
    said = ["".join(e.itertext()) for e in root.iter() if _name(e) == "text"]
    pages = [_flowing(e) for e in root.iter() if _name(e) == "foreignObject"]
    said += [line for page in pages for line in page.split("\n")]
    about = ["".join(e.itertext()) for e in root.iter() if e.tag in _SVG_ABOUT]
    once = dict.fromkeys(" ".join(text.split()) for text in [*said, *about])  # as kb tells them
    return Reference("\n".join(once), allowed="\n".join([*said, *about]))


def fiction(path: Path) -> Reference | None:
    """FictionBook: the lines of its annotation and its bodies; what describes it may be there."""
    try:
        root = ET.parse(path).getroot()
    except (ET.ParseError, ValueError, LookupError):
        return None
    told = [part for part in root.iter() if _name(part) in ("annotation", "body")]
    lines = [e for part in told for e in part.iter() if _name(e) in _BOOK_LINES]
    lines = [line for line in lines if not any(_name(e) in _BOOK_LINES for e in line)]
    about = [e for e in root if _name(e) == "description"]
    return Reference(
        "\n".join("".join(line.itertext()) for line in lines),
        allowed="\n".join(text for part in about for text in part.itertext()),
    )


def table(path: Path) -> Reference | None:
    csv.field_size_limit(2**27)
    text = _decoded(path)
    first = text.partition("\n")[0]
    delimiter = max(",;\t|", key=first.count)
    rows = csv.reader(io.StringIO(text.replace("\0", "")), delimiter=delimiter)
    try:
        return Reference("\n".join(" ".join(row) for row in rows))
    except csv.Error:
        return Reference(text)


def _decoded(path: Path) -> str:
    data = path.read_bytes()
    for mark, charset in _MARKS:
        if data.startswith(mark):
            return data.decode(charset, "replace")
    if data[:200:2].count(0) > len(data[:200:2]) // 2:  # without a mark
        return data.decode("utf-16-be", "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _found(pattern: re.Pattern[str], text: str) -> tuple[str, ...]:
    return tuple(match[1] for match in pattern.finditer(text))


def _leaves(value: Any, names: list[str]) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            names.append(name)
            yield from _leaves(inner, names)
    elif isinstance(value, list):
        for inner in value:
            yield from _leaves(inner, names)
    else:
        yield value if isinstance(value, str) else json.dumps(value)


def _joined(value: Any) -> str:
    return "".join(value) if isinstance(value, list) else str(value or "")


def _flowing(element: ET.Element) -> str:
    """What stands on a page within a drawing: but for a few, each element is a line of its own."""
    gap = "" if _name(element) in _INLINE else "\n"
    inner = "".join(f"{_flowing(child)}{child.tail or ''}" for child in element)
    return f"{gap}{element.text or ''}{inner}{gap}"


def _name(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]
