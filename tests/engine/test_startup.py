"""`python -m kb.engine`: alone on its folder, clear about why not, alive on a full disk."""

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys

import httpx
import pytest
from small_disks import fill_up

import holding
from ports import free_port
from programs import WAIT, ended


def environment(folder, **settings):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KB_")}
    values = {"KB_DATA_DIR": str(folder), "KB_EMBEDDER": "hash", **settings}
    return kept | {name: value for name, value in values.items() if value is not None}


ENGINE = [sys.executable, "-m", "kb.engine"]


@contextlib.contextmanager
def running(folder, command=ENGINE, **settings):
    """An engine process, ready to be asked; it is stopped and has ended when this is left."""
    port = free_port()
    process = subprocess.Popen(
        command,
        env=environment(folder, KB_PORT=str(port), **settings),
        stderr=subprocess.PIPE,
        text=True,
        umask=0,
    )
    try:
        said = []
        while "listens on" not in (line := process.stderr.readline()):
            assert line, f"ended with {process.wait()}: {said}"
            said.append(line)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=WAIT) as client:
            client.process, client.said = process, said
            yield client
    finally:
        process.send_signal(signal.SIGTERM)
        said = process.stderr.read()
        assert process.wait(WAIT) == 0
        assert "SIGTERM came: the server stops" in said


def refused(folder, **settings):
    """The one line that an engine says before it exits with 2."""
    done = ended(*ENGINE, env=environment(folder, **settings))
    assert done.returncode == 2, done.stderr
    assert "Traceback" not in done.stderr
    [line] = [line for line in done.stderr.splitlines() if line.startswith("kb: ")]
    return line


def wait_for(client, job):
    """The job when it has ended."""
    with client.stream("GET", "/events") as stream:
        for _ in stream.iter_lines():
            found = client.get(f"/jobs/{job}").json()
            if found["status"] in ("done", "failed"):
                return found
    raise AssertionError("the stream ended before the job")


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("KB_PORT", "http", "KB_PORT=http"),
        ("KB_DATA_DIR", "/dev/null/kb", "Name a folder that can be written"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_in_one_line(tmp_path, setting, value, said):
    assert said in refused(tmp_path / "data", **{setting: value})


@pytest.mark.parametrize(
    ("key", "code", "told"),
    [
        (None, "key_missing", "KB_API_KEY is not set, and with KB_HOST=0.0.0.0"),
        (
            "secret",
            "key_short",
            "KB_API_KEY has fewer than 16 characters, and with KB_HOST=0.0.0.0",
        ),
    ],
)
def test_a_weak_key_where_others_come_is_told_by_log_and_status_or_refused(
    tmp_path, key, code, told
):
    with running(tmp_path, KB_HOST="0.0.0.0", KB_API_KEY=key) as client:
        [warning] = [line for line in client.said if "KB_API_KEY" in line]
        assert json.loads(warning)["level"] == "WARNING"
        assert told in json.loads(warning)["message"]
        client.headers = {"authorization": f"Bearer {key}"}
        health = client.get("/status").json()["health"]
        assert health["status"] == "degraded"
        assert health["issues"] == [{"code": code, "message": json.loads(warning)["message"]}]
    line = refused(tmp_path, KB_HOST="0.0.0.0", KB_API_KEY=key, KB_STRICT="1")
    assert line.startswith(f"kb: KB_STRICT=1 refuses this: {told}")
    assert "kb keygen" in line


def test_a_strict_engine_starts_where_its_key_is_long_or_nobody_else_comes(tmp_path):
    for settings in (
        {"KB_HOST": "0.0.0.0", "KB_API_KEY": "a-key-of-some-length"},
        {"KB_API_KEY": "secret"},
    ):
        with running(tmp_path, KB_STRICT="1", **settings) as client:
            assert not [line for line in client.said if "KB_API_KEY" in line]
            client.headers = {"authorization": f"Bearer {settings['KB_API_KEY']}"}
            assert client.get("/status").json()["health"]["status"] == "healthy"


def test_a_store_that_is_no_database_is_named_in_one_line(tmp_path):
    with running(tmp_path) as client:
        assert client.get("/status").status_code == 200
    store = tmp_path / "store.db"
    store.write_bytes(b"no database at all " * 1000)
    assert str(store) in refused(tmp_path)
    assert store.read_bytes() == b"no database at all " * 1000


@pytest.mark.parametrize("name", ["store-files", "store-incoming"])
def test_a_file_in_the_way_of_a_folder_is_named_in_one_line(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    assert str(tmp_path / name) in refused(tmp_path)


def test_one_engine_per_folder_the_second_names_the_first_and_ends(tmp_path):
    with running(tmp_path) as client:
        line = refused(tmp_path)
        assert f"process {client.process.pid}" in line
        assert str(tmp_path) in line
        assert client.get("/status").status_code == 200
    with running(tmp_path) as client:
        assert client.get("/status").status_code == 200


def test_nobody_else_can_read_the_folder_whatever_the_umask(tmp_path):
    folder = tmp_path / "data"
    with running(folder) as client:
        upload = {"file": ("big.txt", b"Otters swim. " * 200_000)}
        assert client.post("/jobs", files=upload).status_code == 202
        client.post("/jobs", json={"text": "Otters swim."})
        modes = {}
        for path in [folder, *folder.rglob("*")]:
            with contextlib.suppress(FileNotFoundError):  # it is at work, and done with some
                modes[path] = stat.S_IMODE(path.stat().st_mode)
        assert len(modes) > 4
    for path, mode in modes.items():
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_what_an_interrupted_upload_left_is_removed_at_start(tmp_path):
    with running(tmp_path):
        [incoming] = tmp_path.glob("*incoming*")
    (incoming / "tmpabc").write_bytes(b"half an upload")
    with running(tmp_path):
        assert list(incoming.iterdir()) == []


def test_what_was_added_is_there_after_a_restart(tmp_path):
    with running(tmp_path) as client:
        job = client.post("/jobs", json={"text": "Otters swim."}).json()["job_id"]
        ended = wait_for(client, job)
        assert ended["status"] == "done"
    with running(tmp_path) as client:
        hits = client.post("/search", json={"query": "otters"}).json()["results"]
        assert [hit["document_id"] for hit in hits] == [ended["document_id"]]
        assert client.get(f"/jobs/{job}").json()["outcome"] == "added"


def test_a_full_disk_refuses_writes_with_507_goes_on_reading_and_recovers(small_disk):
    with running(small_disk, KB_RESERVE_MB="1") as client:
        job = client.post("/jobs", json={"text": "Otters swim."}).json()["job_id"]
        document = wait_for(client, job)["document_id"]
        filler = fill_up(small_disk)
        refusals = [
            client.post("/jobs", json={"text": "Herons wait. " * 5000}),
            client.post("/jobs", files={"file": ("small.txt", b"Herons wait. " * 1000)}),
            client.post("/jobs", files={"file": ("big.txt", b"Herons wait. " * 200_000)}),
            client.patch(f"/notes/{document}", json={"text": "Herons wait. " * 5000}),
        ]
        assert [(answer.status_code, answer.json()["error"]) for answer in refusals] == [
            (507, "storage_full")
        ] * 4
        for _ in range(20):
            assert client.get(f"/documents/{document}").json()["text"] == "Otters swim."
            hits = client.post("/search", json={"query": "otters"}).json()["results"]
            assert [hit["document_id"] for hit in hits] == [document]
        issues = client.get("/status").json()["health"]["issues"]
        assert [issue["code"] for issue in issues] == ["disk_full"]
        filler.unlink()
        job = client.post("/jobs", json={"text": "Herons wait."}).json()["job_id"]
        assert wait_for(client, job)["status"] == "done"
        answer = client.patch(f"/notes/{document}", json={"text": "Voles hide."})
        assert answer.json()["text"] == "Voles hide."
        assert list(small_disk.glob("*incoming*/*")) == []


def test_a_job_that_meets_a_full_disk_is_done_when_there_is_room_again(small_disk, tmp_path):
    held_by = tmp_path / "held"
    held_by.touch()
    settings = {"KB_RESERVE_MB": "1", holding.WHERE: str(held_by)}
    with running(small_disk, holding.COMMAND, **settings) as client:
        passage = f"Otters swim, {holding.WORD}. " * 60
        text = "\n\n".join(f"Passage {n}. {passage}" for n in range(300))
        with client.stream("GET", "/events") as stream:
            lines = stream.iter_lines()
            next(lines)
            job = client.post("/jobs", json={"text": text}).json()["job_id"]
            while "Generating embeddings" not in next(lines):
                pass
            filler = fill_up(small_disk)
        held_by.unlink()
        assert any("the worker waits" in line for line in client.process.stderr)
        blocked = client.get(f"/jobs/{job}").json()
        assert blocked["status"] in ("queued", "running")
        assert client.get("/documents").json()["total"] == 0
        filler.unlink()
        assert wait_for(client, job)["outcome"] == "added"
