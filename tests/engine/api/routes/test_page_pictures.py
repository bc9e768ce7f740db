"""Pages as pictures, and where on them a passage stands: in text, and in what was recognised."""

import io
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from PIL.Image import Transpose
from small_archives import mailed, saved

from kb.engine.errors import ExtractionFailed
from kb.engine.ingest.render import PagePictures, _checked
from kb.engine.ingest.render.match import places
from kb.engine.pages import Box, PlacedWord

FIXTURES = Path(__file__).parents[3] / "fixtures" / "documents"
TURNS = (Transpose.ROTATE_90, Transpose.ROTATE_180, Transpose.ROTATE_270)


def add(api, name):
    job = api.add_file((FIXTURES / name).read_bytes(), name)
    assert job["status"] == "done", job
    return job["document_id"]


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


def marked(api, document_id, page_number, word):
    """The picture of a page, and the sides in pixels of what is marked for the passage with a word.

    What is marked must have ink in it, and everything around it must have less.
    """
    chunks = api.document(document_id)["chunks"]
    chunk = next(chunk for chunk in chunks if word in chunk["text"])
    address = f"/documents/{document_id}/pages/{page_number}"
    picture = Image.open(io.BytesIO(api.get(f"{address}.png").content)).convert("L")
    boxes = api.get(address, params={"chunk": chunk["id"]}).json()["boxes"]
    lengths = dict(zip(("left", "top", "right", "bottom"), picture.size * 2, strict=True))
    sides = [tuple(round(box[side] * length) for side, length in lengths.items()) for box in boxes]
    assert sides, f"nothing is marked for {word}"
    for place in sides:
        assert picture.crop(place).getextrema()[0] < 128, place
    return picture, sides


def hidden(picture, sides):
    """The picture with what is marked painted over; what is left dark was not marked."""
    left = picture.copy()
    for place in sides:
        left.paste(255, place)
    return left


def page_of_text(*lines, size=(900, 400), top=40):
    page = Image.new("L", size, 255)
    for place, line in enumerate(lines):
        font = ImageFont.load_default(34)
        ImageDraw.Draw(page).text((40, top + 60 * place), line, fill=0, font=font)
    return page


LINES = ("The ferry from the islands", "arrived forty minutes late", "because of the dense fog")


def test_a_passage_of_a_scan_is_marked_where_its_words_were_recognised(api):
    document_id = add(api, "scan.pdf")
    picture, sides = marked(api, document_id, 2, "Scannedwort")
    assert len(sides) > 1
    assert hidden(picture, sides).crop(max(sides)).getextrema()[0] > 128


@pytest.mark.parametrize("turn", [None, *TURNS])
def test_a_picture_of_text_is_marked_whichever_way_it_lies(api, turn):
    page = page_of_text(*LINES)
    lying = page.transpose(turn) if turn else page
    job = api.add_file(saved(lying, "PNG"), "page.png")
    picture, sides = marked(api, job["document_id"], 1, "ferry")
    assert hidden(picture, sides).getextrema()[0] > 100
    assert len(sides) == 3  # one for each line, also where they run down or up


def test_a_photograph_is_marked_as_the_camera_was_held(api):
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter, to be turned back
    turned = page_of_text(*LINES).transpose(Transpose.ROTATE_90)
    job = api.add_file(saved(turned, "JPEG", exif=exif, quality=95), "photo.jpg")
    picture, sides = marked(api, job["document_id"], 1, "ferry")
    assert picture.width > picture.height
    assert hidden(picture, sides).getextrema()[0] > 100


def test_every_frame_and_every_part_of_a_picture_has_its_own_places(api):
    frames = [page_of_text("Herons wade in rivers"), page_of_text("Otters swim by night", top=200)]
    tiff = saved(frames[0], "TIFF", save_all=True, append_images=frames[1:])
    document_id = api.add_file(tiff, "frames.tiff")["document_id"]
    _, [above] = marked(api, document_id, 1, "Herons")
    _, [below] = marked(api, document_id, 2, "Otters")
    assert above[3] < below[1]
    tall = page_of_text(size=(700, 4_000))
    for top, words in ((100, "Curlews call at dusk"), (3_700, "Godwits fly by day")):
        tall.paste(page_of_text(words, size=(700, 100), top=20), (0, top))
    document_id = api.add_file(saved(tall, "PNG"), "tall.png")["document_id"]
    picture, [last] = marked(api, document_id, 1, "Godwits")
    assert last[1] > 0.9 * picture.height
    picture, [first] = marked(api, document_id, 1, "Curlews")
    assert first[3] < 0.1 * picture.height


def test_a_pdf_that_was_read_as_pictures_by_force_is_marked_too(api):
    content = (FIXTURES / "report.pdf").read_bytes()
    job = api.add_file(content, "report.pdf", force_ocr="true")
    assert api.document(job["document_id"])["processing_method"] in ("ocr", "mixed")
    marked(api, job["document_id"], 3, "Tablewort")


def test_places_are_kept_with_the_newest_bytes_of_a_file_and_gone_with_it(api):
    path = {"source_path": "/scans/page.png"}
    job = api.add_file(saved(page_of_text(*LINES), "PNG"), "page.png", **path)
    store, number = api.engine.store, job["document_id"]
    assert [word.text for word in store.documents.placed_words(number, 1)][:2] == ["The", "ferry"]
    newer = saved(page_of_text("Only herons are left"), "PNG")
    assert api.add_file(newer, "page.png", **path)["document_id"] == number
    assert [word.text for word in store.documents.placed_words(number, 1)][:2] == ["Only", "herons"]
    api.delete(f"/documents/{number}")
    assert store.documents.placed_words(number, 1) == []


def test_places_are_not_kept_of_what_is_never_shown_as_a_picture(api):
    mail = mailed({"scan.pdf": (FIXTURES / "scan.pdf").read_bytes()})
    job = api.add_file(mail, "mail.eml")
    assert "Scannedwort" in str(api.document(job["document_id"])["chunks"])
    with api.engine.store.database.reading() as query:
        assert query("SELECT count(*) FROM page_words") == [(0,)]


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
    pictures = PagePictures(tmp_path / "swept", api.engine.files.folder, api.engine.sandbox)
    for name in ("0" * 32 + "-1.png", "1" * 32 + "-1.png", "." + "2" * 32, "mine.txt"):
        (tmp_path / "swept" / name).write_bytes(b"x")
    pictures.sweep({"0" * 32})
    left = {path.name for path in (tmp_path / "swept").iterdir()}
    assert left == {"0" * 32 + "-1.png", "mine.txt"}


def test_no_more_pictures_are_kept_than_allowed(api, tmp_path):
    document_id = add(api, "report.pdf")
    document, name = api.engine.store.documents.stored_file(document_id)
    small = PagePictures(tmp_path / "few", api.engine.files.folder, api.engine.pictures._sandbox, 1)
    for number in (1, 2):
        small.picture(name, document.filename, number)
    assert [path.name for path in (tmp_path / "few").glob("*.png")] == [f"{name}-2.png"]


def test_a_page_that_several_ask_for_is_drawn_once(api):
    document_id = add(api, "report.pdf")
    document, name = api.engine.store.documents.stored_file(document_id)
    pictures, drawn = api.engine.pictures, []
    draw = pictures._draw
    pictures._draw = lambda *each: drawn.append(each) or draw(*each)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: pictures.picture(name, document.filename, 1), range(4)))
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


def test_a_page_that_repeats_a_few_words_is_looked_through_quickly():
    words = [PlacedWord("aab"[index % 3], Box(0.1, 0.1, 0.2, 0.12)) for index in range(4_000)]
    began = time.process_time()
    places(" ".join("ab"[index % 2] for index in range(1_500)), words)
    assert time.process_time() - began < 2


def test_words_that_stand_everywhere_are_marked_with_those_beside_them():
    words = [word for line in range(40) for word in row("the tide of the year", line / 50)]
    words += row("the herons of the coast", 0.9)
    assert [box.top for box in places("the herons of the coast", words)] == [0.9]
