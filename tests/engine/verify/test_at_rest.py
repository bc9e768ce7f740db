"""A folder that no engine uses: checked, and put right as far as it can be."""

import json
import os
import sys

import pytest
from damaging import overwrite, replace, verify

from kb.engine.verify import replacing
from programs import ended


@pytest.fixture
def state(open_api, folder):
    """What a caller sees of everything, once the engine has done what was left to do."""

    def state():
        with open_api(folder) as api:
            api.engine.worker.finish_jobs()
            api.engine.renewal.finish()
            api.engine.check.finish()
            assert api.engine.check.result.findings == 0
            documents = [api.document(number) for number in (1, 2, 3)]
            hits = [hit["text"] for hit in api.search("herons in the reeds", top=5)]
            return documents, hits, api.get("/status").json()["counts"]

    return state


def test_a_whole_folder_is_whole_and_left_as_it_is(folder):
    before = (folder / "store.db").read_bytes()
    assert verify(folder).is_whole
    assert (folder / "store.db").read_bytes() == before


@pytest.mark.parametrize(
    "table",
    [
        "sqlite_schema",
        "words_data",
        "chunk_terms",
        "vectors",
        "exact_vectors",
        "totals",
        "documents_by_recency",
        "documents_by_tag",
        "sqlite_autoindex_chunks_2",
        "change_log",
    ],
)
def test_what_can_be_made_again_is_as_it_was(folder, state, table):
    before = state()
    overwrite(folder, table)
    assert not verify(folder).is_whole
    repaired = verify(folder, repair=True)
    assert repaired.is_whole, (repaired.lost, repaired.unproven, repaired.after)
    assert state() == before
    [damaged] = folder.glob("store-damaged-*.db")
    assert str(damaged) == repaired.damaged_database
    assert not (folder / "store-damage.json").exists()


def test_the_text_of_a_file_is_read_again_from_its_original(folder, state):
    before = state()
    overwrite(folder, "chunks", only=-1)
    repaired = verify(folder, repair=True)
    assert any(": read again from" in line for line in repaired.repaired)
    after = state()
    assert after[0][1] == before[0][1]


def test_a_text_is_missing_until_its_original_was_read_again(folder, state, open_api):
    before = state()
    with open_api(folder) as api:  # whose text is on the page of the file's last passages
        assert api.delete("/documents/3").status_code == 200
    overwrite(folder, "chunks", only=-1)
    code, line = program(folder, "--repair")
    [left] = line["answer"]["left"]
    number, job_id = left["document_id"], left["job_id"]
    assert (code, left["kind"]) == (1, "text")
    assert left["what"] == f"Its text is missing, until job {job_id} has read its original again"
    with open_api(folder) as api:
        assert issues(api)[0]["code"] == "texts_missing"
        assert api.delete(f"/jobs/{job_id}").status_code == 200
        assert "kb verify --repair" in issues(api)[0]["message"]
        api.engine.check.finish()
        assert api.engine.store.health.damage is None
    [found] = verify(folder).report.findings
    assert (found.document_id, found.what) == (number, "Its text is missing")
    repaired = verify(folder, repair=True)
    assert f"document {number} is read again" in repaired.repaired
    assert not repaired.is_whole
    after = state()[0][number - 1]["chunks"]
    assert [chunk["text"] for chunk in after] == [
        chunk["text"] for chunk in before[0][number - 1]["chunks"]
    ]
    assert verify(folder).is_whole
    with open_api(folder) as api:
        assert issues(api) == []


def issues(api):
    return api.get("/status").json()["health"]["issues"]


def test_a_note_that_cannot_be_proven_is_kept_and_named(folder, open_api):
    replace(folder, b"Egrets wade.", b"Egrets wake.")
    repaired = verify(folder, repair=True)
    assert not repaired.is_whole
    assert any("Birds" in line for line in repaired.lost)
    [left] = verify(folder).report.findings
    assert (left.kind, left.document_id) == ("text", 3)
    with open_api(folder) as api:
        assert api.document(3)["text"] == "Egrets wake."


def test_a_waiting_note_whose_text_is_lost_is_named_and_does_not_wait_for_ever(folder, open_api):
    with open_api(folder) as api:
        api.submit_note("Bitterns boom.")
    overwrite(folder, "job_texts")
    assert "job 4: the text that was sent with it" in verify(folder, repair=True).lost
    with open_api(folder) as api:
        api.engine.worker.finish_jobs()
        job = api.job(4)
        assert (job["status"], job["error"]["code"]) == ("failed", "store_damaged")
        api.engine.check.finish()
        assert api.engine.check.result.findings == 0


def test_a_note_of_damage_that_is_not_there_goes_with_a_repair(folder, open_engine):
    with open_engine(folder) as engine:
        engine.store.health.note_damage("page 7 is wrong")
    assert not verify(folder).is_whole
    assert verify(folder, repair=True).is_whole
    with open_engine(folder) as engine:
        assert engine.store.health.damage is None


class Killed(BaseException):
    """What a kill is to the code that it hits."""


def test_a_repair_that_is_killed_anywhere_leaves_the_old_or_the_new(folder, state, monkeypatch):
    """At each step of the exchange; whoever comes next goes on."""
    before = state()
    overwrite(folder, "words_data")
    for point in range(1, 9):
        steps = iter(range(1, 100))
        real = replacing.sync

        def sync(path, point=point, steps=steps, real=real):
            if next(steps) == point:
                raise Killed
            real(path)

        monkeypatch.setattr(replacing, "sync", sync)
        try:
            verify(folder, repair=True)
        except Killed:
            monkeypatch.undo()
            continue
        monkeypatch.undo()
        break
    replacing.finish(folder)
    if not verify(folder).is_whole:
        verify(folder, repair=True)
    assert state() == before


def test_status_counts_what_a_repair_and_a_restore_have_left(folder, open_api):
    overwrite(folder, "chunks")
    verify(folder, repair=True)
    [damaged] = folder.glob("store-damaged-*.db")
    (folder / "store-before-restore-1" / "store-files").mkdir(parents=True)
    (folder / "store-before-restore-1" / "store-files" / "one").write_bytes(bytes(500))
    left = sum(path.stat().st_size for path in folder.glob("store-damaged-*")) + 500
    with open_api(folder) as api:
        api.engine.aside.measure()  # which a start does behind the first requests
        store = api.get("/status").json()["store"]
        assert (store["aside_stores"], store["aside_bytes"]) == (2, left)
        damaged.unlink()
        assert api.get("/status").json()["store"]["aside_stores"] == 1


def test_an_index_alone_is_made_again_without_a_new_file(folder, state, open_engine):
    before = state()
    with open_engine(folder) as engine, engine.store.database.transaction() as query:
        query("INSERT INTO words (rowid, body, head) VALUES (1, 'more', '')")
    repaired = verify(folder, repair=True)
    assert repaired.is_whole
    assert repaired.damaged_database is None
    assert state() == before


def program(folder, *options):
    done = ended(sys.executable, "-m", "kb.engine.verify", "--data-dir", folder, *options)
    return done.returncode, json.loads(done.stdout.splitlines()[-1])


def test_as_a_program_it_ends_with_0_or_1(folder):
    code, line = program(folder)
    assert (code, line["answer"]["whole"]) == (0, True)
    overwrite(folder, "totals")
    code, line = program(folder)
    assert (code, line["answer"]["whole"]) == (1, False)


def test_a_folder_that_an_engine_uses_is_refused_by_its_name(folder, open_engine):
    with open_engine(folder):
        code, line = program(folder)
    assert code == 2
    assert f"process {os.getpid()}" in line["message"]


def test_a_folder_without_a_store_is_refused(tmp_path):
    assert program(tmp_path)[1]["error"] == "nothing_to_verify"
    assert list(tmp_path.iterdir()) in ([], [tmp_path / "store.lock"])


def test_a_database_that_cannot_be_opened_is_not_called_damaged(folder):
    before = (folder / "store.db").read_bytes()
    (folder / "store.db-wal").mkdir()
    code, line = program(folder, "--repair")
    assert code == 2
    assert "cannot be opened" in line["message"]
    assert (folder / "store.db").read_bytes() == before


def test_an_id_is_not_used_again_after_a_rebuild_of_a_store_without_documents(folder, open_api):
    with open_api(folder) as api:
        assert api.request("DELETE", "/documents", json={"confirm": "DELETE ALL"}).is_success
        api.settle()
    overwrite(folder, "words_data")
    assert verify(folder, repair=True).damaged_database
    with open_api(folder) as api:
        assert api.add_note("Egrets come back.")["document_id"] == 4
