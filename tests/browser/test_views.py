"""What people do on the page, done by a browser on a real engine."""

import time
from contextlib import suppress

import pytest
from doing import search
from playwright.sync_api import Error, expect

from running import Running

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]


def test_filters_with_counts_stand_over_the_list_of_documents(open_page, tmp_path):
    with Running(tmp_path / "data", embedder="hash") as running:
        running.note("Herons wade", ["birds", "river"])
        running.note("Otters swim", ["river"])
        running.file("herons.md", b"# Herons\n\nThey nest.", ["birds"])
        running.settle()
        page = open_page(running)

        def chip(group, name):
            return page.get_by_role("group", name=group).get_by_role("button", name=name)

        expect(chip("Type", "Note")).to_have_text("Note2")
        expect(chip("Tag", "birds")).to_have_text("birds2")
        expect(chip("Added", "Past week")).to_have_text("Past week3")
        chip("Tag", "birds").click()
        expect(page.locator(".row")).to_have_count(2)
        expect(chip("Tag", "river")).to_have_text("river1")
        expect(chip("Type", "Note")).to_have_text("Note1")
        expect(chip("Added", "Today")).to_have_text("Today2")
        chip("Type", "Note").click()
        expect(page.locator(".row")).to_have_count(1)
        expect(chip("Type", "Markdown")).to_have_text("Markdown1")
        chip("Added", "Today").click()
        expect(page.locator(".row")).to_have_count(1)
        assert "since=1" in page.url
        page.get_by_role("button", name="Clear filters").click()
        expect(page.locator(".row")).to_have_count(3)


def test_every_view_says_that_others_can_get_in(open_page, page, tmp_path):
    with Running(tmp_path / "data", embedder="hash", KB_HOST="0.0.0.0") as running:
        exposed = open_page(running)
        for view in ("Search", "Notes", "Overview"):
            exposed.get_by_role("link", name=view, exact=True).click()
            alert = exposed.get_by_role("alert").filter(has_text="KB_API_KEY is not set")
            expect(alert).to_have_count(1)
            expect(alert).to_contain_text("everyone who can reach this machine")
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_text("All is well")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_what_is_wrong_with_the_store_is_told_in_every_view_with_what_to_do(open_page, tmp_path):
    with Running(tmp_path / "data", embedder="hash") as running:
        running.file("heron.txt", b"The heron wades at the shore.")
        running.file("broken.pdf", b"%PDF-1.4 broken")
        running.settle()
        [original] = [
            each
            for each in (tmp_path / "data/store-files").iterdir()
            if each.read_bytes().startswith(b"The heron")
        ]
        original.unlink()
        running.client.post("/verify", json={})
        while running.client.get("/verify").json()["state"] == "running":
            time.sleep(0.05)
        page = open_page(running, viewport={"width": 360, "height": 700})
        for view in ("Search", "Notes", "Overview"):
            page.get_by_role("link", name=view, exact=True).click()
            alert = page.get_by_role("alert").filter(has_text="1 original is missing: heron")
            expect(alert).to_have_count(1)
            expect(alert.locator("code", has_text="kb verify --repair")).to_have_count(1)
            assert page.evaluate("document.documentElement.scrollWidth") == 360
        safety = page.locator("section", has=page.get_by_role("heading", name="Safety"))
        for told in ("1 finding", "kb backup DIR", "1 job, holding 15 B", "whoever reads a file"):
            expect(safety).to_contain_text(told)


def test_a_line_above_the_hits_says_what_left_nothing_and_that_nothing_fits(open_page, tmp_path):
    with Running(tmp_path / "data", embedder="hash") as running:
        for number in range(5):
            running.note(f"Otter {number} swims by night in the cold river and sleeps", [])
        running.settle()
        page = open_page(running)
        search(page, "otter tag:never")
        caution = page.locator(".caution")
        expect(caution).to_have_text("Nothing found with tag:never; without it:")
        search(page, "xxqqzz in yyqqzz wwqqzz")
        expect(caution).to_have_text("Nothing fits well; the nearest:")
        expect(page.locator(".group")).to_have_count(3)
        page.get_by_role("button", name="Show 2 weaker documents").click()
        expect(page.locator(".group")).to_have_count(5)
        search(page, "otter")
        expect(caution).to_have_count(0)


def test_a_note_is_written_edited_in_place_and_found_by_its_new_words(page, running):
    page.get_by_role("link", name="Notes").click()
    page.get_by_role("textbox", name="Text of the new note").fill("Otters sleep afloat")
    page.get_by_role("textbox", name="Tags of the new note").fill("river, animals")
    page.get_by_role("button", name="Add note").click()
    page.locator(".card", has_text="Otters").click()
    expect(page.get_by_text("Created ")).to_be_visible()
    page.get_by_role("button", name="Edit", exact=True).click()
    page.get_by_role("textbox", name="Text of the note").fill("Badgers sleep below")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".text.whole")).to_have_text("Badgers sleep below")
    expect(page.get_by_text("updated ", exact=False).first).to_be_visible()
    page.get_by_role("link", name="Search", exact=True).click()
    search(page, "badgers")
    expect(page.locator("mark", has_text="Badgers").first).to_be_visible()


def test_a_note_that_changed_meanwhile_is_not_overwritten_silently(page, running, open_page):
    note = running.document_of(running.note("First words of a contested note"))
    page = open_page(running, f"/?view=document&id={note}")
    page.get_by_role("button", name="Edit", exact=True).click()
    running.client.patch(f"/notes/{note}", json={"text": "Words of somebody else"})
    page.get_by_role("textbox", name="Text of the note").fill("My words")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("was changed")
    page.get_by_role("button", name="Save mine anyway").click()
    expect(page.locator(".text.whole")).to_have_text("My words")


def test_chips_narrow_a_search_and_the_address_keeps_it(page, running):
    running.note("Herons wade in rivers", ["birds"])
    running.file("herons.md", b"# Herons\n\nHerons nest in trees.", ["trees"])
    running.settle()
    search(page, "herons")
    expect(page.locator(".group")).to_have_count(2)
    page.get_by_role("group", name="Tag").get_by_role("button", name="birds").click()
    expect(page.locator(".group")).to_have_count(1)
    assert "tag=birds" in page.url
    page.reload()
    expect(page.get_by_role("searchbox")).to_have_value("herons")
    expect(page.locator(".group")).to_have_count(1)
    page.go_back()
    expect(page.locator(".group")).to_have_count(2)
    page.get_by_role("group", name="Type").get_by_role("button", name="Markdown").click()
    expect(page.locator(".group")).to_have_count(1)
    page.get_by_role("button", name="Clear filters").click()
    expect(page.locator(".group")).to_have_count(2)
    page.get_by_role("button", name="Explain the order").click()
    expect(page.get_by_role("img", name="Score: words").first).to_be_visible()


def test_everything_in_a_search_works_by_keyboard(page, running):
    running.note("Kingfishers dive for minnows")
    running.settle()
    page.keyboard.type("kingfishers")
    hit = page.locator("a.hit").first
    expect(hit).to_contain_text("Kingfishers")
    page.keyboard.press("ArrowDown")
    expect(hit).to_be_focused()
    page.keyboard.press("ArrowUp")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Kingfishers")
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_have_value("kingfishers")
    page.keyboard.press("Escape")
    expect(page.get_by_role("searchbox")).to_have_value("")


def test_the_newest_question_wins_though_an_older_answer_comes_later(page, running):
    running.note("Wagtails run along streams")
    running.settle()

    held = []

    def hold_back(route):
        asked = route.request.post_data_json["query"]
        held.append(route) if asked == "wag" else route.continue_()

    page.route("**/api/v1/search", hold_back)
    with page.expect_request("**/api/v1/search"):
        search(page, "wag")
    search(page, "wagtails")
    expect(page.locator("mark", has_text="Wagtails")).to_be_visible()
    assert len(held) == 1
    with suppress(Error):  # the browser may have given it up by now
        held[0].fulfill(json={"results": [], "took_ms": 1, "degraded": None})
    expect(page.locator("mark", has_text="Wagtails")).to_be_visible()


def test_what_is_known_of_a_document_stands_beside_its_text_where_there_is_room(running, open_page):
    note = running.document_of(running.note("Cranes dance in the morning"))
    page = open_page(running, f"/?view=document&id={note}", viewport={"width": 1280, "height": 860})
    about = page.get_by_role("complementary", name="About this document")
    expect(about).to_be_visible()
    text = page.locator(".content").bounding_box()
    assert about.bounding_box()["x"] >= text["x"] + text["width"]
    assert about.bounding_box()["y"] == text["y"]


def test_tags_are_edited_and_a_document_is_deleted_after_asking(page, running, open_page):
    note = running.document_of(running.note("Doomed words about dodos"))
    page = open_page(running, f"/?view=document&id={note}")
    page.get_by_role("textbox", name="Add a tag").fill("extinct")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("button", name="Remove the tag extinct")).to_be_visible()
    assert running.client.get(f"/documents/{note}").json()["tags"] == ["extinct"]
    page.get_by_role("button", name="Remove the tag extinct").click()
    expect(page.get_by_role("button", name="Remove the tag extinct")).to_have_count(0)
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Keep it").click()
    assert running.client.get(f"/documents/{note}").status_code == 200
    page.get_by_role("button", name="Delete").click()
    page.get_by_role("button", name="Delete for good").click()
    expect(page.get_by_text("Deleted “")).to_be_visible()
    assert running.client.get(f"/documents/{note}").status_code == 404


def test_the_overview_counts_and_draws(page, running):
    running.note("One more for the overview", ["counted"])
    running.settle()
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_role("list", name="Counts")).to_contain_text("documents")
    expect(page.locator(".growth canvas")).to_be_visible()
    expect(page.get_by_text("All is well")).to_be_visible()
    expect(page.get_by_text("kb connect claude-code --write")).to_be_visible()


SHIFTED = """() => new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => {
    for (const each of list.getEntries()) if (!each.hadRecentInput) sum += each.value;
  }).observe({ type: "layout-shift", buffered: true });
  setTimeout(() => resolve(sum), 200);
})"""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("address", ["/", "/?q=storks", "/?view=notes", "/?view=overview"])
def test_nothing_jumps_while_a_view_is_loaded(running, open_page, address, width):
    running.note("Storks clatter with their bills", ["birds"])
    running.settle()
    page = open_page(running, address, viewport={"width": width, "height": 860})
    expect(page.locator("main h1")).to_be_attached()
    expect(page.locator(".bone, .spinner")).to_have_count(0)
    assert page.evaluate(SHIFTED) < 0.02  # people begin to notice at 0.1


def test_the_key_is_asked_for_once_and_a_wrong_one_is_refused(tmp_path, open_page):
    with Running(tmp_path / "data", key="s3cret", embedder="hash") as running:
        page = open_page(running)
        page.get_by_label("Key", exact=True).fill("wrong")
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_role("alert")).to_contain_text("This is not the key")
        page.get_by_label("Key", exact=True).fill("s3cret")
        page.get_by_role("button", name="Open").click()
        expect(page.get_by_role("searchbox")).to_be_visible()
        page.reload()
        expect(page.get_by_role("searchbox")).to_be_visible()


def test_an_engine_that_restarts_is_found_again_and_the_page_says_so(tmp_path, open_page):
    with Running(tmp_path / "data", embedder="hash") as running:
        page = open_page(running)
        expect(page.get_by_text("Nothing in here yet")).to_be_visible()
        running.stop()
        expect(page.get_by_text("The engine does not answer. Trying")).to_be_visible()
        running.start()
        expect(page.get_by_text("Connected again")).to_be_visible()
        running.note("Written after the restart")
        expect(page.locator(".row", has_text="Written after the restart")).to_be_visible()


def test_a_snippet_ends_at_a_word(open_page, tmp_path):
    words = [f"kingfisher{number}" for number in range(100)]
    with Running(tmp_path / "data", embedder="hash") as running:
        running.note(" ".join(words), [])
        running.settle()
        page = open_page(running)
        search(page, "kingfisher0")
        hit = page.locator(".hit-text").first
        expect(hit).to_contain_text("…")
        shown = hit.inner_text().removesuffix("…").split()
        assert shown == words[: len(shown)]
