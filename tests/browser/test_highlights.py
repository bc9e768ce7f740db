"""Passages on the pictures of their pages, as a browser shows them."""

from pathlib import Path

import pytest
from doing import drop, inked, search
from playwright.sync_api import expect

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
FIXTURES = Path(__file__).parents[1] / "fixtures" / "documents"


def test_a_pdf_is_dropped_read_found_and_shown_with_the_passage_marked(page):
    expect(page.get_by_role("searchbox")).to_be_focused()
    drop(page, ("report.pdf", (FIXTURES / "report.pdf").read_bytes()))
    item = page.locator(".item", has_text="report.pdf")
    expect(item).to_contain_text("added")
    search(page, "tablewort")
    group = page.locator(".group", has_text="Harbour report")
    hit = group.locator("a.hit", has_text="Tablewort").first
    expect(hit.locator("mark").first).to_be_visible()
    hit.click()
    expect(page.get_by_text("Page 3 of 5")).to_be_visible()
    picture = page.get_by_role("img", name="Page 3 of Harbour report")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.naturalWidth") > 500
    box = page.get_by_test_id("highlight").first.bounding_box()
    sheet = picture.bounding_box()
    assert sheet["x"] <= box["x"]
    assert box["y"] + box["height"] <= sheet["y"] + sheet["height"]
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_text("Page 4 of 5")).to_be_visible()
    expect(page.get_by_test_id("highlight")).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_role("button", name="Original").click()
    assert download.value.suggested_filename == "report.pdf"
    assert Path(download.value.path()).read_bytes() == (FIXTURES / "report.pdf").read_bytes()


def test_a_passage_of_a_scan_is_marked_on_the_picture_of_its_page(page, running):
    job = running.file("scan.pdf", (FIXTURES / "scan.pdf").read_bytes())
    running.document_of(job)
    search(page, "scannedwort")
    page.locator("a.hit", has_text="Scannedwort").first.click()
    expect(page.get_by_test_id("highlight").first).to_be_visible()
    shades = inked(page)
    assert shades
    assert max(shades) < 128


def test_the_words_of_an_image_are_marked_on_it(page, running):
    running.document_of(running.file("sign.png", (FIXTURES / "sign.png").read_bytes()))
    sign = running.client.get("/documents?format=png").json()["documents"][0]["id"]
    chunk = running.client.get(f"/documents/{sign}").json()["chunks"][0]["id"]
    page.goto(f"/?view=document&id={sign}&chunk={chunk}")
    expect(page.get_by_test_id("highlight").first).to_be_visible()
    assert max(inked(page)) < 160
