"""The arithmetic of ranking, on numbers that can be checked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.scoring import (
    HEAD_WEIGHT,
    WordStatistics,
    best_of_documents,
    count_terms,
    fingerprint,
    fingerprints,
    holds_any,
    relevance,
    rivals,
    with_wholes,
    word_scores,
)


def counted(bodies, terms=(), pairs=(), heads=None):
    sequences = [
        (fingerprints(body.split()), fingerprints(head.split()))
        for body, head in zip(bodies, heads or [""] * len(bodies), strict=True)
    ]
    return count_terms(
        sequences,
        [fingerprint(term) for term in terms],
        [(fingerprint(first), fingerprint(second)) for first, second in pairs],
    )


def statistics(**fields):
    defaults = {"chunks": 100, "mean_length": 10.0, "term_counts": [1], "pair_counts": []}
    return WordStatistics(**{**defaults, **fields})


def test_terms_are_counted_in_bodies_and_for_half_in_heads():
    counts = counted(["a b a", "b", ""], ["a", "b", "c"], heads=["a", "", "b b"])
    assert counts.terms.tolist() == [[2 + HEAD_WEIGHT, 1, 0], [0, 1, 0], [0, 2 * HEAD_WEIGHT, 0]]
    assert counts.lengths.tolist() == [4, 1, 2]


def test_a_pair_counts_only_side_by_side_in_order_and_within_one_chunk():
    counts = counted(["a b a b", "b a", "a", "b", "a c b"], pairs=[("a", "b")])
    assert counts.pairs[:, 0].tolist() == [2, 0, 0, 0, 0]


def test_a_pair_written_as_one_word_counts_for_both_its_terms_and_for_the_pair():
    terms, pairs = ["run", "time", "zone"], [("run", "time"), ("time", "zone")]
    counts = counted(["runtime runtime", "run time", "zone"], [*terms, "runtime"], pairs)
    found = with_wholes(counts, terms, pairs, [("run", "time")])
    assert found.terms.tolist() == [[2, 2, 0], [1, 1, 0], [0, 0, 1]]
    assert found.pairs.tolist() == [[2, 0], [1, 0], [0, 0]]


def test_nothing_can_be_counted_in_nothing():
    counts = counted([], ["a"], [("a", "b")])
    assert (counts.terms.shape, counts.pairs.shape) == ((0, 1), (0, 1))
    assert counted([""], ["a"]).terms.tolist() == [[0]]


@given(
    st.lists(st.lists(st.sampled_from("abc"), max_size=8), max_size=6),
    st.lists(st.sampled_from("abcd"), max_size=3),
)
def test_counting_all_chunks_at_once_is_counting_each(bodies, terms):
    counts = counted([" ".join(body) for body in bodies], terms)
    expected = [[body.count(term) for term in terms] for body in bodies]
    assert counts.terms.tolist() == expected


def test_a_rare_term_weighs_more_than_a_common_one():
    counts = counted(["a", "b"], ["a", "b"])
    scores = word_scores(counts, statistics(term_counts=[1, 40])).scores
    assert scores[0] > scores[1] > 0


def test_a_short_chunk_scores_higher_than_a_long_one_with_as_many_matches():
    scores = word_scores(counted(["a", "a" + " x" * 30], ["a"]), statistics()).scores
    assert scores[0] > scores[1]


def test_a_score_lies_between_zero_and_one_and_is_the_sum_of_its_parts():
    counts = counted(["a b " * 500, "a", "x"], ["a", "b"], [("a", "b")])
    found = word_scores(counts, statistics(term_counts=[3, 2], pair_counts=[1], mean_length=300.0))
    assert 0.9 < found.scores[0] < 1
    assert found.scores[2] == 0
    assert np.allclose(found.by_term.sum(1) + found.by_pair.sum(1), found.scores)


def test_a_term_that_the_index_does_not_know_counts_on_neither_side():
    counts = counted(["a"], ["a", "unknown"])
    with_unknown = word_scores(counts, statistics(term_counts=[1, 0])).scores
    assert with_unknown == pytest.approx(word_scores(counted(["a"], ["a"]), statistics()).scores)


def test_only_unknown_terms_score_nothing():
    assert word_scores(counted(["a"], ["z"]), statistics(term_counts=[0])).scores.tolist() == [0]
    assert word_scores(counted(["a"]), statistics(term_counts=[])).scores.tolist() == [0]


def test_a_term_in_nearly_every_chunk_still_counts_a_little():
    scores = word_scores(counted(["a"], ["a"]), statistics(term_counts=[100])).scores
    assert scores[0] > 0
    assert math.isfinite(scores[0])


def test_a_document_counts_by_the_mean_of_its_three_best():
    scores = np.array([0.9, 0.1, 0.6, 0.3, 0.5])
    documents = np.array([1, 1, 1, 1, 2])
    assert best_of_documents(scores, documents) == pytest.approx([0.6] * 4 + [0.5])


def test_a_passage_without_rivals_keeps_nearly_all_of_its_relevance():
    curve = (8.0, 0.6)
    alone = relevance(1.0, rivals(np.array([1.0])), curve)
    among_many = relevance(1.0, rivals(np.ones(40)), curve)
    assert rivals(np.array([1.0])) == pytest.approx(0.1)
    assert rivals(np.ones(40)) == 1.0
    assert alone > 0.9 > 0.5 > among_many


def test_a_phrase_is_held_in_body_or_head_but_not_across_them_or_chunks():
    def one(*terms):
        return fingerprints(terms)

    chunks = [
        (one("a", "b", "c"), one()),
        (one("c", "a"), one("b")),
        (one("x"), one("a", "b")),
        (one("a"), one()),
        (one("b"), one()),
    ]
    wanted = [[fingerprint(term) for term in ("a", "b")]]
    assert holds_any(chunks, wanted).tolist() == [True, False, True, False, False]
    assert holds_any(chunks, []).tolist() == [False] * 5
