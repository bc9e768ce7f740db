"""Documents: what goes in comes out, is listed, changed and deleted as a whole."""

import pytest

from kb.engine.errors import Conflict, DocumentNotFound, FileNotStored
from kb.engine.pages import Box, PlacedWord
from kb.engine.store.rows.page_words import pack
from kb.engine.values import Chunk, Filter, HowRead, TagChange


def listed(store, filter_=None, sort="created", order="asc", limit=50, offset=0):
    page = store.documents.listing(filter_ or Filter(), sort, order, limit, offset)
    return [document.id for document in page.documents]


class TestAdded:
    def test_a_document_is_given_back_as_it_was_added(self, store, made):
        draft = made.file(
            "otters",
            title="Otters",
            filename="otters.pdf",
            doc_type="pdf",
            format="pdf",
            source_path="/papers/otters.pdf",
            tags=("river", "animal"),
            metadata={"year": 1990, "of": ["a", None]},
            processing_method="ocr",
            how_read=HowRead("pdf", pages=2, words=7, share=0.5, warnings=("page 2 is missing",)),
            origin="laptop",
        )
        passages = [
            Chunk("Otters swim.", 0, page=1, headings=("Animals", "Otters")),
            Chunk("They fish.", 1, page=2, location="p. 2", start=12, table_header="a | b"),
        ]
        added = store.documents.add(draft, passages, made.vectors_of(passages))
        found = store.documents.get(added.id)
        for name in ("title", "filename", "doc_type", "format", "source_path", "origin"):
            assert getattr(found, name) == getattr(draft, name)
        for name in ("metadata", "content_hash", "size_bytes", "processing_method", "how_read"):
            assert getattr(found, name) == getattr(draft, name)
        assert found.tags == ["animal", "river"]
        assert (found.chunk_count, found.updated_at) == (2, None)
        assert [
            Chunk(c.text, c.seq, c.page, c.location, c.start, tuple(c.headings), c.table_header)
            for c in found.chunks
        ] == passages

    def test_it_is_known_by_its_uid_too(self, store, made):
        first, second = made.document("otters"), made.document("herons")
        assert store.documents.get(second.uid).id == second.id
        assert store.documents.id_of(first.uid) == first.id

    def test_the_text_of_a_note_is_its_passages_joined(self, store, made):
        note = made.document("Otters swim. ", "They fish.")
        assert store.documents.get(note.id).text == "Otters swim. They fish."
        assert store.documents.get(note.id, chunks=False).chunks == []

    def test_what_is_not_there_is_refused_by_name(self, store):
        for key in (7, "no-such-uid"):
            with pytest.raises(DocumentNotFound):
                store.documents.get(key)

    def test_a_document_is_stored_whole_or_not_at_all(self, store, made):
        kept = made.document("otters")
        passages = [Chunk("herons", 0), Chunk("newts", 1)]
        with pytest.raises(ValueError, match="zip"):
            store.documents.add(
                made.draft("x", tags=("late",)), passages, made.vectors_of(passages[:1])
            )
        assert listed(store) == [kept.id]
        assert made.by_word("heron") == made.by_word("newt") == []
        assert store.documents.tags().tags == []
        totals = store.totals.read()
        assert (totals.documents, totals.chunks, totals.vectors) == (1, 1, 1)

    def test_everything_is_there_after_a_restart(self, open_store, store, made):
        document = made.document("otters swim", tags=("river",))
        before = store.documents.get(document.id)
        store.close()
        again = open_store()
        assert again.documents.get(document.id) == before
        with again.look(Filter(tags=("river",))) as look:
            assert look.texts(look.by_words(["otter"], [1], 5)) == ["otters swim"]

    def test_a_passage_is_handed_out_with_its_own_document_only(self, store, made):
        first, second = made.document("otters"), made.document("herons")
        [chunk] = store.documents.get(first.id).chunks
        assert store.documents.passage(first.id, chunk.id) == "otters"
        assert store.documents.passage(second.id, chunk.id) == ""

    def test_the_original_of_a_file_is_named_and_a_note_has_none(self, store, made):
        file, note = made.add(made.file("otters"), "otters"), made.document("herons")
        assert store.documents.stored_file(file.id)[1] == "o" * 32
        with pytest.raises(FileNotStored):
            store.documents.stored_file(note.id)

    def test_words_that_were_recognised_stand_where_they_stood(self, store, made):
        words = [PlacedWord("Otters", Box(0.25, 0.5, 0.75, 1.0))]
        scan = made.add(made.file("otters", words={3: pack(words)}), "otters")
        [word] = store.documents.placed_words(scan.id, 3)
        assert word.text == "Otters"
        assert word.box.left == pytest.approx(0.25, abs=1e-4)
        assert store.documents.placed_words(scan.id, 2) == []


class TestListed:
    @pytest.fixture
    def three(self, made):
        """A long one, a short one, one of middling length; by title in another order."""
        return [
            made.document("otters " * 9, title="b"),
            made.document("otters", title="C", filename="a"),
            made.document("otters " * 3, title="a", filename="Z"),
        ]

    @pytest.mark.parametrize(
        ("sort", "order"),
        [
            ("created", [0, 1, 2]),
            ("title", [2, 0, 1]),
            ("filename", [1, 0, 2]),  # one without is called by its title
            ("size", [1, 2, 0]),
        ],
    )
    def test_in_the_order_that_was_asked_for(self, store, three, sort, order):
        wanted = [three[number].id for number in order]
        assert listed(store, sort=sort) == wanted
        assert listed(store, sort=sort, order="desc") == wanted[::-1]

    def test_by_their_last_change(self, store, made, three):
        store.documents.update(three[0].id, "b", None)
        last = made.document("otters were never changed")
        wanted = [three[1].id, three[2].id, three[0].id, last.id]
        assert listed(store, sort="updated") == wanted
        assert listed(store, sort="updated", order="desc") == wanted[::-1]

    def test_a_part_at_a_time_with_how_many_there_are(self, store, three):
        page = store.documents.listing(Filter(), "created", "asc", 1, 1)
        assert [document.id for document in page.documents] == [three[1].id]
        assert (page.total, page.limit, page.offset) == (3, 1, 1)

    def test_with_their_tags(self, store, made):
        made.document("otters", tags=("river", "animal"))
        [found] = store.documents.listing(Filter(), "created", "asc", 5, 0).documents
        assert found.tags == ["animal", "river"]


class TestFiltered:
    """A filter lets the same documents through wherever it is used."""

    @pytest.fixture
    def ids(self, made):
        warned = HowRead("pdf", warnings=("a page is missing",))
        drafts = {
            "note": made.draft("otters note", tags=("river",)),
            "pdf": made.file(
                "otters pdf",
                doc_type="pdf",
                format="pdf",
                source_path="/papers/a.pdf",
                tags=("river", "paper"),
                how_read=warned,
            ),
            "text": made.file("otters text", source_path="/papers2/b.txt", tags=("paper",)),
        }
        return {name: made.add(draft, f"otters {name}").id for name, draft in drafts.items()}

    @pytest.mark.parametrize(
        ("filter_", "wanted"),
        [
            (Filter(), "note pdf text"),
            (Filter(tags=("river",)), "note pdf"),
            (Filter(tags=("river", "paper")), "pdf"),
            (Filter(tags=("nobody's",)), ""),
            (Filter(without_tags=("river",)), "text"),
            (Filter(tags=("paper",), without_tags=("river",)), "text"),
            (Filter(doc_types=("note", "text")), "note text"),
            (Filter(formats=("pdf",)), "pdf"),
            (Filter(source_path="/papers/a.pdf"), "pdf"),
            (Filter(path_prefix="/papers/"), "pdf"),
            (Filter(path_prefix="/papers"), "pdf text"),
            (Filter(created_after="2000-01-01T00:00:00.000000Z"), "note pdf text"),
            (Filter(created_before="2000-01-01T00:00:00.000000Z"), ""),
            (Filter(warnings=True), "pdf"),
            (Filter(warnings=False), "note text"),
        ],
    )
    def test_by_what_is_known_of_them(self, store, made, ids, filter_, wanted):
        names = wanted.split()
        assert listed(store, filter_) == [ids[name] for name in names]
        assert sorted(made.by_word("otter", filter_)) == [f"otters {name}" for name in names]
        assert sorted(made.nearest("otters", filter_, 5)) == [f"otters {name}" for name in names]

    def test_they_are_counted_by_type_and_tag(self, store, ids):
        counted = store.documents.statistics(Filter(tags=("paper",)))
        assert {each.doc_type: (each.documents, each.chunks) for each in counted.types} == {
            "pdf": (1, 1),
            "text": (1, 1),
        }
        assert {each.tag: each.count for each in counted.tags} == {"paper": 2, "river": 1}
        assert [day.documents for day in counted.days] == [2]


class TestChanged:
    def test_only_what_was_given_changes_and_the_time_says_so(self, store, made):
        before = made.document("otters", title="Old", metadata={"a": 1}, tags=("river",))
        after = store.documents.update(before.id, "New", None)
        assert (after.title, after.metadata, after.tags) == ("New", {"a": 1}, ["river"])
        assert after.created_at == before.created_at
        assert after.updated_at is not None
        assert store.documents.update(before.id, None, {"b": 2}).metadata == {"b": 2}

    def test_what_is_as_wanted_already_is_no_change(self, store, made):
        note = made.document("otters", tags=("river",))
        for tags in (TagChange(), TagChange(frozenset({"river"}), frozenset({"lake"}))):
            assert store.documents.update(note.id, None, None, tags=tags).updated_at is None

    def test_a_title_is_found_by_its_words_and_the_old_one_no_more(self, store, made):
        document = made.document("they swim", title="Otters")
        assert made.by_word("otter") == ["they swim"]
        store.documents.update(document.id, "Herons", None)
        assert made.by_word("otter") == []
        assert made.by_word("heron") == ["they swim"]

    def test_tags_come_and_go_with_the_rest_of_a_change(self, store, made):
        document = made.document("otters", tags=("old", "kept"))
        change = TagChange(frozenset({"new"}), frozenset({"old"}))
        after = store.documents.update(document.id, "Title", None, tags=change)
        assert after.tags == ["kept", "new"]

    def test_a_text_is_replaced_as_a_whole(self, store, made):
        before = made.document("otters swim", "and fish", title="Old")
        passages = [Chunk("herons wade", 0)]
        after = store.documents.replace_text(
            before.id, "herons wade", "new-hash", passages, made.vectors_of(passages), "New"
        )
        assert (after.id, after.created_at) == (before.id, before.created_at)
        assert (after.text, after.title, after.content_hash) == ("herons wade", "New", "new-hash")
        assert (after.chunk_count, after.size_bytes) == (1, 11)
        assert made.by_word("otter") == made.by_word("fish") == []
        assert made.by_word("heron") == made.nearest("herons wade") == ["herons wade"]
        assert made.nearest("otters swim", limit=5) == ["herons wade"]

    def test_a_text_is_replaced_whole_or_not_at_all(self, store, made):
        note = made.document("otters", tags=("old",))
        before = store.documents.get(note.id)
        two, tags = [Chunk("herons", 0), Chunk("newts", 1)], TagChange(frozenset({"new"}))
        with pytest.raises(ValueError, match="zip"):
            store.documents.replace_text(
                note.id, "herons newts", "h", two, made.vectors_of(two[:1]), "New", tags=tags
            )
        assert store.documents.get(note.id) == before
        assert made.by_word("otter") == made.nearest("herons", limit=5) == ["otters"]
        assert made.by_word("heron") == made.by_word("newt") == []
        totals = store.totals.read()
        assert (totals.documents, totals.chunks, totals.vectors, totals.tags) == (1, 1, 1, 1)

    def test_nothing_changes_for_who_has_not_seen_the_last_change(self, store, made):
        before = made.document("otters")
        changed = store.documents.update(before.id, "Seen", None, before.created_at)
        passages = [Chunk("herons", 0)]
        new = before.id, "herons", "h", passages, made.vectors_of(passages), None
        with pytest.raises(Conflict):
            store.documents.update(before.id, "Mine", None, before.created_at)
        with pytest.raises(Conflict):
            store.documents.replace_text(*new, before.created_at)
        found = store.documents.get(before.id)
        assert (found.title, found.text) == ("Seen", "otters")
        assert store.documents.replace_text(*new, changed.updated_at).text == "herons"


class TestDeleted:
    @pytest.mark.parametrize("passages", [2, 40])
    def test_nothing_of_a_document_is_left(self, store, made, passages):
        texts = [f"otters swim {number}" for number in range(passages)]
        kept = made.document("otters stay", tags=("kept",))
        gone = made.add(made.file(*texts, tags=("gone",)), *texts)
        deleted, name = store.documents.delete(gone.id)
        assert (deleted.document_id, deleted.chunks_removed) == (gone.id, passages)
        assert name == "o" * 32
        with pytest.raises(DocumentNotFound):
            store.documents.get(gone.id)
        assert listed(store) == [kept.id]
        for _ in range(2):
            assert made.by_word("otter") == ["otters stay"]
            assert made.nearest("otters swim 1", limit=5) == ["otters stay"]
            assert [each.tag for each in store.documents.tags().tags] == ["kept"]
            while store.upkeep.forget_words():
                pass
        with store.look() as look:  # a common word counts for less
            assert look.statistics(["swim", "stay"], []).term_counts == [0, 1]
        totals = store.totals.read()
        assert (totals.documents, totals.chunks, totals.vectors, totals.file_bytes) == (1, 1, 1, 0)

    def test_what_is_not_there_cannot_be_deleted(self, store):
        with pytest.raises(DocumentNotFound):
            store.documents.delete(7)


class TestTags:
    def test_are_set_added_and_removed(self, store, made):
        document = made.document("otters", tags=("a",))
        assert store.documents.add_tags(document.id, ["b", "a"]).tags == ["a", "b"]
        assert store.documents.remove_tags(document.id, ["a", "none"]).tags == ["b"]
        assert store.documents.set_tags(document.id, ["c", "d"]).tags == ["c", "d"]
        assert store.documents.get(document.id).tags == ["c", "d"]
        assert store.documents.set_tags(document.id, []).tags == []

    def test_are_counted_and_forgotten_with_their_last_document(self, store, made):
        first, second = made.document("a", tags=("x", "y")), made.document("b", tags=("x",))
        counts = {each.tag: each.count for each in store.documents.tags().tags}
        assert counts == {"x": 2, "y": 1}
        store.documents.remove_tags(first.id, ["x", "y"])
        assert [(each.tag, each.count) for each in store.documents.tags().tags] == [("x", 1)]
        assert store.totals.read().tags == 1
        store.documents.delete(second.id)
        assert store.documents.tags().tags == []
        assert store.totals.read().tags == 0

    def test_that_are_as_wanted_already_are_no_change(self, store, made):
        document = made.document("otters", tags=("a",))
        assert store.documents.add_tags(document.id, ["a"]).updated_at is None
        assert store.documents.add_tags(document.id, ["b"]).updated_at is not None
