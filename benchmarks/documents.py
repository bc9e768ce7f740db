"""PDFs in, how much of them is read and how fast out:  python -m benchmarks.documents PATH

PATH is a folder with PDFs in it, or in `pdfs` below it. Needs `pdftotext` (poppler-utils), whose
words ours are held against, and for the pictures the fonts DejaVu and Noto CJK.
"""

import os
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pypdfium2 as pdfium
from PIL.Image import Image

from benchmarks.files.pdf_peers import pdfminer_seconds, pdftotext, pypdf_seconds
from benchmarks.files.pictures import CONDITIONS, diagram, drawn, font_file
from benchmarks.options import options_of
from benchmarks.report import Report
from kb.engine.ingest import ocr
from kb.engine.ingest.extract.extraction import Ocr, Source
from kb.engine.ingest.extract.pdf import pdf_file
from kb.engine.pages import Page

_WORD = re.compile(r"\w+")
_LONG_PAGE = 250  # words; pages for the pictures have at least so many
SAMPLES = Path(__file__).parent / "samples"  # the same small story in many languages
READABLE = ("english", "german", "french", "polish", "code", "numbers")
UNREADABLE = ("russian", "ukrainian", "greek", "vietnamese")
OTHER_FONTS = {
    "arabic": "NotoSansArabic-Regular.ttf",
    "hebrew": "NotoSerifHebrew-Regular.ttf",
    "hindi": "NotoSansDevanagari-Regular.ttf",
    "thai": "NotoSansThai-Regular.ttf",
}
CJK = {"chinese": 2, "japanese": 0}  # which face of the collection
KOREAN = 1


def main() -> None:
    parser = options_of(__doc__)
    parser.add_argument("path", type=Path, nargs="?", help="a folder with PDFs")
    parser.add_argument("--only", choices=("text", "ocr"), help="one of the two parts")
    parser.add_argument("--pages", type=int, default=3, help="pages that are made into pictures")
    parser.add_argument("--no-peer", action="store_true", help="leave pdfminer out")
    parser.add_argument("--engine", default="rapidocr", choices=("rapidocr", "tesseract", "auto"))
    parser.add_argument("--json", type=Path, help="write every number there")
    arguments = parser.parse_args()
    files = pdfs(arguments.path) if arguments.path else []
    report = Report()
    if files and arguments.only != "ocr":
        texts(report, files, peers=not arguments.no_peer)
    if arguments.only != "text":
        pictures(report, files, arguments.pages, arguments.engine)
    report.end(arguments.json)


def pdfs(path: Path) -> list[Path]:
    return sorted([*path.glob("*.pdf"), *path.glob("pdfs/*.pdf")])


def share(report: Report, name: str, value: float, bar: float) -> None:
    report.add(name, 100 * value, "%", bar=100 * bar, at_least=True)


# --- what the text layer gives


@dataclass(frozen=True)
class PageRecall:
    where: str
    found: int
    of: int

    @property
    def share(self) -> float:
        return self.found / self.of


def texts(report: Report, files: Sequence[Path], peers: bool) -> None:
    report.section(f"text of {len(files)} PDFs")
    pages, seconds = [], 0.0
    for file in files:
        busy = time.process_time()
        ours = read(file)
        seconds += time.process_time() - busy
        pages += list(recalls(file, ours))
    found, of = sum(page.found for page in pages), sum(page.of for page in pages)
    worst = min((page for page in pages if page.of >= 20), key=lambda page: page.share)
    share(report, "words of pdftotext, all pages", found / of, 0.998)
    share(report, f"worst page: {worst.where}", worst.share, 0.95)
    speed = len(pages) / seconds
    other = len(pages) / pypdf_seconds(files)
    report.add("pages a second of processor time", speed, "", "pypdf", other)
    if peers:
        slow, version = pdfminer_seconds(files)
        beside = f"pdfminer.six {version}"
        report.add("pages a second of processor time", speed, "", beside, len(pages) / slow)


def read(file: Path) -> list[str]:
    """The pages, read without OCR."""
    extraction = pdf_file.extract(Source(file, file.name, Ocr(engine="off")))
    texts: dict[int, str] = {}
    for page in extraction.pages:
        if isinstance(page, Page) and page.number is not None:
            texts[page.number] = page.text
    return [texts.get(number, "") for number in range(1, (extraction.page_count or 0) + 1)]


def recalls(file: Path, ours: Sequence[str]) -> Iterator[PageRecall]:
    """How many of pdftotext's words are in ours, page by page."""
    reference = pdftotext(file)
    if not reference:
        print(f"{file.name}: pdftotext finds nothing in it, so its pages are not judged")
    pages = (reference or "").split("\f")
    for number, (theirs, text) in enumerate(zip(pages, ours, strict=False), start=1):
        wanted = words(theirs)
        if wanted:
            found = (wanted & words(text)).total()
            yield PageRecall(f"{file.stem[:20]} {number}", found, wanted.total())


def sample(name: str) -> str:
    return (SAMPLES / f"{name}.txt").read_text("utf-8")


def words(text: str) -> Counter[str]:
    return Counter(_WORD.findall(unicodedata.normalize("NFKC", text).lower()))


def characters(text: str) -> Counter[str]:
    return Counter(character for character in text if character.isalnum())


# --- what pictures give


def pictures(report: Report, files: Sequence[Path], count: int, engine: str) -> None:
    reader = ocr.load(Ocr(engine=engine))
    report.section(f"words read in pictures, {engine}")
    sheets = list(long_pages(files, count))
    for dpi in (150, 200):
        measure(report, reader, f"{dpi} dpi", [(sheet(dpi), text) for sheet, text in sheets], 0.99)
    for name, change in list(CONDITIONS.items())[1:]:
        cases = [(change(sheet(200)), text) for sheet, text in sheets]
        measure(report, reader, f"200 dpi, {name}", cases, 0.95)
    latin = font_file("DejaVuSans.ttf")
    if latin is None:
        report.note("no DejaVu: install fonts-dejavu")
        return
    measure(report, reader, "a diagram", [diagram(latin)], 0.95)
    small = drawn(sample("english"), latin, 11)
    measure(report, reader, "letters of 11 pixels", [(small, sample("english"))], 0.95)
    for name in READABLE:
        text = sample(name)
        measure(report, reader, name, [(drawn(text, latin, 28), text)], 0.99)
    collection = font_file("NotoSansCJK-Regular.ttc")
    if collection is None:
        report.note("no Noto CJK: install fonts-noto-cjk")
    else:
        for name, index in CJK.items():
            text = sample(name)
            cases = [(drawn(text, collection, 28, index), text)]
            measure(report, reader, f"{name}, characters", cases, 0.99, characters)
    told(report, reader, latin, collection)


def long_pages(files: Sequence[Path], count: int) -> Iterator[tuple[Callable[[int], Image], str]]:
    """Pages full of text, spread over the files: how to draw each, and its words."""
    for file in files[:: max(1, len(files) // count)][:count]:
        for index, text in enumerate(read(file)):
            if words(text).total() >= _LONG_PAGE:
                yield _drawing(file, index), text
                break


def _drawing(file: Path, index: int) -> Callable[[int], Image]:
    def draw(dpi: int) -> Image:
        document = pdfium.PdfDocument(file)
        picture: Image = document[index].render(scale=dpi / 72, grayscale=True).to_pil()
        return picture

    return draw


def measure(
    report: Report,
    reader: ocr.Reader,
    name: str,
    cases: Sequence[tuple[Image, str]],
    bar: float,
    parts: Callable[[str], Counter[str]] = words,
) -> None:
    found = of = 0
    busy = processor_seconds()
    for picture, text in cases:
        wanted = parts(text)
        found += (wanted & parts(reader.document().read(picture).text)).total()
        of += wanted.total()
    if cases:
        seconds = (processor_seconds() - busy) / len(cases)
        share(report, f"{name} ({seconds:.1f} s a page)", found / of, bar)


def processor_seconds() -> float:
    """Of this process and the programs that it has run."""
    return sum(os.times()[:4])


def told(report: Report, reader: ocr.Reader, latin: Path, collection: Path | None) -> None:
    """Scripts that rapidocr does not know: whether the reader says so."""
    pages = {name: drawn(sample(name), latin, 28) for name in UNREADABLE}
    for name, file in OTHER_FONTS.items():
        font = font_file(file)
        if font is not None:
            pages[name] = drawn(sample(name), font, 28)
    if collection is not None:
        pages["korean"] = drawn(sample("korean"), collection, 28, KOREAN)
    doubted = [name for name, page in pages.items() if reader.document().read(page).doubt]
    share(report, "scripts that it cannot read and says so", len(doubted) / len(pages), 1.0)
    for name in sorted(pages.keys() - set(doubted)):
        report.note(f"not told: {name}")


if __name__ == "__main__":
    main()
