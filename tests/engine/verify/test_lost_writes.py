"""A page without its last write has the checksum of what it was: its rows are old, and named."""

import shutil

import pytest
from damaging import backed_up, lose_writes, pages_of, verify

HERON = b"Herons stand in the reeds and look at the water.\n" * 20


@pytest.fixture
def filled(empty_folder):
    return empty_folder


def test_jobs_that_were_done_are_not_again_and_no_original_goes(folder, open_engine, open_api):
    with open_api(folder) as api:
        for number in range(6):
            api.submit_file(HERON + b"%d" % number, f"heron{number}.txt", source_path=f"/{number}")
    queued = pages_of(folder, "jobs")
    with open_engine(folder) as engine:
        engine.worker.finish_jobs()
        originals = engine.files.names()
    assert len(originals) == 6
    lose_writes(folder, queued)
    repaired = verify(folder, repair=True)
    assert not any("UNIQUE" in line for line in repaired.lost)
    assert [line for line in repaired.unproven if line.startswith("job 1: ")]
    assert verify(folder).is_whole
    with open_api(folder) as api:
        assert {api.job(number)["status"] for number in range(1, 7)} == {"done"}
        assert {api.job(number)["document_id"] for number in range(1, 7)} == set(range(1, 7))
        assert api.engine.files.names() == originals


@pytest.mark.parametrize("end", ["unchanged", "cancelled", "deleted"])
def test_a_file_that_another_row_names_stays_whoever_gives_up(folder, open_engine, open_api, end):
    """As after damage: a job names the original of a document."""
    with open_api(folder) as api:
        api.add_file(HERON, "heron.txt", source_path="/heron.txt")
        api.submit_file(HERON, "heron.txt", source_path="/heron.txt")
        [original] = api.engine.store.database.read("SELECT stored_name FROM documents")[0]
        with api.engine.store.database.transaction() as query:
            query("UPDATE jobs SET stored_name = :name WHERE id = 2", name=original)
        if end == "cancelled":
            assert api.delete("/jobs/2").status_code == 200
        elif end == "deleted":
            assert api.delete("/documents/1").status_code == 200
        if end != "cancelled":
            api.engine.worker.finish_jobs()
            assert api.job(2)["outcome"] == ("added" if end == "deleted" else "unchanged")
        number = api.request("GET", "/documents").json()["documents"][0]["id"]
        assert api.request("GET", f"/documents/{number}/file").content == HERON
        assert original not in api.engine.store.originals.given_up()
    with open_engine(folder) as engine:
        assert original in engine.files.names()


@pytest.mark.parametrize("is_in_backup", [False, True])
def test_a_document_that_lacks_its_last_change_is_named_or_from_the_backup(
    folder, open_api, tmp_path, is_in_backup
):
    with open_api(folder) as api:
        api.add_note("Otters swim.", title="On otters")
    before = pages_of(folder, "documents")
    with open_api(folder) as api:
        change = {"text": "Otters dive.", "title": "On diving"}
        assert api.request("PATCH", "/notes/1", json=change).status_code < 300
        api.engine.worker.finish_jobs()
        changed = api.document(1)
    if is_in_backup:
        backed_up(folder, tmp_path / "backups")
    lose_writes(folder, before)
    repaired = verify(folder, True, tmp_path / "backups" if is_in_backup else None)
    with open_api(folder) as api:
        after = api.document(1)
    if is_in_backup:
        assert repaired.is_whole, repaired
        assert after == changed
    else:
        [line] = repaired.unproven
        assert line.startswith("document 1 (On otters): ")
        assert "may be an older version" in line
        assert (after["text"], after["updated_at"]) == ("Otters dive.", changed["updated_at"])
    assert verify(folder).is_whole


@pytest.fixture
def deleted(folder, open_api, tmp_path):
    """What pages of a table were before a note and a file were deleted, as the backup has them."""
    with open_api(folder) as api:
        for number in range(1, 6):
            api.add_note(f"Otter {number} swims.", title=f"Note {number}")
        api.add_file(HERON, "heron.txt", source_path="/heron.txt")
    backed_up(folder, tmp_path / "backups")
    before = shutil.copytree(folder, tmp_path / "before")
    with open_api(folder) as api:
        assert api.delete("/documents/3").status_code == 200
        assert api.delete("/documents/6").status_code == 200

    def lose(*tables):
        for table in tables:
            old = pages_of(before, table)
            now = pages_of(folder, table)
            lose_writes(folder, {number: old[number] for number in old.keys() & now.keys()})

    return lose


@pytest.mark.parametrize(
    ("tables", "left_out"),
    [
        (["documents_by_recency"], []),
        (["sqlite_autoindex_documents_1"], []),
        (["documents"], ["document 3 (Note 3)", "document 6 (heron)"]),
        (["chunks"], ["passages of document 3", "passages of document 6"]),
    ],
)
def test_what_was_deleted_stays_deleted(folder, open_api, tmp_path, deleted, tables, left_out):
    deleted(*tables)
    repaired = verify(folder, True, tmp_path / "backups")
    assert repaired.lost == []
    assert [line.partition(": left out")[0] for line in repaired.unproven] == left_out
    with open_api(folder) as api:
        documents = api.request("GET", "/documents").json()["documents"]
    assert sorted(document["id"] for document in documents) == [1, 2, 4, 5]
    assert verify(folder).is_whole


def test_what_may_have_been_deleted_is_there_and_named(folder, open_api, deleted):
    deleted("documents", "chunks")
    repaired = verify(folder, True)
    [note, file] = sorted(line for line in repaired.unproven if "may have been deleted" in line)
    assert note == "document 3 (Note 3): it may have been deleted"
    assert file == "document 6 (heron): it may have been deleted"
    with open_api(folder) as api:
        assert api.document(3)["text"] == "Otter 3 swims."
        assert len(api.document(6)["chunks"]) > 0


def test_a_text_that_is_surely_not_the_last_one_is_lost_until_it_is_written_anew(folder, open_api):
    with open_api(folder) as api:
        api.add_note("Otters swim.", title="On otters")
    before = pages_of(folder, "chunks")
    with open_api(folder) as api:
        assert api.request("PATCH", "/notes/1", json={"text": "Otters dive."}).status_code < 300
        api.engine.worker.finish_jobs()
    lose_writes(folder, before)
    [line] = verify(folder, True).lost
    assert line.startswith("document 1 (On otters): its text as it was last")
    [finding] = verify(folder).report.findings
    assert (finding.kind, finding.document_id) == ("text", 1)
    with open_api(folder) as api:
        [issue] = api.request("GET", "/status").json()["health"]["issues"]
        assert (issue["code"], "write it anew" in issue["message"]) == ("texts_missing", True)
        assert api.request("PATCH", "/notes/1", json={"text": "Otters dive."}).status_code < 300
        api.engine.worker.finish_jobs()
    assert verify(folder).is_whole
