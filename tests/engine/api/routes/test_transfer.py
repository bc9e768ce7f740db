"""Export and import over the API: everything comes back as it was, and nothing twice."""

import hashlib
import json
import uuid

import pytest
from PIL import Image, ImageDraw

from reliability.takeovers.v2_folder import build_v2

SOURCE = {"source": "diary", "digest": "0" * 64}


def exported(api):
    """Everything there is, page by page."""
    state = api.get("/export").json()
    documents, after = [], 0
    while after is not None:
        page = api.get("/export/documents", params={"after": after, "limit": 3}).json()
        documents += page["documents"]
        after = page["next"]
    return {**state, "records": documents}


def bring(api, other, force=False, **changes):
    """Import into `api` what there is in `other`; what came of each."""
    there = exported(other)
    return [
        deliver(api, arriving(there, record) | {"force": force} | changes, original(other, record))
        for record in there["records"]
    ]


def originals(api):
    return [path for path in api.engine.files.folder.iterdir() if len(path.name) == 32]


def original(api, record):
    return api.get(f"/documents/{record['id']}/file").content if record["has_file"] else None


def arriving(there, record):
    """A record as it is sent."""
    known = {name: value for name, value in record.items() if name != "id"}
    numbered = {"id": record["id"], "numbering": there["numbering"], "last_ids": there["last_ids"]}
    return {**known, "numbered": numbered}


def sent(api, document, content=None):
    files = {"document": ("document.json", json.dumps(document))}
    if content is not None:
        files["file"] = ("file", content)
    return api.post("/import", files=files)


def deliver(api, document, content=None):
    answer = sent(api, document, content)
    assert answer.status_code == 200, answer.text
    return answer.json()


def new_note(key="1", text="Dear diary, the herons are back.", **fields):
    said = hashlib.sha256(json.dumps([text, fields], sort_keys=True).encode()).hexdigest()
    return {**SOURCE, "key": key, "digest": said, "title": "Diary", "text": text, **fields}


def take(api, document):
    """Import something that has to be read first, and do the work; the answer and the document."""
    answer = api.post("/import", document)
    assert answer.status_code == 200, answer.text
    api.engine.worker.finish_jobs()
    job = api.job(answer.json()["job_id"]) if answer.json()["job_id"] else {}
    document_id = job.get("document_id") or answer.json()["document_id"]
    return answer.json() | {"job": job}, document_id and api.document(document_id)


@pytest.fixture
def other(tmp_path, open_api):
    """A second store."""
    with open_api(tmp_path / "other") as api:
        yield api


def fill(api):
    api.add_note("# One\n\nOtters swim.\n\n## Two\n\nHerons wait.", tags=["a", "b"], title="Birds")
    api.add_note("gone", title="gone")
    api.delete("/documents/2")
    api.add_file(
        b"Voles dig.\r\n\r\nMoles dig deeper.", "voles.txt", source_path="/home/a/voles.txt"
    )
    api.add_file(b"Voles dig.\r\n\r\nMoles dig deeper.", "copy.txt", tags=["ü", "日本"])
    api.add_note("to be changed", metadata={"z": 1.5, "a": [None, True, {"ß": "\u2028"}]})
    api.patch("/notes/5", {"text": "changed " * 500})
    api.patch("/documents/1", {"title": "Birds of the river"})
    api.add_file(b"Kingfishers dive.", "birds.txt")


def add_scan(api, path):
    image = Image.new("L", (900, 200), "white")
    ImageDraw.Draw(image).text((20, 40), "Kingfishers dive", fill="black", font_size=70)
    image.save(path)
    api.add_file(path.read_bytes(), "words.png")


def test_what_was_exported_is_the_same_after_it_was_imported(api, other, tmp_path):
    fill(api)
    add_scan(api, tmp_path / "words.png")
    before = exported(api)
    assert [record["id"] for record in before["records"]] == [1, 3, 4, 5, 6, 7]
    assert before["records"][-1]["words"][0]["words"][0][0] == "Kingfishers"
    assert {each["outcome"] for each in bring(other, api)} == {"added"}
    assert exported(other) == before
    for record in before["records"]:
        if record["has_file"]:
            assert original(other, record) == original(api, record)


def test_what_was_taken_over_from_v2_comes_back_the_same(other, tmp_path, open_api):
    build_v2(tmp_path / "v2", "closed")
    with open_api(tmp_path / "v2") as old:
        before = exported(old)
        assert {each["outcome"] for each in bring(other, old)} == {"added"}
        assert exported(other) == before
        assert {each["outcome"] for each in bring(other, old)} == {"unchanged"}
        old.engine.check.finish()
        assert old.engine.check.result.findings == 0  # what v2 hashed nobody knows
        other.engine.check.finish()
        assert other.engine.check.result.findings == 0


def test_a_file_that_is_not_the_one_that_was_read_is_refused(api, other):
    api.add_file(b"Voles dig.", "voles.txt")
    there = exported(api)
    [record] = there["records"]
    answer = sent(other, arriving(there, record), b"Moles dig.")
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert record["content_hash"] in answer.json()["message"]
    for wrong in ({"content_hash": "0" * 64}, {"size_bytes": 11}):
        answer = sent(other, arriving(there, record) | wrong, b"Voles dig.")
        assert answer.status_code == 422
        assert next(iter(wrong)) in answer.json()["message"]
    assert originals(other) == []
    assert exported(other)["records"] == []


def test_imported_passages_are_found_by_words_at_once_and_by_meaning_soon(api, other):
    fill(api)
    bring(other, api)
    assert [hit["document_id"] for hit in other.search("herons", fts_only=True)] == [1]
    assert other.get("/status").json()["counts"]["vectors_missing"] > 0
    other.engine.renewal.finish()
    assert other.get("/status").json()["counts"]["vectors_missing"] == 0
    for query in ("herons wait", "moles", "kingfishers"):
        assert api.search(query)[0]["chunk_id"] == other.search(query)[0]["chunk_id"]
        mine, theirs = (each.search(query, fts_only=True) for each in (api, other))
        assert [(hit["chunk_id"], hit["score"]) for hit in mine] == [
            (hit["chunk_id"], hit["score"]) for hit in theirs
        ]


def test_ids_are_kept_where_nobody_else_can_have_been_given_them(api, other):
    fill(api)
    bring(other, api)
    last = exported(api)["last_ids"]
    job = other.add_note("a note of its own")
    assert job["document_id"] == last["documents"] + 1
    assert job["id"] == last["jobs"] + 1
    api.delete("/documents/3")
    assert bring(api, other)[1] == {
        "outcome": "added",
        "document_id": 3,
        "document_uid": exported(other)["records"][1]["uid"],
        "job_id": None,
    }


def test_in_a_store_that_has_documents_ids_are_new_and_uids_stay(api, other):
    fill(api)
    other.add_note("here first")
    bring(other, api)
    mine, theirs = exported(api)["records"], exported(other)["records"][1:]
    assert [record["id"] for record in theirs] == [2, 3, 4, 5, 6]
    for one, two in zip(mine, theirs, strict=True):
        assert without_ids(one) == without_ids(two)
        assert [passage["uid"] for passage in one["passages"]] == [
            passage["uid"] for passage in two["passages"]
        ]
    twins = [record["jobs"][0]["duplicate_of"] for record in theirs]
    assert twins == [None, None, theirs[1]["id"], None, None]


def without_ids(value):
    if isinstance(value, dict):
        return {
            name: without_ids(inner)
            for name, inner in value.items()
            if name not in ("id", "duplicate_of")
        }
    return [without_ids(inner) for inner in value] if isinstance(value, list) else value


def test_what_was_changed_there_is_updated_and_what_is_newer_here_stays(api, other):
    fill(api)
    bring(other, api)
    api.patch("/documents/1", {"title": "Renamed there", "add_tags": ["new"]})
    api.patch("/notes/5", {"text": "once more, with lapwings"})
    other.patch("/documents/3", {"title": "Renamed here"})
    there = exported(api)
    older = there["records"][1]
    conflicting = sent(other, arriving(there, older), original(api, older))
    assert (conflicting.status_code, conflicting.json()["error"]) == (409, "conflict")
    assert other.document(3)["title"] == "Renamed here"
    assert len(originals(other)) == 3
    for index in (0, 3):
        record = there["records"][index]
        assert deliver(other, arriving(there, record))["outcome"] == "updated"
        after = exported(other)["records"][index]
        assert without_ids(after) == without_ids(record)
    assert [hit["document_id"] for hit in other.search("lapwings", fts_only=True)] == [5]
    assert [hit["document_id"] for hit in other.search("renamed there", fts_only=True)][:1] == [1]
    assert {each["outcome"] for each in bring(other, api, force=True)} == {"unchanged", "updated"}
    assert other.document(3)["title"] == "voles"


def test_a_long_document_can_go_and_come_back(api):
    text = "\n\n".join(f"Paragraph {n} tells of otters and herons. " * 40 for n in range(60))
    api.add_file(text.encode(), "long.txt")
    there = exported(api)
    [record] = there["records"]
    assert len(record["passages"]) > 40
    content = original(api, record)
    api.delete("/documents/1")
    assert deliver(api, arriving(there, record), content)["document_id"] == 1
    api.settle()
    assert api.search("otters", fts_only=True)
    again = exported(api)["records"][0]
    assert without_ids(again) == without_ids(record)


def test_a_note_of_another_program_keeps_its_times_and_is_known_again_by_its_key(api):
    note = new_note(
        created_at="2020-01-02T03:04:05.000000Z", updated_at="2021-01-02T03:04:05.000000Z"
    )
    answer, document = take(api, note)
    assert answer["outcome"] == "queued"
    assert document.items() >= {name: note[name] for name in ("created_at", "updated_at")}.items()
    again, same = take(api, note)
    assert again["outcome"] == "unchanged"
    assert same == document
    changed, after = take(api, new_note(text="The herons are gone.", tags=["birds"]))
    assert changed["job"]["outcome"] == "updated"
    assert (after["id"], after["text"], after["tags"]) == (1, "The herons are gone.", ["birds"])
    assert after["created_at"] == note["created_at"]


def test_one_that_does_not_say_when_it_was_made_was_made_when_it_was_last_changed(api):
    first, later = "2024-02-01T00:00:00.000000Z", "2024-03-01T00:00:00.000000Z"
    _, document = take(api, new_note(updated_at=first))
    assert (document["created_at"], document["updated_at"]) == (first, first)
    _, document = take(api, new_note(text="They left.", updated_at=later))
    assert (document["created_at"], document["updated_at"]) == (first, later)


def test_a_note_that_was_changed_here_is_not_replaced_unless_forced(api):
    _, document = take(api, new_note())
    api.patch(f"/notes/{document['id']}", {"text": "my own words"})
    assert take(api, new_note())[0]["outcome"] == "unchanged"
    changed = new_note(text="The source has changed, too.")
    answer = api.post("/import", changed)
    assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
    assert api.document(1)["text"] == "my own words"
    _, after = take(api, changed | {"force": True})
    assert after["text"] == "The source has changed, too."
    api.patch("/notes/1", {"text": "my own words"})
    assert take(api, changed | {"force": True})[1]["text"] == "The source has changed, too."


def test_a_file_of_another_program_is_read_by_a_job(api):
    document = {**SOURCE, "key": "files/voles.txt", "title": "Voles", "filename": "voles.txt"}
    taken = deliver(api, document | {"created_at": "2020-01-02T03:04:05.000000Z"}, b"Voles dig.")
    assert taken["outcome"] == "queued"
    api.engine.worker.finish_jobs()
    assert api.document(1)["created_at"] == "2020-01-02T03:04:05.000000Z"
    assert api.document(1)["title"] == "Voles"
    again = deliver(api, document, b"Voles dig.")
    assert (again["outcome"], again["document_id"]) == ("unchanged", 1)
    assert len(originals(api)) == 1


def test_an_imported_note_survives_an_engine_that_dies_before_its_turn(tmp_path, open_api):
    note = new_note(created_at="2020-01-02T03:04:05.000000Z")
    with open_api(tmp_path / "once") as api:
        assert api.post("/import", note).json()["outcome"] == "queued"
    with open_api(tmp_path / "once") as api:
        api.engine.worker.finish_jobs()
        assert api.document(1)["created_at"] == note["created_at"]
        assert api.post("/import", note).json()["outcome"] == "unchanged"


def test_a_check_tells_what_importing_would_come_to_and_changes_nothing(api):
    take(api, new_note("a", text="one"))
    take(api, new_note("b", text="two"))
    take(api, new_note("c", text="three"))
    api.patch("/notes/3", {"text": "changed here"})
    keep = ("source", "key", "digest")
    notes = [
        new_note("a", text="one"),
        new_note("b", text="two and more"),
        new_note("c", text="three and more"),
        new_note("d", text="four"),
    ]
    items = [{name: note[name] for name in keep} for note in notes]
    before = exported(api)
    answer = api.post("/import/check", {"items": items}).json()["items"]
    assert [each["outcome"] for each in answer] == ["unchanged", "updated", "conflict", "new"]
    assert [each["document_id"] for each in answer] == [1, 2, 3, None]
    assert exported(api) == before


@pytest.mark.parametrize(
    "wrong",
    [
        {"passages": [{"seq": 1}]},
        {"doc_type": "poem"},
        {"doc_type": "note", "has_file": True},
        {"uid": "no-uid"},
        {"created_at": "yesterday"},
        {"unknown": 1},
        {"title": "half \ud800"},
    ],
)
def test_a_record_that_does_not_fit_together_is_refused_and_leaves_nothing(api, other, wrong):
    api.add_file(b"Voles dig.")
    there = exported(api)
    record = arriving(there, there["records"][0])
    if "passages" in wrong:
        wrong = {"passages": [{**record["passages"][0], **wrong["passages"][0]}]}
    files = {"document": ("d", json.dumps(record | wrong)), "file": ("f", b"Voles dig.")}
    answer = other.post("/import", files=files)
    assert answer.status_code == 422, answer.text
    assert exported(other)["records"] == []
    assert originals(other) == []


def test_an_export_that_claims_huge_ids_gets_new_ones(api, other):
    api.add_note("otters")
    there = exported(api)
    huge = {"documents": 2**60, "chunks": 2**60, "jobs": 2**60}
    document = arriving(there | {"last_ids": huge}, there["records"][0] | {"id": 2**59})
    assert deliver(other, document)["document_id"] == 1


def test_a_document_whose_passages_are_called_as_those_of_another_gets_new_names(api, other):
    api.add_note("otters")
    there = exported(api)
    bring(other, api)
    twin = arriving(there, there["records"][0]) | {"uid": str(uuid.uuid4()), "jobs": []}
    assert deliver(other, twin)["outcome"] == "added"
    first, second = exported(other)["records"]
    assert first["passages"][0]["uid"] != second["passages"][0]["uid"]
