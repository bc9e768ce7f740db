"""A folder in, screenshots of every view of the page out: light and dark, wide and narrow.

    .venv/bin/python tools/screenshots.py build/screenshots

It starts an engine of its own on a folder that is gone afterwards. It needs `playwright`, which is
in the dev extra, and a Chromium.
"""

import os
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))
sys.path.insert(0, str(Path(__file__).parent / "fixtures"))
from pdf_and_pictures import HELVETICA, Pdf, lines

from running import Running

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures" / "documents"
SIZES = {"wide": (1280, 860), "narrow": (390, 844)}
NOTES = [
    (
        "Ideas for the harbour festival\n\nA choir on the ferry, lanterns along the mole, "
        "and soup for everybody who helps. Ask the harbour master about the old crane.",
        ["festival", "ideas"],
    ),
    ("Spare key\n\nThe spare key of the boat house is with the neighbours at number 7.", ["house"]),
    (
        "What the surveyor said\n\nThe sea wall is sound, but the northern stairs need "
        "new stones before winter. He sends his report in March.",
        ["harbour", "house"],
    ),
    (
        "agent: summary of the tide tables\n\nHighest tides this spring: 21 March and "
        "19 April, both early in the morning.",
        ["agent:helper", "harbour"],
    ),
    (
        "Recipe for fish soup\n\nLeeks, potatoes, saffron, and whatever the boats bring in.",
        ["kitchen"],
    ),
]
GUIDE = """# Pruning apple trees

Prune apple trees in late winter, before the buds swell. Cut to an outward bud.

## Tools

Clean the saw with alcohol between two trees, or canker travels with it. A sharp blade heals faster.

## When to stop

Never take more than a third of the living wood in one year.
"""


FILES = ("report.docx", "budget.xlsx", "photograph.jpg", "sign.png", "book.epub", "page.html")
SURVEY = [
    [
        "Survey of the harbour, 2026",
        "",
        "The harbour was surveyed in March, at low tide and in calm weather. This report",
        "tells what was seen, what it would cost to mend, and what can wait.",
        "",
        "1. The sea wall",
        "",
        "The wall is sound along its whole length. Two stones near the lighthouse have moved",
        "by a hand's breadth since the last survey; they should be watched, not mended.",
    ],
    [
        "2. The northern stairs",
        "",
        "Seven of the twenty steps are worn through or missing. They must be replaced",
        "before winter: with the first frost the water in the joints will break the rest.",
        "New granite of the same kind can be had from the quarry at Rosehill.",
        "",
        "3. The crane",
        "",
        "The old crane on the quay still turns, but its chain has not been tested since 1998.",
        "Until that is done nobody may stand under it.",
    ],
]


def survey() -> bytes:
    """A report of two pages, as small as a PDF can be."""
    pdf = Pdf()
    root, tree, font = pdf.add(), pdf.add(), pdf.add(HELVETICA)
    pages = []
    for texts in SURVEY:
        content = pdf.stream(lines(texts, left=60, top=760, size=12))
        box = b"<</Type/Page/Parent %d 0 R/MediaBox[0 0 595 842]/Contents %d 0 R" % (tree, content)
        pages.append(pdf.add(box + b"/Resources<</Font<</F %d 0 R>>>>>>" % font))
    kids = b" ".join(b"%d 0 R" % page for page in pages)
    pdf.set(tree, b"<</Type/Pages/Kids[%s]/Count %d>>" % (kids, len(pages)))
    pdf.set(root, b"<</Type/Catalog/Pages %d 0 R>>" % tree)
    return pdf.bytes(root)


def spread(folder: Path) -> None:
    """Let what is there have come in over the last weeks, as it would have with somebody."""
    with closing(sqlite3.connect(folder / "store.db")) as store, store:
        ids = [row[0] for row in store.execute("SELECT id FROM documents ORDER BY id")]
        for place, document_id in enumerate(ids):
            added = datetime.now(UTC) - timedelta(days=(len(ids) - place) ** 1.3)
            text = added.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            store.execute("UPDATE documents SET created_at = ? WHERE id = ?", (text, document_id))


def fill(running: Running) -> None:
    for text, tags in NOTES:
        running.note(text, tags)
    running.file("pruning.md", GUIDE.encode(), ["garden"])
    for name in FILES:
        running.file(name, (FIXTURES / name).read_bytes(), ["reference"])
    running.file("harbour-survey.pdf", survey(), ["harbour"], title="Survey of the harbour")
    running.settle()


def shoot(browser: Browser, running: Running, folder: Path) -> None:
    hit = running.search("when must the northern stairs be replaced", doc_type="pdf")
    note = running.search("sea wall stairs", doc_type="note")
    word = running.search("pruning saw canker")
    passage = f"id={hit['document_id']}&chunk={hit['chunk_id']}&q=northern+stairs"
    views = {
        "start": "/",
        "search": "/?q=northern+stairs+of+the+harbour",
        "document": f"/?view=document&{passage}",
        "text": f"/?view=document&id={word['document_id']}&chunk={word['chunk_id']}&q=canker",
        "note": f"/?view=document&id={note['document_id']}",
        "notes": "/?view=notes",
        "overview": "/?view=overview",
    }
    for size, (width, height) in SIZES.items():
        for scheme in ("light", "dark"):
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=scheme,
                base_url=running.url,
            )
            page = context.new_page()
            for name, address in views.items():
                page.goto(address)
                settled(page)
                if name == "search":
                    page.get_by_role("button", name="Explain the order").click()
                    page.locator(".explain").first.wait_for()
                page.screenshot(path=folder / f"{name}-{size}-{scheme}.png")
            adding(page)
            page.screenshot(path=folder / f"adding-{size}-{scheme}.png")
            context.close()


def settled(page: Page) -> None:
    page.wait_for_load_state("load")
    page.locator("main").wait_for()
    page.locator(".bone, .field .spinner").first.wait_for(state="detached")
    page.wait_for_timeout(250)


def adding(page: Page) -> None:
    page.goto("/")
    settled(page)
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").first.click()
    chooser.value.set_files(
        [
            {
                "name": "Minutes of the harbour board.txt",
                "mimeType": "",
                "buffer": os.urandom(8).hex().encode() * 40,
            },
            {"name": "unknown.bin", "mimeType": "", "buffer": b"\0\1\2" * 500},
            {
                "name": "locked.pdf",
                "mimeType": "",
                "buffer": (FIXTURES / "locked.pdf").read_bytes(),
            },
        ]
    )
    page.locator(".item.failed").nth(1).wait_for()
    page.locator(".item.done").first.wait_for()


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "build/screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with tempfile.TemporaryDirectory() as data, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with Running(Path(data)) as running:
            fill(running)
            running.stop()
            spread(Path(data))
            running.start()
            shoot(browser, running, folder)
        browser.close()
    print(f"{len(list(folder.glob('*.png')))} screenshots in {folder}")


if __name__ == "__main__":
    main()
