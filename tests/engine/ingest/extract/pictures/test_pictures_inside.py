"""Pictures inside documents: their text is found, and the document's own before it."""

import io
import zipfile
from pathlib import Path

import pypdf
import pypdfium2
import pytest
from benchmarks.files.illustrated import KINDS, docx, picture
from PIL import Image, ImageChops, ImageStat
from small_archives import mailed, saved, zipped

from kb.engine.ingest.extract.pictures.inside import pdf
from kb.engine.ingest.pipeline import HasPictures

TEXT = "The orchard was planted in spring"
REPORT = Path(__file__).parents[4] / "fixtures" / "documents" / "report.pdf"


def scan(words):
    return saved(Image.open(io.BytesIO(picture(words))), "PDF")


def partly_scanned(words):
    """A scanned page between two that have text."""
    written = REPORT.read_bytes()
    whole = pypdf.PdfWriter()
    for part, pages in ((written, (0, 1)), (scan(words), None), (written, (1, 2))):
        whole.append(io.BytesIO(part), pages=pages)
    joined = io.BytesIO()
    whole.write(joined)
    return joined.getvalue()


def history(api, document_id):
    return api.get(f"/jobs?document_id={document_id}").json()["jobs"]


def do_one_job(api):
    taken = api.engine.store.jobs.take()
    return api.engine.worker._pipeline.ingest(taken, lambda: False)


def found(api, words):
    return [hit["document_id"] for hit in api.search(words, fts_only=True)]


def test_the_text_is_found_at_once_and_that_of_the_pictures_when_it_is_read(api):
    api.submit_file(docx(TEXT, picture("Zebrafish swim")), "a.docx")
    document_id = do_one_job(api).document_id
    assert found(api, "orchard") == [document_id]
    assert api.document(document_id)["how_read"]["pictures_waiting"] == 1
    assert [job["status"] for job in history(api, document_id)] == ["queued", "done"]
    job = do_one_job(api)
    assert (job.outcome, job.changed) == ("updated", ["content"])
    assert found(api, "zebrafish") == [document_id]
    document = api.document(document_id)
    how = document["how_read"]
    assert (how["pictures_read"], how["pictures_waiting"], how["warnings"]) == (1, 0, [])
    assert document["processing_method"] == "mixed"
    assert document["updated_at"] is None
    assert [chunk["text"].strip() for chunk in document["chunks"]] == [TEXT, "Zebrafish swim"]
    assert document["chunks"][1]["location"] == f"picture after “{TEXT}”"
    api.engine.check.finish()
    assert api.engine.check.result.findings == 0


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_pictures_are_read_in_documents_of_every_kind(api, kind):
    job = api.add_file(KINDS[kind](TEXT, picture("Zebrafish swim")), f"a.{kind}")
    assert found(api, "zebrafish") == [job["document_id"]]
    assert found(api, "orchard") == [job["document_id"]]


@pytest.mark.parametrize("turned", [90, 180, 270])
def test_a_picture_on_a_turned_page_is_drawn_whole(turned):
    upright, seen = (drawn_region(angle) for angle in (0, turned))
    turned_back = seen.rotate(turned, expand=True)
    assert (turned_back.width, turned_back.height) == pytest.approx(upright.size, abs=2)
    same = ImageChops.difference(upright, turned_back.resize(upright.size))
    assert ImageStat.Stat(same).mean[0] < 8  # of 255


def drawn_region(turned):
    [scanned] = pypdf.PdfReader(io.BytesIO(scan("Zebrafish swim"))).pages
    whole = pypdf.PdfWriter()
    shown = whole.add_blank_page(scanned.mediabox.width + 90, scanned.mediabox.height + 240)
    shown.merge_translated_page(scanned, 20, 200)
    shown.rotate(turned)
    turned_file = io.BytesIO()
    whole.write(turned_file)
    page = pypdfium2.PdfDocument(turned_file)[0]
    [region] = pdf._regions(page)
    return pdf._drawn(page, region)


def test_a_document_of_pictures_alone_is_read_by_its_own_job(api):
    job = api.add_file(docx("", picture("Zebrafish swim"), picture("Zebrafish swim")), "a.docx")
    document = api.document(job["document_id"])
    assert [chunk["text"].strip() for chunk in document["chunks"]] == ["Zebrafish swim"]
    assert document["how_read"]["pictures_read"] == 1
    assert len(history(api, job["document_id"])) == 1


def test_what_cannot_be_read_is_told_and_an_icon_is_not_looked_at(api):
    icon = picture("x", (20, 20))
    broken = picture("Zebrafish swim")[:200] + bytes(400)
    job = api.add_file(docx(TEXT, broken, icon + bytes(400)), "a.docx")
    document = api.document(job["document_id"])
    assert document["how_read"]["warnings"] == [
        f"the picture after “{TEXT}” is damaged, or in a form that cannot be read"
    ]
    assert document["how_read"]["share"] is None
    assert document["chunk_count"] == 1


@pytest.mark.parametrize(
    ("kind", "member", "place"),
    [
        ("pptx", "ppt/media/of-a-layout.tmp", "picture in a layout, a note or a diagram"),
        ("odp", "Object 1/Pictures/1.png", "picture in a master, a header or an object"),
    ],
)
def test_a_picture_that_stands_on_no_slide_is_read_as_well(api, kind, member, place):
    slides = io.BytesIO(KINDS[kind](TEXT, picture("Zebrafish swim")))
    with zipfile.ZipFile(slides, "a") as archive:
        archive.writestr(member, picture("Herons stand"))
    document_id = api.add_file(slides.getvalue(), f"a.{kind}")["document_id"]
    places = [chunk["location"] for chunk in api.document(document_id)["chunks"]]
    assert places[1:] == ["picture on slide 1", place]


def test_a_document_that_is_deleted_takes_the_job_for_its_pictures_along(api):
    api.submit_file(docx(TEXT, picture("Zebrafish swim")), "a.docx")
    document_id = do_one_job(api).document_id
    waiting = history(api, document_id)[0]["id"]
    assert api.delete(f"/documents/{document_id}").status_code == 200
    assert api.job(waiting)["status"] == "cancelled"
    assert api.engine.store.originals.names() == set()
    assert api.engine.worker.finish_jobs() == 0


def test_new_bytes_bring_pictures_of_their_own(api):
    path = {"source_path": "/home/me/a.docx"}
    api.submit_file(docx(TEXT, picture("Zebrafish swim")), "a.docx", **path)
    document_id = do_one_job(api).document_id
    api.submit_file(docx(TEXT, picture("Herons stand")), "a.docx", **path)
    api.engine.worker.finish_jobs()
    assert found(api, "zebrafish") == []
    assert found(api, "herons") == [document_id]


def test_who_cancels_the_reading_of_pictures_is_told_so_by_the_document(api):
    api.submit_file(docx(TEXT, picture("Zebrafish swim")), "a.docx")
    document_id = do_one_job(api).document_id
    api.delete(f"/jobs/{history(api, document_id)[0]['id']}")
    how = api.document(document_id)["how_read"]
    assert how["pictures_waiting"] == 0
    assert how["warnings"] == ["the pictures inside were not read: it was cancelled"]


def test_pictures_inside_can_be_left_alone(tmp_path, open_api):
    with open_api(tmp_path / "off", ocr_inside="off") as api:
        job = api.add_file(docx(TEXT, picture("Zebrafish swim")), "a.docx")
        assert found(api, "zebrafish") == []
        assert len(history(api, job["document_id"])) == 1


MIXED = {
    "a.eml": mailed({"photo.png": picture("Zebrafish swim")}, TEXT),
    "a.zip": zipped({"a.txt": TEXT, "a.png": picture("Zebrafish swim")}),
    "a.pdf": partly_scanned("Zebrafish swim"),
    "b.eml": mailed({"letter.docx": docx("Herons", picture("Zebrafish swim"))}, TEXT),
}


@pytest.mark.parametrize("name", MIXED)
def test_text_is_found_before_anything_beside_it_is_recognised(api, name):
    api.submit_file(MIXED[name], name)
    job = do_one_job(api)
    word = "leftwort" if name == "a.pdf" else "orchard"
    assert (job.outcome, found(api, word)) == ("added", [job.document_id])
    how = api.document(job.document_id)["how_read"]
    assert (how["pictures_waiting"], how["pages_by_ocr"], how["warnings"]) == (1, 0, [])
    [second, _] = history(api, job.document_id)
    assert second["status"] == "queued"


def test_pages_that_were_recognised_are_added_to_a_document_and_nothing_twice(api):
    document = api.document(api.add_file(MIXED["a.pdf"], "a.pdf")["document_id"])
    texts = "\n".join(chunk["text"] for chunk in document["chunks"])
    assert [texts.count(word) for word in ("Zebrafish", "anchorwort", "leftwort")] == [1, 1, 1]
    how = document["how_read"]
    assert (how["pages_by_ocr"], how["pictures_waiting"], how["share"]) == (1, 0, 1.0)
    assert document["processing_method"] == "mixed"
    assert document["chunks"][-1]["page"] == 2
    assert api.engine.store.documents.placed_words(document["id"], 2)
    api.engine.check.finish()
    assert api.engine.check.result.findings == 0


def test_pictures_in_files_within_a_file_are_added_to_it_with_their_places(api):
    files = {"a.txt": TEXT, "a.png": picture("Zebrafish swim"), "b.eml": MIXED["b.eml"]}
    document = api.document(api.add_file(zipped(files), "a.zip")["document_id"])
    texts = "\n".join(chunk["text"] for chunk in document["chunks"])
    assert [texts.count(words) for words in ("Zebrafish swim", TEXT)] == [2, 2]
    assert [chunk["location"] for chunk in document["chunks"][-2:]] == [
        "a.png",
        "b.eml, attachment letter.docx, picture after “Herons”",
    ]
    assert document["how_read"]["pictures_read"] == 2


def test_a_job_of_pictures_alone_that_was_not_known_as_such_goes_into_their_line(api):
    hidden = scan("Zebrafish swim") + b"/Font"  # which makes it look as if it had text
    job_id = api.submit_file(hidden, "a.pdf")["job_id"]
    with pytest.raises(HasPictures):
        do_one_job(api)
    assert api.engine.store.jobs.places([job_id])[job_id].pictures


def test_the_number_of_a_page_is_never_beyond_the_pages(api, monkeypatch):
    told = []
    show = api.engine.board.show
    monkeypatch.setattr(
        api.engine.board, "show", lambda taken, step: [told.append(step.message), show(taken, step)]
    )
    api.submit_file(MIXED["a.zip"], "a.zip")
    do_one_job(api)
    pages = [message.split() for message in told if " of " in message]
    assert all(int(words[2]) <= int(words[4]) for words in pages)
