"""The page for those who do not see it or do not use a mouse: axe-core finds nothing wrong."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from running import Running

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
AXE = (Path(__file__).parent / "vendor" / "axe.js").read_text()
FIXTURES = Path(__file__).parents[1] / "fixtures" / "documents"


def violations(page):
    page.evaluate(AXE)
    found = page.evaluate("axe.run(document)")
    return [
        (each["id"], node["html"][:200], node["failureSummary"][:200])
        for each in found["violations"]
        for node in each["nodes"]
    ]


@pytest.fixture(scope="module")
def filled(running):
    running.note("Sandpipers run before the waves.\nThey turn when it turns.", ["shore", "birds"])
    running.file("waves.md", b"# Waves\n\nWaves come in sevens, sailors say.", ["shore"])
    pdf = running.file("report.pdf", (FIXTURES / "report.pdf").read_bytes())
    running.file("mystery.bin", b"\0\1" * 100)
    document = running.document_of(pdf)
    chunk = running.client.get(f"/documents/{document}").json()["chunks"][0]["id"]
    waves = running.search("sailors say sevens")
    return {
        "start": "/",
        "search": "/?q=waves",
        "nothing found": "/?q=zzzz&tag=nothing-has-this",
        "pdf": f"/?view=document&id={document}&chunk={chunk}",
        "text": f"/?view=document&id={waves['document_id']}&chunk={waves['chunk_id']}&q=waves",
        "missing": "/?view=document&id=999999",
        "notes": "/?view=notes",
        "overview": "/?view=overview",
    }


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing_in_any_view(running, filled, open_page, scheme, width):
    size = {"width": width, "height": 900}
    page = open_page(running, color_scheme=scheme, viewport=size, reduced_motion="reduce")
    troubles = {}
    for name, address in filled.items():
        page.goto(address)
        expect(page.locator(".bone, .spinner")).to_have_count(0)
        if name == "search":
            page.get_by_role("button", name="Explain the order").click()
            expect(page.locator(".explain").first).to_be_visible()
        troubles[name] = violations(page)
    page.get_by_role("link", name="Notes").click()
    page.locator(".card").first.click()
    page.get_by_role("button", name="Edit", exact=True).click()
    troubles["editing"] = violations(page)
    page.get_by_role("button", name="Delete").click()
    troubles["asking"] = violations(page)
    assert {name: found for name, found in troubles.items() if found} == {}


def test_axe_finds_nothing_where_the_key_is_asked_for(tmp_path, open_page):
    with Running(tmp_path / "data", key="s3cret", embedder="hash") as running:
        page = open_page(running)
        expect(page.get_by_label("Key", exact=True)).to_be_visible()
        assert violations(page) == []
