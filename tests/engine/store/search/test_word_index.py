"""The word index: exactly the terms, scored by bm25, filtered before ranking."""

import random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.engine import scoring
from kb.engine.scoring import HEAD_WEIGHT, idf, word_scores
from kb.engine.store.search import frequencies, postings, word_sample
from kb.engine.store.search import look as look_module
from kb.engine.store.search.frequencies import Frequencies
from kb.engine.store.search.word_search import chunks_with, frequency
from kb.engine.text.terms import query_terms, terms
from kb.engine.values import Filter

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


@pytest.fixture(autouse=True)
def numbers_of_sqlite(monkeypatch):
    """Its k1 and b cannot be set: with them, our bm25 has to be the same."""
    monkeypatch.setattr(scoring, "K1", 1.2)
    monkeypatch.setattr(scoring, "B", 0.75)


def bm25_by_sqlite(look, asked):
    match = " OR ".join(f'"{term}"' for term in asked)
    rows = look._query(
        "SELECT rowid, -bm25(words, 1, :weight) FROM words WHERE words MATCH :m",
        m=match,
        weight=HEAD_WEIGHT,
    )
    return dict(rows)


@pytest.mark.parametrize("seed", range(5))
def test_our_bm25_is_that_of_sqlite_but_for_two_numbers(filled, seed):
    asked = random.Random(seed).sample(WORDS, 5)
    with filled.store.look() as look:
        theirs = bm25_by_sqlite(look, asked)
        rows, known = look.view.rows_of(np.array(sorted(theirs), np.int64))
        assert known.all()
        statistics = look.statistics(asked, [])
        ours = word_scores(look.term_counts(rows, asked, []), statistics).scores
        ideal = (scoring.K1 + 1) * idf(statistics.term_counts, statistics.chunks).sum()
        assert np.allclose(ours * ideal, [theirs[key] for key in sorted(theirs)], rtol=1e-9)


@settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    deadline=None,
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
    shelf.store.documents.delete(document_id)
    assert shelf.indexed() == {}


def test_no_old_term_is_found_after_a_rename_a_replacement_and_a_deletion(shelf):
    document_id = shelf.add("otters swim ", "herons wait ", title="Rivers")
    shelf.store.documents.update(document_id, "Lakes", None)
    assert (shelf.matches("river"), shelf.matches("lake")) == (0, 2)
    shelf.replace(document_id, "voles hide ")
    assert [shelf.matches(term) for term in ("otter", "heron", "vole", "lake")] == [0, 0, 1, 1]
    shelf.store.documents.delete(document_id)
    assert shelf.indexed() == {}


def test_a_long_document_is_not_found_from_the_moment_it_is_deleted(shelf):
    keep = shelf.add("otters stay ")
    long = shelf.add(*(f"otters {number} " for number in range(100)))
    shelf.store.documents.delete(long)
    with shelf.store.look() as look:
        rows = look.by_words(["otter"], [101], 50)
        assert look.view.documents[rows].tolist() == [keep]
    while shelf.store.upkeep.forget_words():
        pass
    assert shelf.matches("otter") == 1


def test_a_long_document_is_found_all_the_time_while_its_new_title_is_indexed(shelf):
    long = shelf.add(*(f"otters {number} " for number in range(100)), title="Rivers")
    whole = shelf.indexed()
    shelf.store.documents.update(long, "Lakes", None)
    shelf.store.documents.update(long, "Ponds", None)
    while True:
        with shelf.store.look() as look:
            assert len(look.by_words(["otter"], [100], 1000)) == 100
        if not shelf.store.upkeep.forget_words():
            break
    assert shelf.indexed() == {
        (chunk, column): ["pond"] if column == "head" else terms
        for (chunk, column), terms in whole.items()
    }


def test_a_long_document_that_is_deleted_before_its_new_title_is_indexed_leaves_nothing(shelf):
    long = shelf.add(*(f"otters {number} " for number in range(100)), title="Rivers")
    shelf.store.documents.update(long, "Lakes", None)
    shelf.store.upkeep.forget_words()
    shelf.store.documents.delete(long)
    while shelf.store.upkeep.forget_words():
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


class TestCommonTerms:
    """Where there are too many matches for the word index to rank."""

    @pytest.fixture(autouse=True)
    def many(self, monkeypatch):
        monkeypatch.setattr(look_module, "MOST_MATCHES", 50)
        monkeypatch.setattr(look_module, "best_matches", None)  # asked no more

    @pytest.mark.parametrize("filter_", [None, Filter(tags=("half:1",))])
    @pytest.mark.parametrize("seed", range(4))
    def test_the_best_are_those_of_a_ranking_of_all(self, filled, monkeypatch, filter_, seed):
        monkeypatch.setattr(look_module, "MOST_RANKED", 100)
        asked = random.Random(seed).sample(WORDS[:30], 6)
        with filled.store.look(filter_) as look:
            theirs = bm25_by_sqlite(look, asked)
            allowed = set(look.view.ids.tolist())
            if filter_ is not None:
                allowed = set(look.view.ids[look._allowed].tolist())
            best = sorted((key for key in theirs if key in allowed), key=lambda key: -theirs[key])
            counts = look.statistics(asked, []).term_counts
            found = look.view.ids[look.by_words(asked, counts, 50)].tolist()
            assert len(found) == 50
            assert set(found) <= allowed
            assert len(set(found[:10]) & set(best[:10])) >= 9
            ranks = [theirs[key] for key in found]
            assert ranks == sorted(ranks, reverse=True)

    def test_of_chunks_that_are_alike_the_newest_are_candidates(self, shelf, monkeypatch):
        monkeypatch.setattr(look_module, "MOST_RANKED", 10)
        shelf.add(*("otters " for _ in range(100)))
        with shelf.store.look() as look:
            found = look.view.ids[look.by_words(["otter"], [100], 10)]
            assert sorted(found.tolist()) == look.view.ids[-10:].tolist()

    def test_new_chunks_are_found_and_deleted_ones_are_not(self, shelf):
        first = shelf.add(*("otters swim " for _ in range(60)))
        for texts in (["otters "], ["otters ", "herons "]):
            shelf.add(*texts)
            assert self.found(shelf, "otter") == self.holding(shelf, "otter")
        shelf.store.documents.delete(first)  # the word index forgets so many later
        assert self.found(shelf, "otter") == self.holding(shelf, "otter")
        assert len(self.holding(shelf, "otter")) == 2

    def test_a_new_title_is_found_at_once(self, shelf):
        shelf.add(*("otters swim " for _ in range(60)))
        other = shelf.add("herons ", title="Birds")
        assert len(self.found(shelf, "otter")) == 60
        shelf.store.documents.update(other, "Otters", None)
        assert len(self.found(shelf, "otter")) == 61

    def found(self, shelf, term):
        with shelf.store.look() as look:
            rows = look.by_words([term, "swim"], [100, 100], 200)
            return set(look.view.ids[rows].tolist())

    def holding(self, shelf, term):
        return {
            row[0]
            for row in shelf.sql(
                "SELECT rowid FROM words WHERE words MATCH :term "
                "AND rowid IN (SELECT id FROM chunks)",
                term=term,
            )
        }


class TestPostings:
    def test_lists_are_read_once_and_the_oldest_go_when_there_is_no_room(self, filled, monkeypatch):
        read = []

        def noted(query, term, after):
            read.append((term, after))
            return chunks_with(query, term, after)

        monkeypatch.setattr(postings, "chunks_with", noted)
        monkeypatch.setattr(postings, "_PER_CHUNK", 1)
        lists = postings.Postings()
        with filled.store.look() as look:
            last, chunks = int(look.view.ids[-1]), len(look.view.ids)
            now = postings.Moment(last, chunks, 0)
            for term in ("word0", "word1", "word0", "word2", "word3"):
                [found] = lists.of(look._query, [(1, term)], now).values()
                assert found.tolist() == chunks_with(look._query, term, 0).tolist()
            assert sum(len(held) for held, _ in lists._lists.values()) <= chunks
            assert lists._size == sum(len(held) for held, _ in lists._lists.values())
        assert read.count(("word0", 0)) + read.count(("word1", 0)) >= 2
        assert read[-1] == ("word3", 0)

    def test_no_more_is_read_at_once_than_can_be_waited_for(self, filled, monkeypatch):
        monkeypatch.setattr(postings, "_READ_AT_ONCE", 100)
        lists = postings.Postings()
        with filled.store.look() as look:
            now = postings.Moment(int(look.view.ids[-1]), len(look.view.ids), 0)
            asked = [(80, "word5"), (90, "word4"), (95, "word3")]
            [newest] = lists.of(look._query, [(400, "word0")], now).values()
            assert 0 < len(newest) < 150
            assert newest.tolist() == chunks_with(look._query, "word0", 0)[-len(newest) :].tolist()
            assert list(lists.of(look._query, asked[1:], now)) == ["word4"]
            # What is known already is not waited for.
            assert list(lists.of(look._query, asked, now)) == ["word5", "word4"]


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
            shelf.store.documents.update(document_id, title, None)
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
                [counted] = counter.of(query, [("otter",)], ids(query))
            assert abs(counted - shelf.matches("otter")) <= 0.005 * counted

    def test_what_is_common_is_not_counted_again_for_every_small_change(self, shelf, monkeypatch):
        shelf.add(*("otters " for _ in range(1000)))
        counts = []
        monkeypatch.setattr(
            "kb.engine.store.search.frequencies.frequency",
            lambda *_, most: counts.append(1) or 1000,
        )
        counter = Frequencies()
        for _ in range(5):
            shelf.add("otters ")
            with shelf.database.reading() as query:
                counter.of(query, [("otter",)], ids(query))
        assert len(counts) == 1

    def test_what_is_very_common_is_estimated_from_a_part(self, filled, monkeypatch):
        for name in ("COUNTED", "_COUNTED_PAIRS"):
            monkeypatch.setattr(frequencies, name, 30)
        monkeypatch.setattr(word_sample, "STRETCHES", 25)
        monkeypatch.setattr(word_sample, "STRETCH", 4)
        asked = [("word",), ("0",), ("word", "0"), ("1",)]
        with filled.database.reading() as query:
            exact = [frequency(query, *phrase, most=10**9) for phrase in asked]
            monkeypatch.setattr(frequencies, "frequency", None)
            assert Frequencies().of(query, asked, ids(query)) == pytest.approx(exact, rel=0.3)

    def test_a_pair_is_estimated_only_where_both_of_its_terms_are_common(self, filled, monkeypatch):
        rare = WORDS[-1]
        for name in ("COUNTED", "_COUNTED_PAIRS"):
            monkeypatch.setattr(frequencies, name, filled.matches(rare))
        counted = []
        monkeypatch.setattr(
            frequencies, "frequency", lambda _, *phrase, most: counted.append(phrase) or 3
        )
        with filled.database.reading() as query:
            asked = [("word",), ("0",), (rare,), ("word", "0"), ("word", rare)]
            Frequencies().of(query, asked, ids(query))
        assert counted == [(rare,), ("word", rare)]

    def test_a_sample_holds_no_pair_that_spans_two_texts(self, shelf):
        shelf.add("otters swim ", "herons wait ", title="Reeds")
        with shelf.database.reading() as query:
            taken = word_sample.Sample(query, ids(query))
        assert taken.share(("otter", "swim")) == 0.5
        assert taken.share(("reed",)) == 1
        for pair in (("swim", "reed"), ("reed", "heron"), ("swim", "heron")):
            assert taken.share(pair) == 0.25  # half of one

    def test_the_sample_follows_the_store(self, shelf):
        sampler = word_sample.Sampler()
        shares = []
        for _ in range(2):
            shelf.add(*("otters " for _ in range(40)))
            with shelf.database.reading() as query:
                shares.append(sampler.sample(query, ids(query)).share(("heron",)))
            shelf.add(*("herons " for _ in range(40)))
        assert shares == [0.0125, pytest.approx(1 / 3)]


def ids(query):
    return np.array([row[0] for row in query("SELECT id FROM chunks ORDER BY id")], np.int64)
