"""A Jupyter notebook: its texts, its code and what the code printed."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from kb.engine.ingest.extract.about import about, line
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.fence import fenced
from kb.engine.ingest.extract.paging import pages_of
from kb.engine.ingest.extract.plain.data import extract as extract_data
from kb.engine.ingest.extract.plain.data import parse
from kb.engine.ingest.extract.plain.text import read_text
from kb.engine.ingest.extract.refusals import Refusals

_COLOURS = re.compile("\x1b\\[[0-9;]{0,20}m")
_TITLE = re.compile(r"^#{1,6}[ \t]+(\S.*)$", re.MULTILINE)
_LONGEST_OUTPUT = 100_000  # characters of one output; what is longer is a log of the run


def extract(source: Source) -> Extraction:
    """Cells in their order, as Markdown. What is no notebook is read as the JSON that it is."""
    notebook = parse(read_text(source))
    cells = _cells(notebook)
    if cells is None:
        return extract_data(source)
    language = _language(notebook)
    text = "\n\n".join(filter(None, (part for cell in cells for part in _parts(cell, language))))
    if not text.strip():
        raise Refusals(source.filename).no_text()
    pages = pages_of(text)
    texts = (_text(cell.get("source")) for cell in cells if cell.get("cell_type") == "markdown")
    titles = (match[1] for match in map(_TITLE.search, texts) if match)
    return Extraction(
        "code",
        "ipynb",
        islice(pages, source.start, None),
        title=next((line(title) for title in titles), None),
        metadata=about({"programming_language": language}),
    )


def _cells(notebook: Any) -> list[dict[str, Any]] | None:
    """Those of the first worksheet in the format of old."""
    if not isinstance(notebook, dict):
        return None
    cells = notebook.get("cells")
    sheets = notebook.get("worksheets")
    if cells is None and isinstance(sheets, list) and sheets and isinstance(sheets[0], dict):
        cells = sheets[0].get("cells")
    if not isinstance(cells, list):
        return None
    return [cell for cell in cells if isinstance(cell, dict)]


def _language(notebook: dict[str, Any]) -> str:
    metadata = notebook.get("metadata")
    info = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = info.get("name") if isinstance(info, dict) else None
    return name if isinstance(name, str) and name.isalnum() else ""


def _parts(cell: dict[str, Any], language: str) -> Iterator[str]:
    text = _text(cell.get("source", cell.get("input"))).strip()
    if cell.get("cell_type") == "code":
        if text:
            yield fenced(text, language)
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else []:
            printed = _output(output).strip()
            if printed:
                yield fenced(printed[:_LONGEST_OUTPUT])
    else:
        yield text


def _output(output: Any) -> str:
    """The plain text of an output; pictures and widgets have none."""
    if not isinstance(output, dict):
        return ""
    data = output.get("data")
    said = data.get("text/plain") if isinstance(data, dict) else None
    text = _text(output.get("text") if said is None else said)
    if not text and output.get("output_type") in ("error", "pyerr"):
        text = _text(output.get("traceback"), "\n")
    return _COLOURS.sub("", text)


def _text(value: Any, separator: str = "") -> str:
    """A text may be written as one, or as the list of its lines."""
    if isinstance(value, list):
        return separator.join(part for part in value if isinstance(part, str))
    return value if isinstance(value, str) else ""
