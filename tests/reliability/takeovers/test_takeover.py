"""A v2 data folder becomes a v3 one whole, once, and without a byte of v2's being changed."""

import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import apsw
import pytest

from ..engine_process import PATIENCE, EngineProcess, Zygote, wait_until
from ..store_check import copied
from .takeover import DIED
from .v2_folder import (
    DOCUMENTS,
    JOBS,
    LAST_CHUNK_ID,
    LAST_DOCUMENT_ID,
    LAST_JOB_ID,
    WAYS,
    V2Document,
    build_v2,
    contents,
)

SEARCHED = {1: "zebrafinch", 2: "ptarmigans", 3: "kakapo", 4: "hoopoe", 7: "quetzal"}


@pytest.mark.parametrize("way", WAYS)
def test_everything_of_v2_is_there_under_its_id(zygote: Zygote, folder: Path, way: str) -> None:
    build_v2(folder, way)
    with EngineProcess(zygote, folder) as engine:
        assert engine.get("/api/v1/documents").body["total"] == len(DOCUMENTS)
        for document in DOCUMENTS:
            assert_taken_over(engine, document)
        assert {row["tag"]: row["count"] for row in engine.get("/api/v1/tags").body["tags"]} == {
            "agent:mybot": 1,
            "collection:documents": 1,
            "collection:memory": 1,
            "work": 2,
            "überblick": 1,
        }


def test_a_missing_original_of_v2_is_named_and_counted(zygote: Zygote, folder: Path) -> None:
    build_v2(folder, "closed")
    lost = [each for each in DOCUMENTS if each.stored_path and each.original is None]
    with EngineProcess(zygote, folder) as engine:
        lines = engine.log_text()
        for document in lost:
            assert f"document {document.id} of v2: its original {document.stored_path} is" in lines
        told = f"took over {len(DOCUMENTS)} documents of v2; originals missing: {len(lost)}"
        assert told in lines
        assert "README.md is not" not in lines


def assert_taken_over(engine: EngineProcess, document: V2Document) -> None:
    there = engine.get(f"/api/v1/documents/{document.id}").body
    assert (there["title"], there["doc_type"]) == (document.title, document.doc_type)
    assert there["format"] == (document.format or "note")
    assert there["source_path"] == document.source_path
    assert there["content_hash"] == document.content_hash
    assert (there["created_at"], there["updated_at"]) == (document.time, None)
    assert there["tags"] == sorted(document.tags)
    chunks = [
        (chunk["id"], chunk["seq"], chunk["text"], chunk["page"]) for chunk in there["chunks"]
    ]
    assert chunks == [
        (chunk.id, seq, chunk.text, chunk.page) for seq, chunk in enumerate(document.chunks)
    ]
    original = engine.get(f"/api/v1/documents/{document.id}/file")
    if document.original is None:
        assert (original.status, original.body["error"]) == (404, "file_not_stored")
    else:
        assert (original.status, original.body) == (200, document.original)


def test_what_v2_called_otherwise_is_of_a_kind_that_there_is(zygote: Zygote, folder: Path) -> None:
    build_v2(folder, "closed")
    called = {2: "Document", 3: "MD", 4: "sonstiges", 7: "webpage"}
    connection = apsw.Connection(str(folder / "kb.db"))
    for number, name in called.items():
        connection.execute("UPDATE documents SET doc_type = ? WHERE id = ?", (name, number))
    connection.close()
    with EngineProcess(zygote, folder) as engine:
        listed = engine.get("/api/v1/documents").body["documents"]
        kinds = {document["id"]: document["doc_type"] for document in listed}
        assert kinds == {1: "note", 2: "pdf", 3: "markdown", 4: "text", 7: "html"}
        assert engine.get("/api/v1/documents?doc_type=text").body["total"] == 1


def test_jobs_of_v2_are_there_and_what_was_unfinished_says_so(zygote: Zygote, folder: Path) -> None:
    build_v2(folder, "closed")
    with EngineProcess(zygote, folder) as engine:
        jobs = {job["id"]: job for job in engine.get("/api/v1/jobs").body["jobs"]}
    assert set(jobs) == {job.id for job in JOBS}
    assert [jobs[number]["status"] for number in (1, 2, 3, 4)] == ["done", *["failed"] * 3]
    assert (jobs[1]["document_id"], jobs[1]["filename"]) == (2, "report.pdf")
    assert jobs[1]["outcome"] == "added"
    assert jobs[1]["created_at"] == "2026-02-03T10:00:00.000000Z"
    assert jobs[1]["finished_at"] == "2026-02-03T10:00:09.000000Z"
    assert jobs[2]["error"]["message"] == "the file is encrypted"
    assert {jobs[number]["error"]["code"] for number in (2, 3, 4)} == {"failed_before_upgrade"}


def test_words_are_found_at_once_and_vectors_come_later(zygote: Zygote, folder: Path) -> None:
    build_v2(folder, "closed")
    with EngineProcess(zygote, folder) as engine:
        for document_id, word in SEARCHED.items():
            question = {"query": word, "fts_only": True}
            hits = engine.send("POST", "/api/v1/search", question).body["results"]
            assert {hit["document_id"] for hit in hits} == {document_id}
        assert engine.is_idle_within(PATIENCE)
        assert engine.get("/api/v1/status").body["counts"]["vectors_missing"] == 0
        question = {"query": "How to feed a kakapo.", "vec_only": True}
        hits = engine.send("POST", "/api/v1/search", question).body["results"]
        assert hits[0]["document_id"] == 3


def test_no_id_that_v2_ever_used_is_given_away_again(zygote: Zygote, folder: Path) -> None:
    build_v2(folder, "closed")
    with EngineProcess(zygote, folder) as engine:
        job_id = engine.send("POST", "/api/v1/jobs", {"text": "the first of v3"}).body["job_id"]
        assert job_id > LAST_JOB_ID
        job = wait_until(lambda: _done(engine, job_id), PATIENCE, "the note is in")
        assert job["document_id"] > LAST_DOCUMENT_ID
        document = engine.get(f"/api/v1/documents/{job['document_id']}").body
        assert document["chunks"][0]["id"] > LAST_CHUNK_ID


def _done(engine: EngineProcess, job_id: int) -> Any:
    job = engine.get(f"/api/v1/jobs/{job_id}").body
    return job if job["status"] == "done" else None


@pytest.mark.parametrize("way", WAYS)
def test_not_a_byte_of_v2_changes_and_a_second_start_changes_nothing(
    zygote: Zygote, folder: Path, way: str
) -> None:
    build_v2(folder, way)
    before = contents(folder)
    with EngineProcess(zygote, folder) as engine:
        assert engine.is_idle_within(PATIENCE)
    assert contents(folder) == before
    first = dump(folder), names(folder)
    with EngineProcess(zygote, folder) as engine:
        assert engine.is_idle_within(PATIENCE)
    assert contents(folder) == before
    assert (dump(folder), names(folder)) == first


def test_what_is_deleted_in_v3_stays_in_v2(zygote: Zygote, folder: Path) -> None:
    build_v2(folder, "closed")
    before = contents(folder)
    with EngineProcess(zygote, folder) as engine:
        for document in DOCUMENTS:
            assert engine.request("DELETE", f"/api/v1/documents/{document.id}").status == 200
    with EngineProcess(zygote, folder) as engine:
        assert engine.get("/api/v1/documents").body["total"] == 0
    assert contents(folder) == before


def test_a_killed_takeover_is_finished_by_the_next_start(zygote: Zygote, tmp_path: Path) -> None:
    assert_survives_every_kill(zygote, tmp_path, every=11)


@pytest.mark.long
@pytest.mark.timeout(900)
def test_whatever_step_is_killed_the_next_start_ends_it(zygote: Zygote, tmp_path: Path) -> None:
    assert_survives_every_kill(zygote, tmp_path, every=1)


def assert_survives_every_kill(zygote: Zygote, tmp_path: Path, every: int) -> None:
    template = tmp_path / "template"
    build_v2(template, "log")
    steps = _steps_of_a_whole_takeover(zygote, template, tmp_path / "whole")
    expected = dump(tmp_path / "whole")
    points = interesting(steps)[::every]
    print(f"{len(points)} of {len(steps)} steps: {sorted({steps[point] for point in points})}")
    for point in points:
        folder = tmp_path / f"killed-{point}"
        shutil.copytree(template, folder)
        before = contents(folder)
        assert _run(zygote, folder, "start_and_die", point, str(tmp_path / "steps")) == DIED
        assert contents(folder) == before, steps[point]
        assert _run(zygote, folder, "start_and_close") == 0
        assert dump(folder) == expected, steps[point]
        assert contents(folder) == before, steps[point]
        assert_no_leftovers(folder)
        shutil.rmtree(folder)


def interesting(steps: list[str]) -> list[int]:
    """Every step that can change the disk, and of the statements between them every seventh."""
    inner = ("sql SELECT", "sql INSERT", "sql UPDATE", "sql DELETE", "sql CREATE", "sql PRAGMA")
    return [n for n, step in enumerate(steps) if step not in inner or n % 7 == 0]


def _steps_of_a_whole_takeover(zygote: Zygote, template: Path, folder: Path) -> list[str]:
    shutil.copytree(template, folder)
    steps = folder.with_name("steps-of-whole")
    assert _run(zygote, folder, "start_and_die", None, str(steps)) == 0
    return steps.read_text("utf-8").splitlines()


def _run(zygote: Zygote, folder: Path, function: str, *arguments: Any) -> int | None:
    run = f"reliability.takeovers.takeover:{function}"
    log = folder.with_name("takeover.log")
    pid = zygote.fork(log, {}, run=run, arguments=[str(folder), *arguments])
    return zygote.wait(pid, PATIENCE)


def dump(folder: Path) -> dict[str, list[Any]]:
    """Everything in a store that two takeovers of the same folder must agree on."""
    copy = copied(folder / "store.db")
    tables = {
        "documents": "id, title, filename, doc_type, format, source_path, content_hash, "
        "size_bytes, metadata, processing_method, stored_name, chunk_count, created_at, updated_at",
        "chunks": "id, document_id, seq, text, page, location, start, headings, table_header",
        "chunk_terms": "chunk_id, body, head",
        "tags": "name",
        "document_tags": "document_id, (SELECT name FROM tags WHERE id = tag_id)",
        "jobs": "id, status, kind, filename, outcome, document_id, chunk_count, error_code, "
        "error_message, created_at, started_at, finished_at, attempts",
        "totals": "name, iif(name = 'commits', 0, value)",
        "facts": "name",
        "sqlite_sequence": "name, iif(name = 'change_log', 0, seq)",
    }
    rows = {
        table: [_with_content(folder, row) for row in copy.execute(_select(table, columns))]
        for table, columns in tables.items()
    }
    copy.close()
    return rows


def _select(table: str, columns: str) -> str:
    return (
        f"SELECT {columns} FROM {table} ORDER BY 1, 2"
        if "," in columns
        else (f"SELECT {columns} FROM {table} ORDER BY 1")
    )


def _with_content(folder: Path, row: Any) -> Any:
    """A stored file by what is in it: its name is a new one each time."""
    files = folder / "store-files"
    return tuple(
        hashlib.sha256((files / value).read_bytes()).hexdigest()
        if isinstance(value, str) and len(value) == 32 and (files / value).exists()
        else value
        for value in row
    )


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def assert_no_leftovers(folder: Path) -> None:
    copy = copied(folder / "store.db")
    needed = {name for (name,) in copy.execute("SELECT stored_name FROM documents") if name}
    copy.close()
    assert set(os.listdir(folder / "store-files")) == needed | {"store-stamp"}
    assert {path.name for path in folder.glob("store*")} <= {
        "store",  # v2's own
        "store.db",
        "store.db-wal",
        "store.db-shm",
        "store.lock",
        "store-files",
        "store-incoming",
        "store-lost",
        "store-reserve",
        "store-schema.json",
        "store-pictures",
    }


def _version(number: int) -> bytes:
    connection = apsw.Connection(":memory:")
    connection.execute(f"PRAGMA user_version = {number}; CREATE TABLE documents (id)")
    return connection.serialize("main")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(_version(1), id="version 1"),
        pytest.param(_version(3), id="version 3"),
        pytest.param(_version(2), id="version 2 with other tables"),
        pytest.param(b"", id="empty"),
        pytest.param(b"no database at all" * 500, id="garbage"),
    ],
)
def test_what_is_not_a_v2_database_is_refused_in_one_line_and_left_alone(
    zygote: Zygote, folder: Path, content: bytes
) -> None:
    folder.mkdir()
    (folder / "kb.db").write_bytes(content)
    assert_refused(zygote, folder)
    (folder / "kb.db").unlink()
    with EngineProcess(zygote, folder) as engine:
        assert engine.get("/api/v1/documents").body["total"] == 0


def test_a_damaged_v2_database_is_refused_and_left_alone(zygote: Zygote, folder: Path) -> None:
    build_v2(folder, "closed")
    with (folder / "kb.db").open("r+b") as file:
        file.seek(2 * 4096)
        file.write(b"\xff" * 4096)
    assert_refused(zygote, folder)


def test_a_v2_database_beside_documents_of_v3_is_refused(zygote: Zygote, folder: Path) -> None:
    with EngineProcess(zygote, folder) as engine:
        engine.send("POST", "/api/v1/jobs", {"text": "a note of v3"})
        assert engine.is_idle_within(PATIENCE)
    build_v2(folder.with_name("old"), "closed")
    shutil.copyfile(folder.with_name("old") / "kb.db", folder / "kb.db")
    assert_refused(zygote, folder)
    (folder / "kb.db").unlink()
    with EngineProcess(zygote, folder) as engine:
        assert engine.get("/api/v1/documents").body["total"] == 1


def assert_refused(zygote: Zygote, folder: Path) -> None:
    before = contents(folder)
    engine = EngineProcess(zygote, folder)
    engine.launch()
    assert engine.exit_code() == 2
    [line] = [line for line in engine.log_text().splitlines() if not line.startswith("{")]
    assert line.startswith("kb: ")
    assert "kb.db" in line
    assert contents(folder) == before
