"""Pictures inside documents: their text is found, and the document's own before it."""

import io
import zipfile

import pytest
from benchmarks.illustrated import KINDS, docx, picture, pptx

TEXT = "The orchard was planted in spring"


def history(api, document_id):
    return api.get(f"/jobs?document_id={document_id}").json()["jobs"]


def do_one_job(api):
    taken = api.engine.store.take_job()
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


def test_a_picture_that_stands_on_no_slide_is_read_as_well(api):
    slides = io.BytesIO(pptx(TEXT, picture("Zebrafish swim")))
    with zipfile.ZipFile(slides, "a") as archive:
        archive.writestr("ppt/media/of-a-layout.tmp", picture("Herons stand"))
    document_id = api.add_file(slides.getvalue(), "a.pptx")["document_id"]
    places = [chunk["location"] for chunk in api.document(document_id)["chunks"]]
    assert places == ["slide 1", "picture on slide 1", "picture in a layout, a note or a diagram"]


def test_a_document_that_is_deleted_takes_the_job_for_its_pictures_along(api):
    api.submit_file(docx(TEXT, picture("Zebrafish swim")), "a.docx")
    document_id = do_one_job(api).document_id
    waiting = history(api, document_id)[0]["id"]
    assert api.delete(f"/documents/{document_id}").status_code == 200
    assert api.job(waiting)["status"] == "cancelled"
    assert api.engine.store.stored_names() == set()
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


def test_pictures_inside_can_be_left_alone(tmp_path, open_engine, make_api):
    with open_engine(tmp_path / "off", ocr_inside="off") as engine:
        api = make_api(engine)
        job = api.add_file(docx(TEXT, picture("Zebrafish swim")), "a.docx")
        assert found(api, "zebrafish") == []
        assert len(history(api, job["document_id"])) == 1
