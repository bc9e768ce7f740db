"""A disk without room: what frees some works, what takes some waits, and no restart is needed."""

import pytest
from small_disks import fill_up

WORDS = "Otters swim in the river and sleep on its bank. " * 20


@pytest.fixture
def api(small_disk, open_api):
    """An engine with a reserve of 2 MB on a disk of 8 MB, which is full."""
    with open_api(small_disk / "data", reserve_mb=2) as api:
        for number in range(8):
            api.add_note(f"Note {number}. {WORDS}", tags=["river", "bank"])
        failed = api.add_file(b"\0\1\2" * 1000, "noise.bin")
        assert failed["status"] == "failed"
        queued = api.submit_note("One that waits.")
        api.engine.store.upkeep.tidy()
        fill_up(small_disk)
        api.failed, api.queued = failed["id"], queued["job_id"]
        yield api


def issues(api):
    return [issue["code"] for issue in api.get("/status").json()["health"]["issues"]]


def refusal(answer):
    return answer.status_code, answer.json()["error"]


def reserve_bytes(api):
    return api.get("/status").json()["store"]["reserve_bytes"]


def test_a_full_disk_is_said_and_takes_nothing_in(api):
    assert refusal(api.post("/jobs", {"text": WORDS * 500})) == (507, "storage_full")
    assert refusal(api.patch("/notes/1", {"text": WORDS * 500})) == (507, "storage_full")
    assert issues(api) == ["disk_full"]
    assert reserve_bytes(api) == 2 * 2**20


@pytest.mark.parametrize(
    "free",
    [
        lambda api: api.delete("/documents/1"),
        lambda api: api.delete("/documents/1/tags", {"tags": ["river"]}),
        lambda api: api.delete(f"/jobs/{api.queued}"),
        lambda api: api.delete(f"/jobs/{api.failed}"),
        lambda api: api.delete("/documents", {"confirm": "DELETE ALL"}),
    ],
    ids=["deletion", "tag", "cancel", "failed", "everything"],
)
def test_what_frees_room_works_on_a_full_disk(api, small_disk, free):
    assert free(api).status_code == 200
    fill_up(small_disk)
    assert issues(api) in (["reserve_used"], ["disk_full"])


def test_while_the_reserve_is_lacking_nothing_is_added_and_searches_go_on(api, small_disk):
    assert api.engine.store.health.reserve.give_up()  # as for a deletion
    fill_up(small_disk)
    assert reserve_bytes(api) < 2 * 2**20
    answer = api.post("/jobs", {"text": "A little."})
    assert refusal(answer) == (507, "storage_full")
    assert "KB_RESERVE_MB" in answer.json()["message"]
    assert refusal(api.post("/jobs", files={"file": ("a.txt", b"A little.")}))[0] == 507
    assert api.engine.files.names() == api.engine.store.originals.names()
    assert refusal(api.put("/documents/2/tags", {"tags": ["new"]})) == (507, "storage_full")
    assert issues(api) == ["reserve_used"]
    assert len(api.search("otters")) > 0


def test_deletions_give_back_what_they_took_of_the_reserve(api, small_disk):
    assert api.engine.store.health.reserve.give_up()  # as for a deletion
    with (small_disk / "other").open("wb") as other:  # of which somebody else takes a half
        other.write(bytes(2**19))
    for number in range(1, 4):
        assert api.delete(f"/documents/{number}").status_code == 200
    api.engine.store.upkeep.tidy()
    assert reserve_bytes(api) >= 2**20 + 2**18


def test_a_reserve_that_is_used_up_is_told(api):
    while api.engine.store.health.reserve.give_up():
        pass
    [issue] = api.get("/status").json()["health"]["issues"]
    assert issue["code"] == "reserve_used"
    assert "is used up, so even they may fail" in issue["message"]


def test_as_soon_as_there_is_room_the_reserve_is_made_again_and_all_is_taken(api, small_disk):
    api.delete("/documents/1")
    fill_up(small_disk).unlink()
    assert api.add_note("Herons wait.")["status"] == "done"
    assert reserve_bytes(api) == 2 * 2**20
    assert issues(api) == ["disk_low"]


def test_a_reserve_is_made_again_when_there_is_nothing_to_do(api, small_disk):
    api.delete("/documents/1")
    fill_up(small_disk).unlink()
    api.engine.store.upkeep.tidy()
    assert reserve_bytes(api) == 2 * 2**20


def test_the_engine_starts_reads_and_deletes_on_a_full_disk(small_disk, open_api):
    with open_api(small_disk / "data", reserve_mb=2) as api:
        for number in range(8):
            api.add_note(f"Note {number}. {WORDS}")
    for attempt in range(2):
        filler = fill_up(small_disk)
        with open_api(small_disk / "data", reserve_mb=2) as again:
            assert len(again.search("otters")) > 0
            assert again.document(8)["text"].startswith("Note 7.")
            assert again.delete(f"/documents/{2 + attempt}").status_code == 200
            filler.unlink()
            assert again.add_note(f"Herons wait, {attempt}.")["status"] == "done"


def test_a_deletion_that_needs_more_than_the_reserve_changes_nothing(small_disk, open_api):
    with open_api(small_disk / "data", reserve_mb=1) as api:
        large = api.add_note("\n\n".join(f"Passage {n}. {WORDS}" for n in range(150)))
        small = api.add_note("Herons wait.")
        api.settle()
        fill_up(small_disk)
        answer = api.delete(f"/documents/{large['document_id']}")
        assert refusal(answer) == (507, "storage_full")
        assert "smaller" in answer.json()["message"]
        assert len(api.document(large["document_id"])["chunks"]) == large["chunk_count"]
        assert api.delete(f"/documents/{small['document_id']}").status_code == 200


def test_without_a_reserve_nothing_is_kept_for_deletions(small_disk, open_api):
    with open_api(small_disk / "data", reserve_mb=0) as api:
        assert api.add_note(WORDS)["status"] == "done"
        assert not (small_disk / "data/store-reserve").exists()
        fill_up(small_disk)
        assert issues(api) == ["disk_full"]


def test_room_that_deletions_left_is_given_back_in_small_steps(engine, make_api):
    api = make_api(engine)
    documents = [api.add_note(f"Note {n}. {WORDS * 5}")["document_id"] for n in range(80)]
    api.settle()
    before = engine.store.path.stat().st_size
    for document_id in documents[:70]:
        assert api.delete(f"/documents/{document_id}").status_code == 200
    api.settle()
    assert engine.store.path.stat().st_size > before * 0.9
    steps = 0
    while engine.store.upkeep.shrink():
        steps += 1
    engine.store.upkeep.tidy()
    assert steps > 1
    assert engine.store.path.stat().st_size < before * 0.6
    assert len(api.search("otters")) == 10
