"""How much of files is read, and how fast:  python -m benchmarks.reading PATH

PATH is a file or a folder of files, in folders or not. Each is read by kb and held against a
reference: a text that a person has put beside it (`page.html.txt`), or one that is made by a way
of reading that shares nothing with kb's. trafilatura and markitdown read the same files in an
environment of their own, `.venv-reading`.
"""

import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from threading import Lock

from benchmarks.options import options_of
from benchmarks.peer_environments import prepare
from benchmarks.reading.formats import FORMATS, Format
from benchmarks.reading.measures import kept, overlap, words
from benchmarks.reading.readers import PEERS, Reader
from benchmarks.reading.reference import Reference
from benchmarks.reading.results import Result, append, table, told_before, worst
from benchmarks.reading.sentences import breaks

_FEWEST_WORDS = 20  # of a file that is judged
_ENDINGS = frozenset(ending for each in FORMATS.values() for ending in each.endings)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("path", type=Path)
    parser.add_argument(
        "--formats", default=",".join(FORMATS), help="of these alone, such as html,docx"
    )
    parser.add_argument("--most", type=int, help="as many of each format, the same in each run")
    parser.add_argument("--worst", type=int, default=0, help="tell about the worst N files")
    parser.add_argument("--no-peers", action="store_true", help="leave other readers out")
    parser.add_argument("--jobs", type=int, default=1, help="as many files at a time")
    parser.add_argument("--seconds", type=float, default=60, help="for a reader and a file")
    parser.add_argument("--results", type=Path, help="write every figure there, and go on there")
    arguments = parser.parse_args()
    before = told_before(arguments.results)
    if not arguments.no_peers:
        prepare("reading", *PEERS)
    for name in arguments.formats.split(","):
        each = FORMATS[name]
        files = sorted(_files(arguments.path, each.endings))
        if arguments.most is not None and len(files) > arguments.most:
            files = sorted(Random(name).sample(files, arguments.most))
        readers = ("kb", *(() if arguments.no_peers else each.peers))
        run = _Run(each, readers, arguments.seconds, arguments.results)
        left = [file for file in files if str(file) not in before]
        results = [result for file in files for result in before.get(str(file), ())]
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for found in pool.map(run.measured, left):
                results += found
        run.stop()
        if results:
            _tell(name, results, arguments.worst)


def _files(path: Path, endings: tuple[str, ...]) -> Iterator[Path]:
    for file in [path] if path.is_file() else path.rglob("*"):
        is_label = file.suffix == ".txt" and file.with_suffix("").suffix[1:] in _ENDINGS
        is_wanted = file.suffix[1:].lower() in endings and file.is_file()
        if is_wanted and not (is_label and file.with_suffix("").exists()):
            yield file


class _Run:
    """The files of one format, some at a time: readers that are free read the next."""

    def __init__(
        self, each: Format, readers: Sequence[str], seconds: float, results: Path | None
    ) -> None:
        self._format = each
        self._names = readers
        self._start = partial(Reader, seconds=seconds)
        self._free: list[list[Reader]] = []
        self._results = results
        self._lock = Lock()

    def measured(self, file: Path) -> list[Result]:
        """One result for each reader. A file with hardly a word to be held against is read, too."""
        try:
            wanted = self._format.read(file)
        except Exception as error:  # whatever a parser makes of a file: it must not end the run
            print(f"no reference of {file}: {error!r}", file=sys.stderr)
            wanted = None
        is_judged = wanted is not None and _has_words(wanted.text)
        with self._lock:
            readers = self._free.pop() if self._free else [self._start(n) for n in self._names]
        answers = [reader.read(file) for reader in readers]
        read_by_any = any(_has_words(text or "") for text, _, _ in answers)
        has_words = is_judged if wanted is not None else read_by_any
        can_be_read = has_words and self._is_what_it_is_called(file)
        found = []
        for reader, (text, seconds, refusal) in zip(readers, answers, strict=True):
            result = Result(str(file), "", reader.name, seconds=seconds, is_read=text is not None)
            result.refusal = refusal
            result.is_refused_unjustly = text is None and can_be_read
            if text is not None and wanted is not None and is_judged:
                _hold_against(wanted, text, result)
            found.append(result)
        with self._lock:
            self._free.append(readers)
            append(self._results, found)
        return found

    def _is_what_it_is_called(self, file: Path) -> bool:
        begins = self._format.begins
        return not begins or file.read_bytes().startswith(begins)

    def stop(self) -> None:
        for readers in self._free:
            for reader in readers:
                reader.stop()


def _has_words(text: str) -> bool:
    return len(words(text)) >= _FEWEST_WORDS


def _hold_against(wanted: Reference, text: str, result: Result) -> None:
    result.group = wanted.group
    result.overlap = overlap(wanted.text, text, wanted.allowed)
    *headings, lost_headings = kept(wanted.headings, text)
    *items, lost_items = kept(wanted.items, text)
    result.headings, result.items = (headings[0], headings[1]), (items[0], items[1])
    result.lost_lines = (*lost_headings, *lost_items)
    if wanted.has_layout:
        inside, every, examples = breaks(text)
        result.breaks = (inside, every)
        result.lost_lines += examples


def _tell(name: str, results: list[Result], most: int) -> None:
    readers = dict.fromkeys(result.reader for result in results)
    ours = [result for result in results if result.reader == "kb"]
    print(table(name, {r: [e for e in results if e.reader == r] for r in readers}), end="\n\n")
    groups = sorted({result.group for result in ours if result.overlap is not None})
    for group in groups if len(groups) > 1 else []:
        of_group = {r: [e for e in results if (e.reader, e.group) == (r, group)] for r in readers}
        print(table(group, of_group), end="\n\n")
    if most:
        print(worst(ours, most))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
