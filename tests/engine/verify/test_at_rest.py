"""A folder that no engine uses: checked, and put right as far as it can be."""

import json
import os
import subprocess
import sys

import pytest

from kb.engine.folder import DataFolder
from kb.engine.terms import TERMS_VERSION, terms
from kb.engine.verify import replacing
from kb.engine.verify.at_rest import AtRest

NOTE = "# Otters\n\n" + "Otters swim in the river and sleep on their backs. " * 60
FILE = b"Herons stand in the reeds and look at the water.\n" * 40


@pytest.fixture
def folder(open_engine, make_api, tmp_path):
    """A note, a file and their tags, at rest."""
    with open_engine(tmp_path / "data") as engine:
        api = make_api(engine)
        api.add_note(NOTE, tags=["river"])
        api.add_file(FILE, "heron.txt", tags=["reeds"])
        api.add_note("Egrets wade.", title="Birds", tags=["reeds"])
    return tmp_path / "data"


@pytest.fixture
def state(open_engine, make_api, folder):
    """What a caller sees of everything, once the engine has done what was left to do."""

    def state():
        with open_engine(folder) as engine:
            api = make_api(engine)
            engine.worker.finish_jobs()
            engine.renewal.finish()
            engine.check.finish()
            assert engine.check.result.findings == 0
            documents = [api.document(number) for number in (1, 2, 3)]
            for document in documents:
                for chunk in document["chunks"]:
                    chunk.pop("id")
                    chunk.pop("uid")
            hits = [hit["text"] for hit in api.search("herons in the reeds", top=5)]
            return documents, hits, api.get("/status").json()["counts"]

    return state


def verify(folder, repair=False):
    held = DataFolder(folder)
    try:
        return AtRest(held, terms, TERMS_VERSION, lambda _: None).verify(repair)
    finally:
        held.release()


def overwrite(folder, table, with_=b"\x07" * 4096, only=0):
    """Change a page of a table."""
    import apsw

    from kb.engine.store.pages import connect

    connection = connect(folder / "store.db", apsw.SQLITE_OPEN_READWRITE)
    pages = [
        page
        for (page,) in connection.execute(
            "SELECT pageno FROM dbstat WHERE name = ? ORDER BY pageno", (table,)
        )
    ]
    connection.close()
    with open(folder / "store.db", "r+b") as file:
        file.seek((pages[only] - 1) * 4096)
        file.write(with_)


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
    assert any("are read again" in line for line in repaired.repaired)
    after = state()
    assert after[0][1] == before[0][1]


def test_a_note_that_cannot_be_proven_is_kept_and_named(folder, open_engine, make_api):
    data = (folder / "store.db").read_bytes()
    assert data.count(b"Egrets wade.") == 1
    (folder / "store.db").write_bytes(data.replace(b"Egrets wade.", b"Egrets wake."))
    repaired = verify(folder, repair=True)
    assert not repaired.is_whole
    assert any("Birds" in line for line in [*repaired.unproven, *repaired.lost])
    assert verify(folder).is_whole
    with open_engine(folder) as engine:
        assert make_api(engine).document(3)["text"] == "Egrets wake."


def test_a_lost_row_leaves_its_text_and_is_named(folder, open_engine, make_api):
    overwrite(folder, "documents")
    repaired = verify(folder, repair=True)
    assert len([line for line in repaired.lost if "only its text is left" in line]) == 3
    with open_engine(folder) as engine:
        assert make_api(engine).document(1)["text"] == NOTE


def test_a_note_of_damage_that_is_not_there_goes_with_a_repair(folder, open_engine):
    with open_engine(folder) as engine:
        engine.store.note_damage("page 7 is wrong")
    assert not verify(folder).is_whole
    assert verify(folder, repair=True).is_whole
    with open_engine(folder) as engine:
        assert engine.store.damage is None


class Killed(BaseException):
    """What a kill is to the code that it hits."""


def test_a_repair_that_is_killed_anywhere_leaves_the_old_store_or_the_new_one(
    folder, state, monkeypatch
):
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


def test_an_index_alone_is_made_again_without_a_new_file(folder, state, open_engine):
    before = state()
    with open_engine(folder) as engine, engine.store.database.transaction() as query:
        query("INSERT INTO words (rowid, body, head) VALUES (1, 'more', '')")
    repaired = verify(folder, repair=True)
    assert repaired.is_whole
    assert repaired.damaged_database is None
    assert state() == before


def program(folder, *options):
    command = [sys.executable, "-m", "kb.engine.verify", "--data-dir", str(folder), *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return ended.returncode, json.loads(ended.stdout.splitlines()[-1])


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
