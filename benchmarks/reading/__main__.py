"""How much of files is read, and how fast:  python -m benchmarks.reading PATH

PATH is a file or a folder of files, in folders or not. Each is read by kb and held against a
reference: a text that a person has put beside it (`page.html.txt`), or one that is made by a way
of reading that shares nothing with kb's. trafilatura and markitdown read the same files in an
environment of their own, `.venv-reading`.
"""

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from benchmarks.reading import html_reference, office_reference, pdf_reference
from benchmarks.reading.measures import kept, overlap, words
from benchmarks.reading.peers import Peer, prepare
from benchmarks.reading.reference import Read, Reference
from benchmarks.reading.results import Result, table, worst
from benchmarks.reading.sentences import breaks
from kb.engine.errors import KbError
from kb.engine.ingest.extract import Ocr, Source, extract
from kb.engine.ingest.page_ends import whole_sentences
from kb.engine.models import Page

# A format's endings, what its files are held against, and who else reads it.
FORMATS: dict[str, tuple[tuple[str, ...], Read, tuple[str, ...]]] = {
    "html": (("html", "htm", "xhtml"), html_reference.read, ("trafilatura", "markitdown")),
    "pdf": (("pdf",), pdf_reference.read, ("markitdown",)),
    **{
        name: ((name,), office_reference.read, ("markitdown",)) for name in ("docx", "pptx", "xlsx")
    },
    **{
        name: ((name,), office_reference.read, ())
        for name in ("odt", "ods", "odp", "rtf", "doc", "ppt", "xls", "xlsb")
    },
}
_FEWEST_WORDS = 20  # of a file that is judged


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument(
        "--formats", default=",".join(FORMATS), help="of these alone, such as html,docx"
    )
    parser.add_argument("--worst", type=int, default=0, help="tell about the worst N files")
    parser.add_argument("--no-peers", action="store_true", help="leave other readers out")
    parser.add_argument("--json", type=Path, help="write every figure there")
    arguments = parser.parse_args()
    everything: list[Result] = []
    for name in arguments.formats.split(","):
        endings, reference, peer_names = FORMATS[name]
        files = sorted(_files(arguments.path, endings))
        if not files:
            continue
        if peer_names and not arguments.no_peers:
            prepare()
        peers = [] if arguments.no_peers else [Peer(peer) for peer in peer_names]
        results = [result for file in files for result in _measured(file, reference, peers)]
        for peer in peers:
            peer.stop()
        everything += results
        _tell(name, results, arguments.worst)
    if arguments.json:
        arguments.json.write_text(json.dumps([asdict(result) for result in everything], indent=1))


def _files(path: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    for file in [path] if path.is_file() else path.rglob("*"):
        if file.is_file() and file.suffix[1:].lower() in endings:
            yield file


def _measured(file: Path, reference: Read, peers: list[Peer]) -> Iterator[Result]:
    """One result for each reader; none for a file that has nothing to be held against."""
    wanted = reference(file)
    if wanted is None or len(words(wanted.text)) < _FEWEST_WORDS:
        return
    busy = time.process_time()
    try:
        text, refusal = _read(file), ""
    except KbError as error:
        text, refusal = None, error.message
    yield _result("kb", file, wanted, text, time.process_time() - busy, refusal)
    for peer in peers:
        text, seconds = peer.read(file)
        yield _result(peer.name, file, wanted, text, seconds)


def _read(file: Path) -> str:
    read = extract(Source(file, file.name, Ocr(engine="off"))).pages
    pages = whole_sentences([page for page in read if isinstance(page, Page)])
    text = "\n\n".join(page.text for page in pages)
    return text.replace("[Image: ", "[")  # kb's own word


def _result(
    reader: str, file: Path, wanted: Reference, text: str | None, seconds: float, refusal: str = ""
) -> Result:
    result = Result(str(file), wanted.group, reader, seconds=seconds, refusal=refusal)
    if text is not None:
        result.overlap = overlap(wanted.text, text, wanted.allowed)
        *headings, lost_headings = kept(wanted.headings, text)
        *items, lost_items = kept(wanted.items, text)
        result.headings, result.items = (headings[0], headings[1]), (items[0], items[1])
        result.lost_lines = (*lost_headings, *lost_items)
        if wanted.has_layout:
            inside, every, examples = breaks(text)
            result.breaks = (inside, every)
            result.lost_lines += examples
    return result


def _tell(name: str, results: list[Result], most: int) -> None:
    readers = dict.fromkeys(result.reader for result in results)
    ours = [result for result in results if result.reader == "kb"]
    print(table(name, {r: [e for e in results if e.reader == r] for r in readers}), end="\n\n")
    groups = sorted({result.group for result in ours})
    for group in groups if len(groups) > 1 else []:
        of_group = {r: [e for e in results if (e.reader, e.group) == (r, group)] for r in readers}
        print(table(group, of_group), end="\n\n")
    if most:
        print(worst(ours, most))


if __name__ == "__main__":
    main()
