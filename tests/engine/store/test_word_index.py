"""The word index: exactly the terms, scored as scoring.py scores them, filtered before ranking."""

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.engine.models import Filter
from kb.engine.scoring import K1, _idf, word_scores
from kb.engine.store import look as look_module
from kb.engine.store.frequencies import Frequencies
from kb.engine.terms import query_terms, terms

WORDS = [f"word{number}" for number in range(60)]


def fill(shelf):
    """Documents of one to six chunks whose words are as unevenly common as in real text."""
    rng = random.Random(1)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    for number in range(120):
        texts = [
            " ".join(rng.choices(WORDS, weights, k=rng.randint(3, 60))) + " "
            for _ in range(rng.randint(1, 6))
        ]
        title = " ".join(rng.choices(WORDS, weights, k=3))
        shelf.add(*texts, title=title, tags=[f"tenth:{number % 10}", f"half:{number % 2}"])


@pytest.fixture(scope="module")
def filled(tmp_path_factory, make_shelf):
    """One store for all tests that only look."""
    shelf = make_shelf(tmp_path_factory.mktemp("words") / "store.db")
    fill(shelf)
    yield shelf
    shelf.store.close()


def bm25_by_sqlite(look, asked):
    match = " OR ".join(f'"{term}"' for term in asked)
    rows = look._query(
        "SELECT rowid, -bm25(words, 1, 0.5) FROM words WHERE words MATCH :m", m=match
    )
    return dict(rows)


@pytest.mark.parametrize("seed", range(5))
def test_our_bm25_is_that_of_sqlite_so_that_both_choose_alike(filled, seed):
    asked = random.Random(seed).sample(WORDS, 5)
    with filled.store.look() as look:
        theirs = bm25_by_sqlite(look, asked)
        rows, known = look.view.rows_of(np.array(sorted(theirs), np.int64))
        assert known.all()
        statistics = look.statistics(asked, [])
        ours = word_scores(look.term_counts(rows, asked, []), statistics).scores
        ideal = (K1 + 1) * _idf(statistics.term_counts, statistics.chunks).sum()
        assert np.allclose(ours * ideal, [theirs[key] for key in sorted(theirs)], rtol=1e-9)


@settings(
    max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(text=st.text(min_size=1, max_size=200).filter(lambda text: "\0" not in text))
def test_any_text_is_indexed_by_its_terms_found_by_each_and_gone_without_a_trace(shelf, text):
    text = text.encode("utf-8", "replace").decode()
    document_id = shelf.add(text, title="x")
    found = terms(text)
    [(chunk_id,)] = shelf.sql("SELECT id FROM chunks WHERE document_id = :id", id=document_id)
    assert shelf.indexed().get((chunk_id, "body"), []) == found
    for term in query_terms(text):
        assert shelf.matches(term) == 1
    shelf.store.delete_document(document_id)
    assert shelf.indexed() == {}


def test_no_old_term_is_found_after_a_rename_a_replacement_and_a_deletion(shelf):
    document_id = shelf.add("otters swim ", "herons wait ", title="Rivers")
    shelf.store.update_document(document_id, "Lakes", None)
    assert (shelf.matches("river"), shelf.matches("lake")) == (0, 2)
    shelf.replace(document_id, "voles hide ")
    assert [shelf.matches(term) for term in ("otter", "heron", "vole", "lake")] == [0, 0, 1, 1]
    shelf.store.delete_document(document_id)
    assert shelf.indexed() == {}


def test_a_long_document_is_not_found_from_the_moment_it_is_deleted(shelf):
    keep = shelf.add("otters stay ")
    long = shelf.add(*(f"otters {number} " for number in range(100)))
    shelf.store.delete_document(long)
    with shelf.store.look() as look:
        rows = look.by_words(["otter"], [101], 50)
        assert look.view.documents[rows].tolist() == [keep]
    while shelf.store.forget_words():
        pass
    assert shelf.matches("otter") == 1


def test_a_long_document_is_found_all_the_time_while_its_new_title_is_indexed(shelf):
    long = shelf.add(*(f"otters {number} " for number in range(100)), title="Rivers")
    whole = shelf.indexed()
    shelf.store.update_document(long, "Lakes", None)
    shelf.store.update_document(long, "Ponds", None)
    while True:
        with shelf.store.look() as look:
            assert len(look.by_words(["otter"], [100], 1000)) == 100
        if not shelf.store.forget_words():
            break
    assert shelf.indexed() == {
        (chunk, column): ["pond"] if column == "head" else terms
        for (chunk, column), terms in whole.items()
    }


def test_a_long_document_that_is_deleted_before_its_new_title_is_indexed_leaves_nothing(shelf):
    long = shelf.add(*(f"otters {number} " for number in range(100)), title="Rivers")
    shelf.store.update_document(long, "Lakes", None)
    shelf.store.forget_words()
    shelf.store.delete_document(long)
    while shelf.store.forget_words():
        pass
    assert shelf.indexed() == {}


class TestFilters:
    @pytest.mark.parametrize(
        "filter_",
        [
            None,
            Filter(tags=("half:1",)),
            Filter(tags=("half:1", "tenth:3")),
            Filter(tags=("tenth:4",)),
            Filter(doc_types=("note",)),
        ],
        ids=["none", "wide", "narrow", "tenth", "all"],
    )
    @pytest.mark.parametrize("limit", [5, 50])
    def test_a_filter_gives_the_best_of_what_it_lets_through(self, filled, filter_, limit):
        asked = ["word0", "word7", "word31"]
        with filled.store.look(filter_) as look:
            theirs = bm25_by_sqlite(look, asked)
            allowed = set(look.view.ids.tolist())
            if filter_ is not None:
                allowed = set(look.view.ids[look._allowed].tolist())
            scores = sorted((theirs[key] for key in theirs if key in allowed), reverse=True)
            counts = look.statistics(asked, []).term_counts
            found = look.view.ids[look.by_words(asked, counts, limit)].tolist()
            assert set(found) <= allowed
            assert [theirs[key] for key in found] == pytest.approx(scores[:limit])

    def test_few_chunks_are_all_candidates(self, filled, monkeypatch):
        with filled.store.look(Filter(tags=("tenth:4",))) as look:
            assert len(look.all_if_few()) == len(look._allowed)
        monkeypatch.setattr(look_module, "FEW_CHUNKS", 3)
        with filled.store.look(Filter(tags=("tenth:4",))) as look:
            assert look.all_if_few() is None

    def test_common_terms_do_not_choose_where_rarer_ones_can(self, filled, monkeypatch):
        monkeypatch.setattr(look_module, "MOST_MATCHES", 100)
        with filled.store.look() as look:
            asked = ["word0", "word55"]
            counts = look.statistics(asked, []).term_counts
            assert counts[0] > 100 > counts[1] > 0
            rows = look.by_words(asked, counts, 1000)
            assert len(rows) == counts[1]
            assert len(look.by_words(["word0"], counts[:1], 1000)) == counts[0]


class TestFrequencies:
    def test_a_count_is_exact_where_little_is_stored(self, shelf):
        for number in range(5):
            shelf.add("otters swim ")
            with shelf.store.look() as look:
                statistics = look.statistics(["otter", "heron"], [("otter", "swim")])
            assert statistics.term_counts == [number + 1, 0]
            assert statistics.pair_counts == [number + 1]

    def test_a_new_title_counts_at_once(self, shelf):
        document_id = shelf.add("otters swim ", title="Rivers")
        for title, count in (("Lakes", 1), ("Rivers", 0), ("Lakes", 1)):
            shelf.store.update_document(document_id, title, None)
            with shelf.store.look() as look:
                assert look.statistics(["lake"], []).term_counts == [count]

    def test_a_term_that_was_not_there_is_counted_as_soon_as_it_is(self, shelf):
        shelf.add(*(f"passage {number} " for number in range(1000)))
        with shelf.store.look() as look:
            assert look.statistics(["otter"], []).term_counts == [0]
        shelf.add("otters ")
        with shelf.store.look() as look:
            assert look.statistics(["otter"], []).term_counts == [1]

    def test_a_remembered_count_is_off_by_less_than_its_share(self, shelf):
        shelf.add(*("otters " for _ in range(1000)))
        counter = Frequencies()
        for _ in range(12):
            shelf.add("otters ")
            with shelf.database.reading() as query:
                [counted] = counter.of(query, [("otter",)])
            assert abs(counted - shelf.matches("otter")) <= 0.005 * counted

    def test_what_is_common_is_not_counted_again_for_every_small_change(self, shelf, monkeypatch):
        shelf.add(*("otters " for _ in range(1000)))
        counts = []
        monkeypatch.setattr(
            "kb.engine.store.frequencies.frequency", lambda *_: counts.append(1) or 1000
        )
        counter = Frequencies()
        for _ in range(5):
            shelf.add("otters ")
            with shelf.database.reading() as query:
                counter.of(query, [("otter",)])
        assert len(counts) == 1
