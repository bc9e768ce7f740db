"""A disk that loses, refuses or fails: what was acknowledged stays, the rest is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import holding

from ..engine_process import PATIENCE, EngineProcess, Zygote, wait_until
from ..store_check import check_store
from .disk import COMPILER, NO_SPACE, SYNC_FAILS, Disk
from .power_loss import PowerLossRun

pytestmark = pytest.mark.skipif(COMPILER is None, reason="a C compiler is needed")

MUTANT_LOSSES = 25


@pytest.fixture(scope="module")
def disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Disk]:
    disk = Disk(tmp_path_factory.mktemp("faults"))
    yield disk
    disk.close()


@pytest.fixture(scope="module")
def zygote(disk: Disk) -> Iterator[Zygote]:
    """One whose engines see that disk."""
    zygote = Zygote(disk.environment)
    yield zygote
    zygote.close()


@pytest.fixture
def folder(disk: Disk, request: pytest.FixtureRequest) -> Iterator[Path]:
    disk.be_well()
    yield disk.below / f"{abs(hash(request.node.name)):x}"
    disk.be_well()


def test_nothing_is_lost_when_the_power_goes(zygote: Zygote, folder: Path, disk: Disk) -> None:
    report = PowerLossRun(zygote, folder, 6, disk).lose_power(losses=3, writes=10)
    assert report.violations == []
    assert report.acknowledged > 10


@pytest.mark.long
@pytest.mark.timeout(900)
def test_nothing_is_lost_in_forty_power_losses(zygote: Zygote, folder: Path, disk: Disk) -> None:
    report = PowerLossRun(zygote, folder, 7, disk).lose_power(losses=40, writes=200)
    print(report.kills, "losses,", report.acknowledged, "writes acknowledged")
    assert report.violations == []
    assert report.acknowledged > 200


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("mutant", "violation"),
    [
        ("commits_are_not_synced", "lost"),
        ("files_are_not_synced", "its file"),
    ],
)
def test_what_is_not_synced_would_be_noticed(
    zygote: Zygote, folder: Path, disk: Disk, mutant: str, violation: str
) -> None:
    plants = (f"reliability.crashes.mutants:{mutant}",)
    run = PowerLossRun(zygote, folder, 8, disk, plants)
    report = run.lose_power(MUTANT_LOSSES, until=violation)
    print(mutant, "noticed after", report.kills, "losses")
    assert any(violation in each for each in report.violations), report.violations


def test_a_full_disk_is_said_and_harms_nothing(zygote: Zygote, folder: Path, disk: Disk) -> None:
    with EngineProcess(zygote, folder) as engine:
        engine.send("POST", "/api/v1/jobs", {"text": "A note about ptarmigans"})
        assert engine.is_idle_within(PATIENCE)
        disk.fail(NO_SPACE)
        refused = [
            engine.send("POST", "/api/v1/jobs", {"text": "Another note"}),
            engine.upload("file.txt", b"Some words in a file", {}),
            engine.send("PATCH", "/api/v1/notes/1", {"text": "A note about hoopoes"}),
            engine.send("PUT", "/api/v1/documents/1/tags", {"tags": ["new"]}),
        ]
        assert [(each.status, each.body["error"]) for each in refused] == [
            (507, "storage_full")
        ] * len(refused)
        assert engine.get("/api/v1/documents/1").body["text"] == "A note about ptarmigans"
        question = {"query": "ptarmigans"}
        assert engine.send("POST", "/api/v1/search", question).body["total"] == 1
        assert engine.get("/readyz").status == 200
        disk.be_well()
        assert engine.send("POST", "/api/v1/jobs", {"text": "Another note"}).status == 202
        assert engine.send("PUT", "/api/v1/documents/1/tags", {"tags": ["new"]}).status == 200
        assert engine.is_idle_within(PATIENCE)
        assert check_store(folder).violations == []
        assert engine.get("/api/v1/documents").body["total"] == 2


def test_a_job_waits_for_a_full_disk_to_have_room_again(
    zygote: Zygote, folder: Path, disk: Disk, tmp_path: Path
) -> None:
    held_by = tmp_path / "held"
    held_by.touch()
    where = {holding.WHERE: str(held_by)}
    with EngineProcess(zygote, folder, ["holding:hold"], where) as engine:
        words = [f"word{number}" for number in range(4_000)]
        content = " ".join([*words, holding.WORD, *words]).encode()
        job_id = engine.upload("long.txt", content, {}).body["job_id"]
        path = f"/api/v1/jobs/{job_id}"
        wait_until(lambda: engine.get(path).body["steps_done"] > 1, PATIENCE, "the job runs")
        disk.fail(NO_SPACE)
        held_by.unlink()
        wait_until(lambda: "the worker waits" in engine.log_text(), PATIENCE, "the disk is full")
        assert engine.get(path).body["status"] in ("queued", "running")
        disk.be_well()
        assert engine.is_idle_within(PATIENCE)
        job = engine.get(path).body
        assert (job["status"], job["attempts"]) == ("done", 1)
        assert check_store(folder).violations == []


def test_after_a_failed_sync_nothing_is_acknowledged_until_a_restart(
    zygote: Zygote, folder: Path, disk: Disk
) -> None:
    """What the system had in memory may be gone after that, so nothing more can be believed."""
    with EngineProcess(zygote, folder) as engine:
        engine.send("POST", "/api/v1/jobs", {"text": "A note about ptarmigans"})
        assert engine.is_idle_within(PATIENCE)
        disk.fail(SYNC_FAILS)
        first = engine.send("POST", "/api/v1/jobs", {"text": "Another note"})
        disk.be_well()
        second = engine.send("POST", "/api/v1/jobs", {"text": "A third note"})
        for answer in (first, second):
            assert (answer.status, answer.body["error"]) == (503, "storage_failed")
        assert engine.get("/readyz").status == 503
        assert engine.send("POST", "/api/v1/search", {"query": "ptarmigans"}).status == 200
    with EngineProcess(zygote, folder) as engine:
        assert engine.is_idle_within(PATIENCE)
        assert engine.get("/api/v1/documents/1").body["text"] == "A note about ptarmigans"
        assert check_store(folder).violations == []


def test_a_start_on_a_full_disk_reads_and_takes_all_as_soon_as_there_is_room(
    zygote: Zygote, folder: Path, disk: Disk
) -> None:
    with EngineProcess(zygote, folder) as engine:
        engine.send("POST", "/api/v1/jobs", {"text": "A note about ptarmigans"})
        assert engine.is_idle_within(PATIENCE)
    (folder / "store-schema.json").unlink()  # which the start would like to write
    disk.fail(NO_SPACE)
    with engine:
        assert engine.get("/api/v1/documents/1").body["text"] == "A note about ptarmigans"
        assert engine.send("POST", "/api/v1/search", {"query": "ptarmigans"}).body["total"] == 1
        assert engine.send("POST", "/api/v1/jobs", {"text": "Another note"}).status == 507
        disk.be_well()
        assert engine.send("POST", "/api/v1/jobs", {"text": "Another note"}).status == 202
        assert engine.is_idle_within(PATIENCE)
        assert check_store(folder).violations == []
