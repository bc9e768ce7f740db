"""Every hostile file, through a real engine: others are served meanwhile, and it stays small."""

import time
from pathlib import Path

import pytest

from ..clients import documents_with
from ..engine_process import PATIENCE, EngineProcess, Zygote, wait_until
from .hostile_files import all_files

FOUND_WITHIN = 15.0  # seconds, on a busy machine: some hostile files take a minute
GROWTH_MB = 50


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_notes_are_found_while_hostile_files_are_read_and_the_engine_stays_small(
    zygote: Zygote, folder: Path
) -> None:
    waits: dict[str, float] = {}
    with EngineProcess(zygote, folder) as engine:
        pid = engine.pid
        engine.upload("warm.html", b"<p>needle</p>", {})
        assert engine.is_idle_within(PATIENCE)
        before = _memory_mb(pid)
        for number, file in enumerate(all_files()):
            content = file.make()
            job = engine.upload(file.name, content, {}).body["job_id"]
            waits[file.name] = _note_takes(engine, f"zqnote{number}")
            wait_until(lambda job=job: _ended(engine, job), 400, f"{file.name} is over")
        grown = _memory_mb(pid) - before
        statuses = engine.get("/api/v1/status").body
        assert engine.pid == pid
        assert not statuses["queue"]["running"]
    slowest = max(waits, key=lambda name: waits[name])
    print(f"{len(waits)} files, the slowest note {waits[slowest]:.2f} s ({slowest}), +{grown} MB")
    assert {name: took for name, took in waits.items() if took > FOUND_WITHIN} == {}
    assert grown < GROWTH_MB


def _note_takes(engine: EngineProcess, word: str) -> float:
    began = time.monotonic()
    engine.send("POST", "/api/v1/jobs", {"text": f"A note about {word}"})
    wait_until(lambda: documents_with(engine, word), PATIENCE, f"{word} is found")
    return time.monotonic() - began


def _ended(engine: EngineProcess, job_id: int) -> bool:
    return engine.get(f"/api/v1/jobs/{job_id}").body["status"] not in ("queued", "running")


def _memory_mb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) // 1024
    raise LookupError(pid)
