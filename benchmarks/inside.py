"""Documents with pictures in, how much of the text on those is found out:

    python -m benchmarks.inside          makes 60 documents, and adds the same pictures alone, too
    python -m benchmarks.inside PATH     any folder; what `tesseract` reads is held against kb

For a folder tesseract has to be installed, and for the PDFs in it `pdfimages` (poppler-utils).
"""

import base64
import io
import itertools
import re
import shutil
import subprocess
import tempfile
import time
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image as Images
from PIL import ImageDraw, ImageFont

from benchmarks.documents import SAMPLES, share, words
from benchmarks.files import illustrated
from benchmarks.options import options_of
from benchmarks.report import Report
from benchmarks.running import Client, Server, connected, engine

_DOCUMENTS = 60
_LINES = 8  # of text on a made picture
_SIZES = (14, 18, 26, 40)  # of its letters, in pixels
_COLOURS = (("white", "black"), ("#1e1e1e", "#d4d4d4"), ("#dde8f5", "#202060"))
_SURE = 85.0  # of 100: what tesseract is less sure of is seldom what stands there
_WORD = re.compile(r"[^\W\d_]{3,}|\d{2,}")
_DATA = re.compile(rb"data:image/[a-z]{1,9};base64,([A-Za-z0-9+/=\s]{500,})")
_SMALLEST = 24  # pixels
_PREVIEW = re.compile(r"thumbnail|preview", re.IGNORECASE)


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("path", type=Path, nargs="?", help="a folder of documents")
    parser.add_argument("--documents", type=int, default=_DOCUMENTS, help="how many are made")
    parser.add_argument("--worst", type=int, default=5, help="so many files with what they lost")
    parser.add_argument("--json", type=Path, help="write every number there")
    arguments = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.path:
            folder(report, arguments.path, Path(scratch), arguments.worst)
        else:
            made(report, arguments.documents, Path(scratch))
    report.end(arguments.json)


# --- documents that are made


def made(report: Report, count: int, scratch: Path) -> None:
    report.section(f"{count} documents, each with a picture of {_LINES} lines")
    drawn = [_drawn(number) for number in range(count)]
    kinds = itertools.cycle(illustrated.KINDS.items())
    documents = [
        (f"{number}.{kind}", make(f"Number {number} of the documents", picture))
        for number, ((kind, make), (picture, _)) in enumerate(zip(kinds, drawn, strict=False))
    ]
    texts, within = _added(scratch / "documents", documents)
    alone = [(f"{number}.png", picture) for number, (picture, _) in enumerate(drawn)]
    _, beside = _added(scratch / "pictures", alone)
    wanted = [words(text) for _, text in drawn]
    found = sum((want & words(text)).total() for want, text in zip(wanted, texts, strict=True))
    share(report, "words on pictures", found / sum(want.total() for want in wanted), 0.9)
    report.add("processor time", within, "s", "the pictures alone", beside, bar=1.0)


def _drawn(number: int) -> tuple[bytes, str]:
    """A picture and the words on it, each another part of the story in another dress."""
    told = (SAMPLES / "english.txt").read_text("utf-8").split()
    start = 37 * number % len(told)
    told = [*told[start:], *told[:start]]
    lines = [" ".join(told[7 * line : 7 * line + 7]) for line in range(_LINES)]
    size = _SIZES[number % len(_SIZES)]
    ground, ink = _COLOURS[number % len(_COLOURS)]
    font = ImageFont.load_default(size)
    width = int(max(font.getlength(line) for line in lines)) + 2 * size
    picture = Images.new("RGB", (width, 2 * size * (_LINES + 1)), ground)
    for at, line in enumerate(lines):
        ImageDraw.Draw(picture).text((size, size + 2 * size * at), line, fill=ink, font=font)
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue(), "\n".join(lines)


def _added(data: Path, files: Sequence[tuple[str, bytes]]) -> tuple[list[str], float]:
    """What is found of each file, and the processor time that took."""
    with engine(data) as server:
        client = connected(server)
        busy = server.cpu_seconds()
        jobs = [client.add_file(name, content) for name, content in files]
        _wait(client, server)
        return [_text(client, job) for job in jobs], server.cpu_seconds() - busy


def _wait(client: Client, server: Server) -> None:
    while True:
        queue = client.status()["queue"]
        if not queue["queued"] + queue["running"]:
            return
        server.check_alive()
        time.sleep(0.2)


def _text(client: Client, job: int) -> str:
    """All passages of the document that a job has made; nothing of one that failed."""
    document = client.call("GET", f"/api/v1/jobs/{job}")["document_id"]
    if document is None:
        return ""
    chunks = client.call("GET", f"/api/v1/documents/{document}")["chunks"]
    return "\n".join(chunk["text"] for chunk in chunks)


# --- documents of others


def folder(report: Report, path: Path, scratch: Path, worst: int) -> None:
    if shutil.which("tesseract") is None:
        raise SystemExit("tesseract is needed: install tesseract-ocr")
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    wanted = {file: want for file in files if (want := _wanted(file)).total()}
    report.section(f"{len(wanted)} of {len(files)} files with words on pictures")
    texts, _ = _added(scratch / "documents", [(file.name, file.read_bytes()) for file in wanted])
    found = {
        file: want & words(text) for (file, want), text in zip(wanted.items(), texts, strict=True)
    }
    total = sum(want.total() for want in wanted.values())
    if not total:
        return
    share(
        report, "words that tesseract reads", sum(map(Counter.total, found.values())) / total, 0.9
    )
    good = sum(found[file].total() >= 0.9 * want.total() for file, want in wanted.items())
    share(report, "files with nine in ten of them", good / len(wanted), 0.9)
    lost = {file: want - found[file] for file, want in wanted.items()}
    for file in sorted(lost, key=lambda file: -lost[file].total())[:worst]:
        report.note(f"{file.name}: without {' '.join(list(lost[file])[:20])}")


def _wanted(file: Path) -> Counter[str]:
    found: Counter[str] = Counter()
    for picture in dict.fromkeys(_pictures(file)):
        found += Counter(_read_by_tesseract(picture))
    return found


def _pictures(file: Path) -> Iterator[bytes]:
    data = file.read_bytes()
    if zipfile.is_zipfile(io.BytesIO(data)):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                if not _PREVIEW.search(name):
                    yield archive.read(name)
    elif data.startswith(b"%PDF"):
        with tempfile.TemporaryDirectory() as scratch:
            subprocess.run(["pdfimages", "-png", str(file), f"{scratch}/p"], check=False)
            yield from (each.read_bytes() for each in sorted(Path(scratch).iterdir()))
    else:
        yield from (base64.b64decode(match[1]) for match in _DATA.finditer(data))


def _read_by_tesseract(data: bytes) -> Iterator[str]:
    try:
        picture = Images.open(io.BytesIO(data)).convert("RGBA")
    except (OSError, ValueError):  # what is in a document and is no picture
        return
    if min(picture.size) < _SMALLEST:
        return
    shown = Images.alpha_composite(Images.new("RGBA", picture.size, "white"), picture)
    with tempfile.NamedTemporaryFile(suffix=".png") as file:
        shown.convert("RGB").save(file.name)
        command = ["tesseract", file.name, "-", "--psm", "11", "tsv"]
        answer = subprocess.run(command, capture_output=True, check=False).stdout.decode()
    for row in answer.splitlines()[1:]:
        cells = row.split("\t")
        if len(cells) == 12 and float(cells[10]) >= _SURE:
            yield from _WORD.findall(cells[11].lower())


if __name__ == "__main__":
    main()
