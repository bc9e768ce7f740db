"""One look: what a search sees is of one moment, and is what is stored."""

import numpy as np
import pytest

from kb.engine.values import Chunk, Filter


def test_words_are_counted_and_the_best_come_first(store, made):
    made.document("otters swim")
    made.document("herons wade and swim")
    made.document("newts rest")
    with store.look() as look:
        counts = look.statistics(["swim", "otter", "fox"], [("otter", "swim")])
        assert (counts.chunks, counts.term_counts, counts.pair_counts) == (3, [2, 1, 0], [1])
        best = look.by_words(["otter", "swim"], [1, 2], 5)
        assert look.texts(best) == ["otters swim", "herons wade and swim"]
        assert look.texts(look.by_words(["otter", "swim"], [1, 2], 1)) == ["otters swim"]


def test_vectors_that_are_nearest_come_first(store, made):
    for text in ("otters swim", "herons wade", "newts rest"):
        made.document(text)
    assert made.nearest("herons wade") == ["herons wade"]
    assert len(made.nearest("herons wade", limit=3)) == 3
    with store.look() as look:
        rows = np.arange(3)
        exact, known = look.exact_vectors(rows)
        assert known.all()
        passages = [Chunk(text, 0) for text in look.texts(rows)]
        assert exact == pytest.approx(made.vectors_of(passages), abs=1e-3)


def test_rows_without_a_vector_leave_the_others_their_own(store, made):
    lacking = {"herons wade", "voles hide"}
    for text in ("herons wade", "otters swim", "voles hide", "newts rest"):
        passages = [Chunk(text, 0)]
        has = {} if text in lacking else made.vectors_of(passages)
        store.documents.add(made.draft(text), passages, has)
    with store.look() as look:
        rows = np.arange(4)
        texts = look.texts(rows)
        exact, known = look.exact_vectors(rows)
    assert known.tolist() == [text not in lacking for text in texts]
    expected = made.vectors_of([Chunk(text, 0) for text in texts])
    assert exact[known] == pytest.approx(expected[known], abs=1e-3)


def test_each_passage_of_a_document_has_its_own_vector(made):
    texts = ["otters swim", "herons wade", "newts rest"]
    made.document(*texts)
    assert [made.nearest(text) for text in texts] == [[text] for text in texts]


def test_what_is_shown_of_a_passage_is_its_own_and_its_documents(store, made):
    document = made.document("otters", "swim", title="Otters", tags=("river", "animal"))
    chunk = store.documents.get(document.id).chunks[1]
    with store.look() as look:
        [found] = look.chunks([chunk.id, 10**6]).values()
    assert (found.chunk_id, found.chunk_uid, found.seq) == (chunk.id, chunk.uid, 1)
    assert (found.document_id, found.document_uid) == (document.id, document.uid)
    assert (found.text, found.title, found.tags) == ("swim", "Otters", ["animal", "river"])


def test_a_look_stays_as_it_was_whatever_is_written_meanwhile(store, made):
    document = made.document("otters swim")
    with store.look() as look:
        made.document("otters fish")
        store.documents.delete(document.id)
        rows = look.by_words(["otter"], [1], 5)
        assert look.texts(rows) == ["otters swim"]
        assert look.statistics(["otter"], []).chunks == 1
    assert made.by_word("otter") == ["otters fish"]


def test_every_change_shows_in_the_next_look(store, made):
    assert made.by_word("otter") == []
    first = made.document("otters swim", tags=("a",))
    assert made.by_word("otter") == made.nearest("otters swim") == ["otters swim"]
    store.documents.set_tags(first.id, ["b"])
    assert made.by_word("otter", Filter(tags=("a",))) == []
    assert made.by_word("otter", Filter(tags=("b",))) == ["otters swim"]
    store.upkeep.tidy()
    made.document("otters fish")
    store.documents.delete(first.id)
    assert made.by_word("otter") == made.nearest("otters") == ["otters fish"]


def test_few_that_a_filter_lets_through_are_all_candidates(store, made):
    made.document("otters", tags=("a",))
    made.document("herons", tags=("b",))
    with store.look() as look:
        assert look.all_if_few() is None
    with store.look(Filter(tags=("b",))) as look:
        assert look.texts(look.all_if_few()) == ["herons"]


def test_what_is_required_is_looked_for_within_the_filter(store, made):
    first = made.document("Otters swim far", tags=("a",))
    second = made.document("Otters swim near", tags=("b",))
    changed = store.documents.update(second.id, None, {"of": "a lake"})
    with store.look(Filter(tags=("b",))) as look:
        found = look.holding_text(["otter", "swim"], "otters swim", "otters swim", 5)
        assert look.texts(found) == ["Otters swim near"]
        look.require([["otter", "swim"]])
        assert look.texts(look.by_words(["otter"], [2], 5)) == ["Otters swim near"]
        assert look.changed_at(np.array([second.id, first.id, 10**6])) == [
            changed.updated_at,
            first.created_at,
            "",
        ]


def test_phrases_can_be_required(store, made):
    made.document("otters swim far")
    made.document("swim with otters")
    with store.look() as look:
        look.require([["otter", "swim"]])
        assert look.texts(look.by_words(["otter"], [2], 5)) == ["otters swim far"]
