"""Rows on a page that cannot be read come back from indexes and from the last backup."""

import shutil
from pathlib import Path

import apsw
import pytest
from damaging import backed_up, overwrite, replace, verify

from kb.engine.backup.shelf import shelves
from kb.engine.store.file.page_checksums import connect


@pytest.fixture
def backups(folder, tmp_path):
    backed_up(folder, tmp_path / "backups")
    return tmp_path / "backups"


@pytest.fixture
def change(folder, open_api):
    """Have something done through the API, and wait until it is."""

    def change(method, path, json=None):
        with open_api(folder) as api:
            assert api.request(method, path, json=json).status_code < 300
            api.engine.worker.finish_jobs()
            api.settle()

    return change


@pytest.fixture
def documents(folder, open_api):
    """Everything that a caller sees of the documents, the names of passages too."""

    def documents():
        with open_api(folder) as api:
            api.engine.worker.finish_jobs()
            return {number: api.document(number) for number in (1, 2, 3)}

    return documents


def texts(documents):
    return {
        number: [chunk["text"] for chunk in document["chunks"]]
        for number, document in documents.items()
    }


def test_a_lost_row_is_that_of_the_backup_if_it_was_not_changed_since(folder, backups, documents):
    before = documents()
    overwrite(folder, "documents")
    repaired = verify(folder, True, backups)
    assert repaired.is_whole, (repaired.lost, repaired.unproven)
    assert any("what is known of document 1" in line for line in repaired.repaired)
    assert documents() == before


def test_what_an_older_backup_has_is_said_to_be_of_that_one(folder, backups, documents):
    before = documents()
    newer = backed_up(folder, backups)
    (newer.folder / "manifest.json").write_text("{")
    overwrite(folder, "documents")
    repaired = verify(folder, True, backups)
    assert documents() == before
    [older] = shelves(backups)[0].kept()
    assert any(f"from the backup of {older.taken_at}" in line for line in repaired.repaired)
    assert str(newer.folder) in repaired.hint


def test_a_backup_of_an_older_kb_tells_all_that_there_was_then(folder, documents, tmp_path):
    before = documents()
    shutil.copytree(folder, tmp_path / "older")
    connection = connect(tmp_path / "older/store.db", apsw.SQLITE_OPEN_READWRITE)
    connection.execute("ALTER TABLE documents DROP COLUMN import_tags")
    connection.execute("PRAGMA user_version = 15")
    connection.close()
    backed_up(tmp_path / "older", tmp_path / "backups")
    replace(folder, b"Of herons", b"Of h#r#ns")
    repaired = verify(folder, True, tmp_path / "backups")
    assert repaired.is_whole, (repaired.lost, repaired.unproven)
    assert documents() == before


def test_one_that_was_changed_since_is_named_and_has_its_text(folder, backups, change, documents):
    change("PATCH", "/notes/1", {"text": "Otters dive.", "title": "On diving"})
    before = documents()
    overwrite(folder, "documents")
    repaired = verify(folder, True, backups)
    [line] = repaired.unproven
    assert line.startswith("document 1 (On otters): ")
    assert "as of the backup of 20" in line
    after = documents()
    assert (after[1]["text"], after[1]["title"]) == ("Otters dive.", "On otters")
    assert after[1]["updated_at"] == before[1]["updated_at"]
    assert (after[2], after[3]) == (before[2], before[3])


def test_one_that_was_deleted_since_stays_deleted(folder, backups, change, documents):
    change("DELETE", "/documents/1")
    overwrite(folder, "documents")
    assert verify(folder, True, backups).is_whole
    assert documents()[1]["error"] == "document_not_found"
    assert documents()[2]["title"] == "Of herons"


def test_one_that_may_have_been_deleted_comes_back_and_is_named(folder, backups, documents):
    """No index tells whether it was there, nor do passages."""
    before = documents()
    indexes = "documents_by_recency", "documents_by_hash", "documents_by_kind"
    for table in ("documents", *indexes, "sqlite_autoindex_documents_1", "chunks"):
        overwrite(folder, table)
    repaired = verify(folder, True, backups)
    for number in (1, 2, 3):
        named = [line for line in repaired.unproven if line.startswith(f"document {number} ")]
        assert "as of the backup of 20" in named[0]
    assert texts(documents()) == texts(before)


def test_without_a_backup_indexes_tell_most_of_it_and_the_rest_is_named(folder, documents):
    before = documents()
    overwrite(folder, "documents")
    repaired = verify(folder, repair=True)
    assert [line.split(":")[0] for line in repaired.lost] == [
        "document 1 (Otters)",
        "document 2 (heron)",
        "document 3 (Egrets wade.)",
    ]
    after = documents()
    unknown = {"title", "metadata", "updated_at", "processing_method", "title_given", "how_read"}
    for number in (1, 2, 3):
        for name in before[number].keys() - unknown:
            assert after[number][name] == before[number][name], name
    assert verify(folder).is_whole


def test_passages_that_are_read_again_keep_their_names(folder, documents):
    before = documents()
    overwrite(folder, "chunks", only=-1)
    repaired = verify(folder, repair=True)
    assert any(": read again from" in line for line in repaired.repaired), repaired
    assert documents()[2] == before[2]


def test_passages_keep_their_names_though_the_pictures_are_read_later(folder, open_api):
    scan = Path(__file__).parents[2] / "fixtures" / "documents" / "scan.pdf"
    with open_api(folder) as api:
        job_id = api.submit_file(scan.read_bytes(), scan.name)["job_id"]
        api.engine.worker.finish_jobs()
        number = api.job(job_id)["document_id"]
        before = api.document(number)
    assert len(before["chunks"]) == 2, before
    overwrite(folder, "page_words")
    verify(folder, repair=True)
    with open_api(folder) as api:
        assert api.document(number)["chunks"] == []
        api.engine.worker.finish_jobs()
        assert api.document(number) == before
        found = api.search(before["chunks"][1]["text"][:60])
        assert found[0]["chunk_id"] == before["chunks"][1]["id"], found
    assert verify(folder).is_whole


def test_the_names_of_tags_stand_in_their_index(folder, documents):
    before = documents()
    overwrite(folder, "tags")
    assert verify(folder, repair=True).is_whole
    assert documents() == before


def test_a_job_that_waits_is_that_of_the_backup(folder, open_api, tmp_path):
    with open_api(folder) as api:
        job_id = api.submit_file(b"Storks clatter.", "stork.txt")["job_id"]
    backed_up(folder, tmp_path / "backups")
    overwrite(folder, "jobs")
    repaired = verify(folder, True, tmp_path / "backups")
    assert repaired.is_whole, repaired
    with open_api(folder) as api:
        api.engine.worker.finish_jobs()
        number = api.job(job_id)["document_id"]
        assert api.document(number)["chunks"][0]["text"] == "Storks clatter."


def test_a_lost_job_that_waited_is_named(folder, open_api):
    with open_api(folder) as api:
        job_id = api.submit_note("Storks clatter.")["job_id"]
    overwrite(folder, "jobs", only=0)
    lost = verify(folder, repair=True).lost
    assert f"job {job_id}, which was queued" in lost


def test_what_the_store_knows_of_itself_is_as_of_the_backup(folder, backups, open_engine):
    with open_engine(folder) as engine:
        before = dict(engine.store.database.read("SELECT name, value FROM facts"))
    overwrite(folder, "facts")
    repaired = verify(folder, True, backups)
    [line] = repaired.unproven
    assert "as of the backup" in line
    with open_engine(folder) as engine:
        after = dict(engine.store.database.read("SELECT name, value FROM facts"))
    assert after["numbering"] == before["numbering"]
    assert after["model"] == before["model"]


@pytest.mark.parametrize("index", ["documents_by_kind", "documents_by_hash"])
def test_an_original_of_which_little_is_known_is_taken_as_it_is(folder, documents, index):
    before = documents()[2]
    for table in ("documents", index, "chunks"):
        overwrite(folder, table, only=-1)
    repaired = verify(folder, repair=True)
    [line] = [line for line in repaired.lost if line.startswith("document 2 (heron): its title")]
    assert ("whether its original is the one" in line) == (index == "documents_by_hash")
    after = documents()[2]
    same = ("text", "doc_type", "format", "size_bytes", "content_hash", "filename")
    assert {name: after[name] for name in same} == {name: before[name] for name in same}
    assert not verify(folder).report.of_kind("original")


def test_a_title_that_nothing_proves_gives_way_to_the_name_of_the_file(folder, documents):
    replace(folder, b"Of herons", b"Of h#r#ns")
    repaired = verify(folder, repair=True)
    [line] = [line for line in repaired.unproven if line.startswith("document 2 ")]
    assert "what is left of its title is `Of h#r#ns`" in line
    assert documents()[2]["title"] == "heron"


@pytest.mark.parametrize("unreadable", [(), ("sqlite_autoindex_page_words_1",)])
def test_a_key_that_cannot_be_is_not_counted_up_to(folder, documents, unreadable):
    """A damaged page may say that its table has a row with any number."""
    before = documents()
    leaf = bytes.fromhex("0d 0000 0001 0fa0 00 0fa0").ljust(4000, b"\0")  # with one cell
    number = bytes.fromhex("8180808080808000")  # 2 ** 49
    row = b"\x05" + number + bytes.fromhex("05 00 08 08 0c")
    overwrite(folder, "page_words", (leaf + row).ljust(4096, b"\0"))
    for index in unreadable:
        overwrite(folder, index)
    assert verify(folder, repair=True).damaged_database
    assert documents() == before
