"""A folder in, screenshots of every view of the page out: light and dark, wide and narrow.

    .venv/bin/python tools/screenshots.py build/screenshots

It starts an engine of its own on a folder that is gone afterwards, and needs `playwright` (in the dev
extra) and a Chromium.
"""

import os
import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "browser"))
from running import Running  # noqa: E402

ROOT = Path(__file__).parents[1]
FIXTURES = ROOT / "tests" / "fixtures" / "documents"
SIZES = {"wide": (1280, 860), "narrow": (390, 844)}
NOTES = [
    (
        "Ideas for the harbour festival\n\nA choir on the ferry, lanterns along the mole, and soup for "
        "everybody who helps. Ask the harbour master about the old crane.",
        ["festival", "ideas"],
    ),
    ("Spare key\n\nThe spare key of the boat house is with the neighbours at number 7.", ["house"]),
    (
        "What the surveyor said\n\nThe sea wall is sound, but the northern stairs need new stones before "
        "winter. He sends his report in March.",
        ["harbour", "house"],
    ),
    (
        "agent: summary of the tide tables\n\nHighest tides this spring: 21 March and 19 April, both early "
        "in the morning.",
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


def fill(running: Running) -> None:
    for text, tags in NOTES:
        running.note(text, tags)
    running.file("pruning.md", GUIDE.encode(), ["garden"])
    for path in sorted(FIXTURES.iterdir()):
        if path.suffix in {
            ".pdf",
            ".docx",
            ".pptx",
            ".xlsx",
            ".html",
            ".png",
            ".jpg",
            ".eml",
            ".epub",
        }:
            running.file(path.name, path.read_bytes(), ["reference"])
    running.settle()


def shoot(browser: Browser, running: Running, folder: Path) -> None:
    hit = running.search("What does the report say about the harbour?", doc_type="pdf")
    note = running.search("sea wall stairs", doc_type="note")
    word = running.search("pruning saw canker")
    views = {
        "start": "/",
        "search": "/?q=keep+canker+from+spreading",
        "document": f"/?view=document&id={hit['document_id']}&chunk={hit['chunk_id']}&q=harbour",
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
            shoot(browser, running, folder)
        browser.close()
    print(f"{len(list(folder.glob('*.png')))} screenshots in {folder}")


if __name__ == "__main__":
    main()
