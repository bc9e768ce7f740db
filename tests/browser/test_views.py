"""What people do on the page, done by a browser on a real engine."""

from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Error, expect

from running import Running

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]
FIXTURES = Path(__file__).parents[1] / "fixtures" / "documents"

DROP = """async ([files, folder]) => {
  const transfer = new DataTransfer();
  for (const [name, bytes] of files) transfer.items.add(new File([new Uint8Array(bytes)], name));
  for (const kind of ["dragenter", "dragover", "drop"]) {
    document.body.dispatchEvent(
      new DragEvent(kind, { dataTransfer: transfer, bubbles: true, cancelable: true })
    );
  }
}"""
PASTE = """([text, image]) => {
  const transfer = new DataTransfer();
  if (text) transfer.setData("text/plain", text);
  const bytes = new Uint8Array(image ?? []);
  if (image) transfer.items.add(new File([bytes], "image.png", {type: "image/png"}));
  document.body.dispatchEvent(
    new ClipboardEvent("paste", { clipboardData: transfer, bubbles: true, cancelable: true })
  );
}"""


def drop(page, *files):
    page.evaluate(DROP, [[[name, list(content)] for name, content in files], None])


def search(page, words):
    page.get_by_role("searchbox").fill(words)


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
