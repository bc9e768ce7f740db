"""Files, folders, images and text put in through the page, and what it says of them meanwhile."""

import re
from pathlib import Path

import pytest
from doing import PASTE, dragged, drop, search
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
FIXTURES = Path(__file__).parents[1] / "fixtures" / "documents"


def test_a_folder_is_dropped_with_all_that_is_in_it_but_hidden_files(page, running, tmp_path):
    folder = tmp_path / "garden"
    (folder / "trees" / "old").mkdir(parents=True)
    (folder / "plan.md").write_text("# Plan\n\nPlant quinces.")
    (folder / "trees" / "pear.txt").write_text("Pears ripen late.")
    (folder / "trees" / "old" / "medlar.txt").write_text("Medlars are eaten bletted.")
    (folder / ".hidden.txt").write_text("Nobody sees this.")
    (folder / ".git").mkdir()
    (folder / ".git" / "config.txt").write_text("Nor this.")
    (tmp_path / "single.txt").write_text("A file beside the folder.")
    dragged(page, folder, tmp_path / "single.txt")
    for name in ("plan.md", "pear.txt", "medlar.txt", "single.txt"):
        expect(page.locator(".item.done", has_text=name)).to_contain_text("added")
    expect(page.locator(".item")).to_have_count(4)
    search(page, "bletted medlars")
    expect(page.locator("mark", has_text="bletted").first).to_be_visible()


def test_a_running_job_shows_its_steps_and_can_be_cancelled(page, running, tmp_path):
    sheets = [Image.new("L", (1_200, 1_600), 255) for _ in range(40)]
    for number, sheet in enumerate(sheets):
        for line in range(30):
            words = f"Sheet {number} line {line} of a scan that takes its time"
            ImageDraw.Draw(sheet).text(
                (60, 40 + 50 * line), words, fill=0, font=ImageFont.load_default(32)
            )
    scan = tmp_path / "long-scan.tiff"
    sheets[0].save(scan, save_all=True, append_images=sheets[1:], compression="tiff_deflate")
    dragged(page, scan)
    item = page.locator(".item", has_text="long-scan.tiff")
    later_page = re.compile(r"Reading page ([2-9]|[1-3][0-9]) of 40")  # some may not be seen
    expect(item.locator(".step")).to_contain_text(later_page, timeout=60_000)
    assert float(item.locator("progress").get_attribute("value")) > 0
    item.get_by_role("button", name="Cancel long-scan.tiff").click()
    expect(item).to_contain_text("cancelled")
    expect(item.get_by_role("button")).to_have_count(0)
    running.settle()
    [job] = running.client.get("/jobs", params={"status": "cancelled"}).json()["jobs"]
    assert job["filename"] == "long-scan.tiff"
    assert running.client.get("/documents?format=tiff").json()["total"] == 0


def test_what_fails_says_why_and_what_to_do(page):
    drop(page, ("mystery.bin", b"\0\1\2" * 300))
    item = page.locator(".item.failed", has_text="mystery.bin")
    expect(item).to_contain_text("cannot be read")
    expect(item).to_contain_text("Save it as PDF or text")
    expect(item.get_by_role("button", name="Try mystery.bin again")).to_be_visible()


def test_an_upload_on_its_way_can_be_cancelled(page, running):
    page.route("**/api/v1/jobs", lambda route: None)  # it never arrives
    drop(page, ("slow.txt", b"Slow words."))
    page.get_by_role("button", name="Cancel slow.txt").click()
    expect(page.locator(".item", has_text="slow.txt")).to_contain_text("cancelled")


def test_text_and_images_are_pasted(page, running):
    page.evaluate(PASTE, ["", list((FIXTURES / "sign.png").read_bytes())])
    expect(page.locator(".item", has_text="Pasted")).to_be_visible()
    page.evaluate(PASTE, ["Pasted words about curlews", None])
    field = page.get_by_role("textbox", name="Text of the new note")
    expect(field).to_have_value("Pasted words about curlews")
    page.get_by_role("button", name="Add note").click()
    expect(page.locator(".card", has_text="curlews")).to_be_visible()


def test_a_list_shows_which_documents_were_not_read_whole(page):
    book = (
        b"<FictionBook xmlns:l='x'><body><section><p>A heron, <image l:href='#a'/></p></section>"
        b"</body></FictionBook>"
    )
    drop(page, ("birds.fb2", book), ("whole.txt", b"All of it was read."))
    expect(page.locator(".item.done")).to_have_count(2)
    page.get_by_role("searchbox").fill("")
    row = page.locator(".row", has_text="birds")
    expect(row.locator(".row-warned")).to_have_attribute("title", "its picture was not read")
    expect(row.locator(".row-missing")).to_be_hidden()
    page.keyboard.press("Tab")
    row.focus()
    expect(row.locator(".row-missing")).to_have_text("its picture was not read")
    expect(row.locator(".row-missing")).to_be_visible()
    expect(page.locator(".row", has_text="whole").locator(".row-warned")).to_have_count(0)
