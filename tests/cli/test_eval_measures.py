"""Ranks, texts and differences in, the numbers that others compute too out."""

import math

import pytest

from kb.cli.eval.headings import heading_question
from kb.cli.eval.measures import chance_of, drawn, interval, ndcg, wilson
from kb.cli.eval.passages import holds, words_of


@pytest.mark.parametrize(
    ("ranks", "worth"),
    [
        ([1], 1),
        ([2], 1 / math.log2(3)),
        ([3], 0.5),
        ([None], 0),
        ([1, 2], 1),
        ([2, None], (1 / math.log2(3)) / (1 + 1 / math.log2(3))),
        ([1, 1], 1),
    ],
)
def test_ndcg_is_the_gain_divided_by_the_best_possible(ranks, worth):
    assert ndcg(ranks, 10) == pytest.approx(worth)


def test_no_more_is_asked_than_fits_the_top():
    assert ndcg([1, 2, None], 2) == 1


def test_wilsons_interval_has_the_values_of_the_textbook():
    assert wilson(0.5, 10) == pytest.approx((0.2366, 0.7634), abs=1e-4)
    assert wilson(1.0, 10) == pytest.approx((0.7225, 1.0), abs=1e-4)
    assert wilson(0.0, 10) == pytest.approx((0.0, 0.2775), abs=1e-4)


def test_a_few_questions_that_all_did_well_are_no_proof():
    low, high = interval([1.0] * 5)
    assert (low, high) == (0.5655, 1.0)
    low, high = interval([0.5] * 5)
    assert low < 0.2
    assert high > 0.8


def test_a_drawn_interval_is_near_that_of_theory():
    each = [0.0, 0.5, 1.0] * 60
    error = math.sqrt(1 / 6 / len(each))
    low, high = drawn(each)
    assert low == pytest.approx(0.5 - 1.96 * error, abs=0.01)
    assert high == pytest.approx(0.5 + 1.96 * error, abs=0.01)
    assert drawn(each) == (low, high)


@pytest.mark.parametrize(
    ("differences", "chance"),
    [
        ([], 1.0),
        ([0.0, 0.0], 1.0),
        ([1.0], 1.0),
        ([1.0] * 5, 2 / 2**5),
        ([1.0] * 4 + [-1.0], 12 / 2**5),
        ([1.0, -1.0, 0.0], 1.0),
    ],
)
def test_the_chance_of_a_difference_is_that_of_the_sign_test(differences, chance):
    assert chance_of(differences) == pytest.approx(chance)


def test_many_differences_are_judged_as_by_the_sign_test():
    # 15 of 20: the two-sided sign test gives 0.0414.
    assert chance_of([1.0] * 15 + [-1.0] * 5) == pytest.approx(0.0414, abs=0.01)


TEXT = words_of("Die „Frost-Tage“ sind\nvorbei; die Pflanzen stehen im Beet, und alles wächst.")


@pytest.mark.parametrize(
    ("passage", "is_held"),
    [
        ('die "frost tage" SIND vorbei', True),
        ("**Pflanzen** stehen im *Beet*", True),
        ("rost tage", False),
        ("die Pflanzen stehen im Haus", False),
        ("und dann sind es Die Frost Tage sind vorbei die Pflanzen", True),
        ("im Beet, und alles wächst. So geht es fort", True),
        ("alles wächst. So geht es fort im Sommer", False),
    ],
)
def test_a_passage_is_held_by_its_words_whole_or_for_the_larger_part(passage, is_held):
    assert holds(TEXT, words_of(passage)) is is_held


def test_words_of_scripts_without_spaces_are_found_inside_a_run():
    assert holds(words_of("我们研究机器学习的方法"), words_of("机器学习"))
    assert not holds(words_of("我们研究机器学习的方法"), words_of("机器人"))


def test_ligatures_and_soft_hyphens_do_not_matter():
    assert holds(words_of("the e\ufb03cient con\u00adtract"), words_of("efficient contract"))


@pytest.mark.parametrize(
    ("title", "headings", "question"),
    [
        ("Tomatoes", ("Tomatoes", "How to water in summer"), "How to water in summer"),
        ("Tomatoes", ("Tomatoes", "3.2 **Watering**:"), "Tomatoes: Watering"),
        ("notes", ("Garden", "Overview", "Watering"), "Garden: Watering"),
        ("Tomatoes", ("Tomatoes", "Introduction"), None),
        ("Tomatoes", ("Tomatoes", "Chapter 3"), None),
        ("Tomatoes", ("Tomatoes", "2026-11-16"), None),
        ("Tomatoes", ("Zusammenfassung",), None),
        ("Tomatoes", ("Tomatoes",), None),
        ("Growing tomatoes", ("Growing tomatoes",), "Growing tomatoes"),
    ],
)
def test_a_heading_is_a_question_if_it_says_something(title, headings, question):
    assert heading_question(title, headings) == question
