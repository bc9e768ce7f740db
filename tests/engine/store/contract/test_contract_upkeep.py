"""The store as a whole: totals, originals, facts, doubles, export and import."""

import uuid

import pytest

from kb.engine.errors import Conflict
from kb.engine.records import Passage
from kb.engine.values import Arrival, Filter, Imported


def test_totals_count_what_is_there(store, made):
    made.document("otters", tags=("a", "b"))
    made.add(made.file("herons", "wade", tags=("a",)), "herons", "wade")
    made.job("queued", batch="x")
    made.job("running", batch="y")
    made.job("failed", batch="z")
    store.jobs.take()
    store.jobs.fail(store.jobs.take(), "x", "y")
    totals = store.totals.current()
    assert (totals.documents, totals.notes, totals.chunks, totals.vectors) == (2, 1, 3, 3)
    assert (totals.tags, totals.file_bytes) == (2, 10)
    assert (totals.queued, totals.running, totals.failed) == (1, 1, 1)
    assert store.totals.if_known() == totals == store.totals.read()
    made.document("newts")
    assert store.totals.if_known() is None
    assert store.totals.last_read() == totals
    assert store.totals.current().documents == 3


def test_everything_can_be_taken_away(store, made):
    made.add(made.file("otters", tags=("a",)), "otters")
    made.file_job("waits", stored_name="second")
    cleared, names = store.upkeep.clear()
    assert (cleared.documents_removed, cleared.chunks_removed) == (1, 1)
    assert (cleared.jobs_removed, cleared.bytes_freed) == (1, 6)
    assert sorted(names) == sorted(["o" * 32, "second"])
    totals = store.totals.read()
    assert (totals.documents, totals.chunks, totals.vectors, totals.tags) == (0, 0, 0, 0)
    assert (totals.queued, totals.file_bytes, totals.terms) == (0, 0, 0)
    assert store.documents.listing(Filter(), "created", "asc", 5, 0).total == 0
    assert (made.by_word("otter"), made.nearest("otters")) == ([], [])
    assert (store.documents.tags().tags, store.originals.names()) == ([], set())
    made.document("otters again")
    assert made.by_word("otter") == ["otters again"]


class TestOriginals:
    def test_are_needed_as_long_as_something_names_them(self, store, made):
        file = made.add(made.file("otters", stored_name="of-document"), "otters")
        job = made.file_job("waits", stored_name="of-job")
        assert store.originals.names() == {"of-document", "of-job"}
        assert store.originals.needed(["of-job", "nobody's"]) == {"of-job"}
        store.documents.delete(file.id)
        store.jobs.cancel(job.id)
        assert store.originals.names() == set()
        assert store.originals.given_up() == {"of-document", "of-job"}

    def test_that_were_unlinked_are_forgotten(self, store, made, open_store):
        file = made.add(made.file("otters", stored_name="gone"), "otters")
        store.documents.delete(file.id)
        store.originals.is_gone("gone")
        store.upkeep.tidy()
        store.close()
        assert open_store().originals.given_up() == set()


class TestFacts:
    def test_are_there_after_a_restart(self, store, open_store):
        store.facts.remember("check", "page 7")
        store.facts.remember("check", "page 8")
        store.facts.remember_backup("{}")
        store.jobs.remember_paces({"stored": 0.5})
        name = store.facts.store_id
        store.close()
        again = open_store()
        assert (again.facts.recall("check"), again.facts.recall("else")) == ("page 8", None)
        assert (again.facts.last_backup(), again.facts.store_id) == ("{}", name)
        assert again.jobs.paces() == {"stored": 0.5}

    def test_the_newest_change_is_that_of_any_row(self, store, made):
        assert store.upkeep.newest_change() is None
        first = made.document("otters")
        assert store.upkeep.newest_change() == first.created_at
        second = made.document("herons")
        changed = store.documents.update(first.id, "New", None)
        assert second.created_at < changed.updated_at == store.upkeep.newest_change()
        assert made.job().created_at == store.upkeep.newest_change()


class TestDoubles:
    """A path names one thing; an older kb made a document of it for each set of tags."""

    @pytest.fixture
    def doubled(self, made):
        drafts = [
            made.file(
                text, source_path="/a.txt", tags=(text,), stored_name=text, metadata={text: True}
            )
            for text in ("otters", "herons")
        ]
        return [made.add(draft, draft.stored_name) for draft in drafts]

    def test_are_listed_by_path(self, store, made, doubled):
        made.add(made.file("newts", source_path="/b.txt"), "newts")
        page = store.doubles.listing(5, 0)
        assert page.total == 1
        [group] = page.doubles
        assert (group.source_path, group.keep_id) == ("/a.txt", doubled[0].id)
        assert [document.id for document in group.documents] == [each.id for each in doubled]

    def test_become_one_with_all_tags_and_the_last_content(self, store, made, doubled):
        [group] = store.doubles.listing(5, 0).doubles
        joined, unneeded = store.doubles.join([each.id for each in doubled], group.updated_at)
        assert (joined.document.id, joined.removed) == (doubled[0].id, [doubled[1].id])
        assert unneeded == ["otters"]
        document = store.documents.get(doubled[0].id)
        assert store.totals.read().file_bytes == document.size_bytes == len("herons")
        assert document.tags == ["herons", "otters"]
        assert document.metadata == {"otters": True, "herons": True}
        assert [chunk.text for chunk in document.chunks] == ["herons"]
        assert store.documents.stored_file(document.id)[1] == "herons"
        assert (made.by_word("otter"), made.by_word("heron")) == ([], ["herons"])
        assert store.doubles.listing(5, 0).total == 0
        assert store.totals.read().documents == 1

    def test_are_found_with_and_without_a_filter_once_they_are_one(self, store, made, doubled):
        assert made.by_word("heron", Filter(tags=("otters",))) == []
        store.doubles.join([each.id for each in doubled], None)
        for filter_ in (None, Filter(tags=("otters",)), Filter(tags=("herons",))):
            assert made.by_word("heron", filter_) == made.nearest("x", filter_, 5) == ["herons"]

    @pytest.mark.parametrize(
        ("path", "origins", "groups"),
        [
            ("/b.txt", "aa", [2]),
            ("/b.txt", "ab", []),
            ("/b.txt", "aabb", [2, 2]),
            ("/b.txt", ("a", None), [2]),  # which may be of the same machine
            ("/b.txt", ("a", None, "b"), []),
            ("b.txt", "aa", []),  # a bare name may be that of anything
        ],
    )
    def test_are_of_one_machine(self, store, made, path, origins, groups):
        for origin in origins:
            made.add(made.file("newts", source_path=path, origin=origin), "newts")
        assert [len(each.documents) for each in store.doubles.listing(5, 0).doubles] == groups

    def test_leave_their_jobs_to_the_one_that_is_kept(self, store, made):
        jobs = []
        for text in ("otters", "herons"):
            made.file_job(text, source_path=f"/{text}", stored_name=text)
            taken = store.jobs.take()
            jobs.append(made.finish(taken, text, source_path="/a.txt").job)
        store.doubles.join([job.document_id for job in jobs], None)
        kept = store.documents.get(jobs[0].document_id)
        for job in map(store.jobs.get, (job.id for job in jobs)):
            assert (job.document_id, job.document_uid) == (kept.id, kept.uid)

    def test_that_have_changed_are_not_joined(self, store, doubled):
        [group] = store.doubles.listing(5, 0).doubles
        store.documents.set_tags(doubled[0].id, ["new"])
        with pytest.raises(Conflict):
            store.doubles.join([each.id for each in doubled], group.updated_at)
        with pytest.raises(Conflict):
            store.doubles.join([doubled[0].id], None)

    def test_copies_are_documents_of_several_paths_with_one_content(self, store, made):
        copies = [
            made.add(made.file("otters", source_path=path), "otters") for path in ("/a", "/b")
        ]
        for _ in range(2):  # doubles of one path, which are no copies of each other
            made.add(made.file("herons", source_path="/c"), "herons")
        page = store.doubles.copies(5, 0)
        assert page.total == 1
        assert [each.id for each in page.copies[0].documents] == [each.id for each in copies]


class TestTransfers:
    def put(self, store, made, text, digest, **fields):
        imported = Imported("notion", "page-1", digest)
        arrival = Arrival(digest, imported, **fields)
        draft = made.draft(text, title="Imported", tags=("t",), arrival=arrival)
        uid = str(uuid.uuid5(uuid.NAMESPACE_URL, text))
        return store.transfers.put(draft, [Passage(1, uid, 0, None, None, 0, [], "", text)], [])

    def test_a_document_comes_in_once_and_follows_its_source(self, store, made):
        first = self.put(store, made, "otters", "d1")
        assert first.fate == "new"
        again = self.put(store, made, "otters", "d1")
        assert (again.fate, again.document.id) == ("unchanged", first.document.id)
        changed = self.put(store, made, "herons", "d2")
        assert (changed.fate, changed.document.id) == ("updated", first.document.id)
        assert (made.by_word("otter"), made.by_word("heron")) == ([], ["herons"])

    def test_its_passages_are_called_as_before_and_embedded_later(self, store, made):
        document = self.put(store, made, "otters", "d1").document
        [chunk] = store.documents.get(document.id).chunks
        assert chunk.uid == str(uuid.uuid5(uuid.NAMESPACE_URL, "otters"))
        assert [row.chunk_id for row in store.models.unembedded(5)] == [chunk.id]

    def test_tags_of_who_imports_stay_and_those_of_the_source_follow_it(self, store, made):
        first = self.put(store, made, "otters", "d1", given_tags=("mine",)).document
        assert store.documents.get(first.id).tags == ["t"]
        store.documents.add_tags(first.id, ["mine"])
        after = self.put(store, made, "herons", "d2", force=True).document
        assert after.tags == ["mine", "t"]

    def test_what_was_changed_here_is_left_alone_unless_that_is_wanted(self, store, made):
        first = self.put(store, made, "otters", "d1")
        store.documents.update(first.document.id, "Mine", None)
        arrival = Arrival("d2", Imported("notion", "page-1", "d2"))
        assert [fate for fate, _ in store.transfers.fates([arrival])] == ["conflict"]
        with pytest.raises(Conflict):
            self.put(store, made, "herons", "d2")
        assert store.documents.get(first.document.id).title == "Mine"
        forced = self.put(store, made, "herons", "d2", force=True)
        assert (forced.fate, forced.document.title) == ("updated", "Imported")

    def test_a_record_says_all_that_is_known_of_a_document(self, store, made):
        job = made.ingest("otters swim", tags=("river",), title="Otters")
        record = store.transfers.record(job.document_id)
        assert (record.title, record.tags, record.has_file) == ("Otters", ["river"], False)
        assert [passage.text for passage in record.passages] == ["otters swim"]
        assert [past.id for past in record.jobs] == [job.id]
        assert store.transfers.records(0, 5) == ([record], None)

    def test_records_come_a_few_at_a_time(self, store, made):
        documents = [made.document(text).id for text in ("a", "b", "c")]
        first, after = store.transfers.records(0, 2)
        rest, end = store.transfers.records(after, 2)
        assert [record.id for record in (*first, *rest)] == documents
        assert end is None

    def test_the_greatest_ids_are_those_that_were_given_away(self, store, made):
        made.document("otters", "swim")
        last = made.document("herons")
        store.documents.delete(last.id)
        name, ids = store.transfers.numbering()
        assert name
        assert (ids.documents, ids.chunks, ids.jobs) == (2, 3, 0)
