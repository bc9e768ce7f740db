"""Whose turn it is: batches take turns, and nothing waits for ever."""

import itertools

import pytest

from kb.engine.store.queue import MOST_IN_HAND, SMALL
from kb.engine.values import NewJob

_numbers = itertools.count(1)


@pytest.fixture
def send(store):
    def send(batch, **fields):
        """Queue a job of a batch; its id."""
        content = {"text": "x", "content_hash": f"hash-{next(_numbers)}", "size_bytes": 10}
        job, _ = store.jobs.add(NewJob(**{"kind": "note", "batch": batch, **content, **fields}))
        return job.id

    return send


@pytest.fixture
def take(store):
    def take(count=1, which="next"):
        """Take so many jobs, each done before the next one; their ids."""
        ids = []
        for _ in range(count):
            taken = store.jobs.take(which)
            if taken is None:
                break
            ids.append(taken.id)
            store.jobs.fail(taken, "x", "y")
        return ids

    return take


class TestBatches:
    def test_of_one_sender_go_in_order_of_arrival(self, send, take):
        ids = [send("bulk") for _ in range(10)]
        assert take(11) == ids

    def test_take_turns(self, send, take):
        bulk = [send("bulk") for _ in range(5)]
        assert take() == bulk[:1]
        other = [send("other") for _ in range(3)]
        expected = [bulk[1], other[0], bulk[2], other[1], bulk[3], other[2], bulk[4]]
        assert take(7) == expected

    def test_a_lone_job_stands_behind_one_job_of_a_bulk_import(self, send, take, store):
        bulk = [send("bulk") for _ in range(100)]
        assert store.jobs.take().id == bulk[0]
        lone = send("lone")
        place = store.jobs.places([lone])[lone]
        assert (place.ahead, place.queued) == (2, 1)
        assert take(3) == [bulk[1], lone, bulk[2]]

    def test_a_batch_that_comes_late_does_not_make_up_for_the_time_before(self, send, take):
        bulk = [send("bulk") for _ in range(50)]
        assert take(40) == bulk[:40]
        late = [send("late") for _ in range(50)]
        assert take(6) == [bulk[40], late[0], bulk[41], late[1], bulk[42], late[2]]

    def test_one_that_is_tried_again_waits_for_its_turn(self, send, take, store):
        failed = [send("bulk") for _ in range(20)]
        assert take(20) == failed
        others = [send("others") for _ in range(3)]
        for job_id in failed:
            store.jobs.retry(job_id)
        assert take(4) == [failed[0], others[0], failed[1], others[1]]


class TestOneThing:
    def test_an_older_version_of_a_file_is_not_overtaken_by_a_newer_one(self, send, take):
        bulk = [send("bulk", source_path=f"/{number}") for number in range(5)]
        newer = send("lone", source_path="/3")
        other = send("lone", source_path="/elsewhere")
        assert take(7) == [*bulk[:2], other, *bulk[2:4], newer, bulk[4]]

    def test_nor_is_the_same_content(self, send, take):
        bulk = [send("bulk", content_hash=f"content {number}") for number in range(4)]
        same = send("lone", content_hash="content 2")
        assert take(1, "small") == bulk[:1]
        assert take(4) == [*bulk[1:3], same, bulk[3]]


class TestTheOldest:
    def test_can_be_asked_for_whatever_its_turn(self, send, take):
        bulk = [send("bulk") for _ in range(3)]
        assert take() == bulk[:1]
        lone = [send(f"lone {number}") for number in range(3)]
        assert take(2) == [bulk[1], lone[0]]
        assert take(1, "oldest") == [bulk[2]]
        assert take(2, "oldest") == lone[1:]

    def test_lets_others_pass_while_it_cannot_run(self, send, take, store):
        first = send("bulk", source_path="/a")
        assert store.jobs.take().id == first
        same = send("bulk", source_path="/a")
        other = send("bulk")
        assert take(2, "oldest") == [other]
        assert store.jobs.places([same])[same].ahead == 1


class TestTheSmallPlace:
    def test_is_for_a_job_whose_batch_has_nothing_running(self, send, take, store):
        bulk = [send("bulk") for _ in range(5)]
        assert [store.jobs.take().id for _ in range(3)] == bulk[:3]
        assert take(1, "small") == []
        lone = send("lone")
        assert take(1, "small") == [lone]

    def test_is_not_for_one_that_takes_long(self, send, take, store):
        bulk = [send("bulk") for _ in range(5)]
        assert store.jobs.take().id == bulk[0]
        large = send("large", expected=SMALL + 1)
        picture = send("picture", pictures=True)
        small = send("small", expected=SMALL)
        assert take(2, "small") == [small]
        assert take() == [picture]
        assert take(2) == [bulk[1], large]


class TestPictures:
    def test_are_recognised_for_one_job_at_a_time_and_hold_up_no_text(self, send, take, store):
        scans = [send("scans", pictures=True, expected=40) for _ in range(3)]
        texts = [send("texts") for _ in range(3)]
        scan = store.jobs.take()
        assert scan.id == scans[0]
        assert take(4) == texts
        place = store.jobs.places([scans[2]])[scans[2]]
        assert (place.pictures, place.ahead, place.expected) == (True, 2, 80)
        store.jobs.fail(scan, "x", "y")
        assert take(3) == scans[1:]

    def test_that_turn_up_put_a_job_into_that_line(self, send, take, store):
        known = send("bulk", pictures=True)
        first = store.jobs.take()
        found = [send("bulk") for _ in range(3)]
        for _ in range(2):
            taken = store.jobs.take()
            store.jobs.needs_pictures(taken, 12)
            store.jobs.release(taken)
        assert take(5) == found[2:]
        assert store.jobs.places(found)[found[1]].expected == 24
        store.jobs.fail(first, "x", "y")
        assert take(5) == found[:2]
        assert first.id == known

    def test_of_several_batches_are_in_hand_together_one_job_of_each(self, send, take, store):
        scans = [send("scans", pictures=True, expected=90) for _ in range(3)]
        assert store.jobs.take().id == scans[0]
        lone = send("lone", pictures=True)
        assert store.jobs.take("oldest").id == lone
        assert take() == []
        others = [send(f"batch {number}", pictures=True) for number in range(MOST_IN_HAND)]
        in_hand = [store.jobs.take().id for _ in range(MOST_IN_HAND - 2)]
        assert in_hand == others[: MOST_IN_HAND - 2]
        assert take() == []

    def test_of_a_lone_job_take_turns_with_those_of_a_bulk_import(self, send, take):
        bulk = [send("bulk", pictures=True) for _ in range(9)]
        texts = [send("texts") for _ in range(500)]
        assert take(2) == bulk[:2]
        lone = send("lone", pictures=True)
        assert take(2) == [bulk[2], lone]
        assert len(texts) == 500


class TestPlaces:
    def test_tell_how_many_are_before(self, send, store):
        ids = [send("bulk", expected=number) for number in range(1, 6)]
        assert store.jobs.take().id == ids[0]
        places = store.jobs.places([ids[4], ids[0], ids[2], 999])
        assert {job_id: place.ahead for job_id, place in places.items()} == {
            ids[0]: 0,
            ids[2]: 2,
            ids[4]: 4,
        }
        assert [places[job_id].expected for job_id in (ids[0], ids[2], ids[4])] == [1, 5, 14]

    @pytest.mark.parametrize("pictures", [False, True])
    def test_are_those_of_their_own_line(self, send, store, pictures):
        other, first, second = (
            send(batch, pictures=has)
            for batch, has in zip("abc", (not pictures, pictures, pictures), strict=True)
        )
        assert store.jobs.take("next" if not pictures else "small").id == other
        places = store.jobs.places([first, second])
        assert [places[job].ahead for job in (first, second)] == [0, 1]
        assert {places[job].pictures for job in (first, second)} == {pictures}

    def test_of_what_has_ended_are_none(self, send, take, store):
        job = send("bulk")
        take()
        assert store.jobs.places([job]) == {}
        assert store.jobs.places([]) == {}
