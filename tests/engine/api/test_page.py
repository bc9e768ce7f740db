"""The page and what it asks for: addresses in, files, pictures and figures out."""

import gzip
import re
import threading
from pathlib import Path

import pytest

from kb.engine.api import page
from kb.engine.errors import ExtractionFailed
from kb.engine.ingest.render import PagePictures, _checked
from kb.engine.ingest.render.match import Box, PlacedWord, places

FIXTURES = Path(__file__).parents[2] / "fixtures" / "documents"
ROOT = "http://127.0.0.1"


@pytest.fixture
def keyed(tmp_path, open_engine, make_api):
    with open_engine(tmp_path / "keyed", api_key="s3cret") as engine:
        yield make_api(engine)


def add(api, name):
    job = api.add_file((FIXTURES / name).read_bytes(), name)
    assert job["status"] == "done", job
    return job["document_id"]


def test_the_page_and_its_files_need_no_key_but_everything_under_api_does(keyed):
    for address in page.paths():
        assert keyed.get(f"{ROOT}{address}").status_code == 200, address
    for address in ("/stats", "/documents/1/pages/1.png", "/documents/1/pages/1", "/nothing"):
        assert keyed.get(address).status_code == 401
    assert keyed.get(f"{ROOT}/page/other/main.js").status_code == 401


def test_the_page_allows_no_inline_script_and_nothing_from_elsewhere(api):
    answer = api.get(f"{ROOT}/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert "http:" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\son\w+=|\sstyle=", answer.text)


def test_files_are_kept_for_good_and_the_page_is_asked_for_anew(api):
    answer = api.get(f"{ROOT}/")
    assert answer.headers["cache-control"] == "no-cache"
    script = re.search(r'src="(/page/[^"]+)"', answer.text)[1]
    assert "immutable" in api.get(f"{ROOT}{script}").headers["cache-control"]
    again = api.get(f"{ROOT}/", headers={"If-None-Match": answer.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_the_whole_page_is_small_when_compressed():
    assert sum(len(asset.zipped) for asset in page.assets().values()) < 150_000
    for asset in page.assets().values():
        assert gzip.decompress(asset.zipped) == asset.plain


def test_no_module_makes_markup_of_text():
    ours = {path: asset for path, asset in page.assets().items() if "/vendor/" not in path}
    forbidden = re.compile(rb"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(")
    assert [path for path, asset in ours.items() if forbidden.search(asset.plain)] == []


def test_every_library_has_its_licence():
    folder = Path(page.__file__).parents[1] / "page" / "vendor"
    names = {path.stem for path in folder.glob("*.js")} - {"hooks"}  # a part of preact
    assert {path.stem for path in folder.glob("*.LICENSE")} == names


def test_a_page_of_a_pdf_is_a_picture_with_the_passage_marked(api):
    document = api.document(add(api, "report.pdf"))
    chunk = next(chunk for chunk in document["chunks"] if chunk["page"] == 2)
    address = f"/documents/{document['id']}/pages/2"
    answer = api.get(f"{address}.png")
    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.content.startswith(b"\x89PNG")
    view = api.get(address, params={"chunk": chunk["id"]}).json()
    assert view["page"] == 2 <= view["pages"]
    assert view["boxes"]
    for box in view["boxes"]:
        assert 0 <= box["left"] < box["right"] <= 1
        assert 0 <= box["top"] < box["bottom"] <= 1


def test_an_image_is_its_own_first_page(api):
    document_id = add(api, "photograph.jpg")
    assert api.get(f"/documents/{document_id}/pages/1.png").content.startswith(b"\x89PNG")
    view = api.get(f"/documents/{document_id}/pages/1").json()
    assert (view["pages"], view["boxes"]) == (1, [])
    assert view["width"] > 0


@pytest.mark.parametrize("page_number", [99, 1_000_000])
def test_a_page_that_is_not_there_is_missing(api, page_number):
    answer = api.get(f"/documents/{add(api, 'report.pdf')}/pages/{page_number}.png")
    assert (answer.status_code, answer.json()["error"]) == (404, "page_not_found")


def test_only_pdfs_and_images_are_drawn(api):
    api.add_file(b"Herons wade.", "herons.txt")
    answer = api.get("/documents/1/pages/1.png")
    assert (answer.status_code, answer.json()["error"]) == (404, "page_not_found")


def test_pictures_are_deleted_with_their_document(api):
    document_id = add(api, "report.pdf")
    api.get(f"/documents/{document_id}/pages/1.png")
    folder = api.engine.settings.data_dir / "store-pictures"
    assert {path.suffix for path in folder.iterdir()} == {".png", ".json"}
    api.delete(f"/documents/{document_id}")
    assert list(folder.iterdir()) == []


def test_pictures_of_files_that_are_gone_are_swept_at_start(api, tmp_path):
    pictures = PagePictures(tmp_path / "swept", api.engine.files, api.engine.sandbox)
    for name in ("0" * 32 + "-1.png", "1" * 32 + "-1.png", "." + "2" * 32, "mine.txt"):
        (tmp_path / "swept" / name).write_bytes(b"x")
    pictures.sweep({"0" * 32})
    left = {path.name for path in (tmp_path / "swept").iterdir()}
    assert left == {"0" * 32 + "-1.png", "mine.txt"}


def test_no_more_pictures_are_kept_than_allowed(api, tmp_path):
    document_id = add(api, "report.pdf")
    document, name = api.engine.store.stored_file(document_id)
    small = PagePictures(tmp_path / "few", api.engine.files, api.engine.pictures._sandbox, 1)
    for number in (1, 2):
        small.picture(name, document.filename, number)
    assert [path.name for path in (tmp_path / "few").glob("*.png")] == [f"{name}-2.png"]


def test_a_page_that_several_ask_for_is_drawn_once(api):
    document_id = add(api, "report.pdf")
    document, name = api.engine.store.stored_file(document_id)
    pictures, drawn = api.engine.pictures, []
    draw = pictures._draw
    pictures._draw = lambda *each: drawn.append(each) or draw(*each)
    threads = [
        threading.Thread(target=pictures.picture, args=(name, document.filename, 1))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(drawn) == 1


@pytest.mark.parametrize(
    "sent",
    [
        "not json",
        "[]",
        '{"png": "!!", "width": 1, "height": 1, "pages": 1, "words": []}',
        '{"png": "PHN2Zz4=", "width": 1, "height": 1, "pages": 1, "words": []}',
        '{"png": "iVBORw0KGgo=", "width": -1, "height": 1, "pages": 1, "words": []}',
        '{"png": "iVBORw0KGgo=", "width": 1, "height": 1, "pages": 1, "words": [["a", 1]]}',
    ],
)
def test_what_the_sandbox_sends_is_looked_at(sent):
    with pytest.raises(ExtractionFailed):
        _checked(sent, "hostile.pdf")


def row(words, top):
    """Words of a line, each a tenth of the page wide."""
    return [
        PlacedWord(word, Box(index / 10, top, index / 10 + 0.09, top + 0.02))
        for index, word in enumerate(words.split())
    ]


def test_a_passage_is_marked_line_by_line_and_nothing_else_is():
    words = row("Report of June", 0.0) + row("Herons wade in", 0.1) + row("cold rivers.", 0.2)
    boxes = places("herons wade in cold rivers", words)
    assert [box.top for box in boxes] == [0.1, 0.2]
    assert (boxes[0].left, round(boxes[0].right, 2)) == (0.0, 0.29)


def test_a_passage_that_is_not_on_the_page_marks_nothing():
    assert places("otters sleep afloat", row("Herons wade in rivers", 0.1)) == []
    assert places("", row("Herons wade", 0.1)) == []


def test_figures_count_documents_by_day_and_type(api):
    for text in ("One heron.", "Two herons."):
        api.add_note(text)
    api.add_file(b"# Herons\n\nThree.", "herons.md")
    found = api.get("/stats").json()
    assert [day["documents"] for day in found["days"]] == [3]
    counts = [(each["doc_type"], each["documents"]) for each in found["types"]]
    assert counts == [("note", 2), ("markdown", 1)]


def test_the_jobs_of_one_document_can_be_listed(api):
    first, second = api.add_note("One heron."), api.add_note("Two herons.")
    found = api.get("/jobs", params={"document_id": second["document_id"]}).json()
    assert [job["id"] for job in found["jobs"]] == [second["id"]]
    assert first["id"] != second["id"]
