"""The arithmetic of estimates, on a clock of its own."""

import random

import pytest

from kb.engine.ingest.pace import Forecast, Pace


def scan(pace, page_seconds, passage_seconds=0.05, characters=1_600):
    """A scan as it is read: for each page, what is said to be left, what is, and the share done."""
    forecast = Forecast(pace, passages=1)
    forecast.pages = len(page_seconds)
    forecast.recognise()
    passages = 2 * len(page_seconds)
    for number, seconds in enumerate(page_seconds, 1):
        forecast.read(seconds, characters)
        left = sum(page_seconds[number:]) + passages * passage_seconds
        yield number, forecast.left, left, forecast.share


class TestAScan:
    @pytest.mark.parametrize("slower", [0.25, 1.0, 5.0])
    def test_is_estimated_within_a_factor_of_two_once_a_page_is_read(self, slower):
        """Whatever the machine was thought to be, and however much the pages differ."""
        uneven = random.Random(7)
        pages = [slower * 2.0 * uneven.uniform(0.6, 1.4) for _ in range(40)]
        for number, said, left, _ in scan(Pace(), pages):
            assert 0.5 < said / left < 2, f"after page {number}"

    def test_progresses_as_its_pages_do(self):
        for number, _, _, share in scan(Pace(), [3.0] * 40):
            assert share == pytest.approx(number / 40, abs=0.06)

    def test_that_begins_with_pages_of_text_is_measured_by_its_pictures_soon(self):
        pages = [0.01] * 20 + [2.0] * 20
        forecast = Forecast(Pace(), passages=1)
        forecast.pages = 40
        shares = []
        for number, seconds in enumerate(pages, 1):
            if number == 21:
                forecast.recognise()
            forecast.read(seconds, 1_600)
            shares.append(forecast.share)
            if number >= 23:
                assert 0.5 < forecast.left / (2.0 * (40 - number) + 80 * 0.03) < 2
        assert shares == sorted(shares)
        assert shares[-1] < 1


class TestPassages:
    def test_are_expected_from_the_pages_that_were_read(self):
        forecast = Forecast(Pace(), passages=1)
        forecast.pages = 100
        forecast.read(0.01, 1_600)
        assert forecast.passages == 200
        forecast.cut(150)
        assert (forecast.pages, forecast.passages) == (1, 150)

    def test_are_measured_as_they_are_embedded(self):
        forecast = Forecast(Pace(), passages=400)
        forecast.cut(400)
        for _ in range(10):
            forecast.embed(8, seconds=1.6)
        assert forecast.left == pytest.approx(0.2 * 320, rel=0.1)
        assert forecast.share == pytest.approx(0.2, abs=0.02)

    def test_of_others_beside_make_the_first_guess_longer(self):
        pace = Pace()
        alone = Forecast(pace, passages=100).left
        pace.at_once = 3
        assert Forecast(pace, passages=100).left == pytest.approx(3 * alone)


class TestThePace:
    def test_is_learned_by_kind_of_work(self):
        pace = Pace()
        before = pace.reading(1, 10)
        for _ in range(20):
            pace.learn("picture", 8.0)
        assert pace.recognising(10) == pytest.approx(80, rel=0.1)
        assert pace.reading(1, 10) == before

    def test_of_the_last_run_is_where_the_next_one_begins(self):
        pace = Pace()
        pace.learn("picture", 6.0)
        pace.learn_length("pdf", 200_000, 8_000, passages=10)
        again = Pace(pace.learned)
        assert again["picture"] == pace["picture"] == 4.0
        assert again.passages(140_000, "pdf") == pace.passages(140_000, "pdf") == 10

    def test_of_nonsense_is_the_one_that_is_assumed(self):
        nonsense = {"picture": -1, "passage": float("nan"), "job": "fast", "stored": 0}
        assert Pace(nonsense).learned == {}
        pace = Pace()
        pace.learn("picture", 0.0)
        assert pace.learned == {}

    def test_remembers_the_sizes_of_so_many_kinds_of_file_and_no_more(self):
        pace = Pace()
        for number in range(1000):
            pace.learn_length(f"x{number}", 10_000, 800, 1)
        assert len(pace.learned) == 100

    def test_learns_nothing_about_long_texts_from_short_ones(self):
        pace = Pace()
        before = pace.reading(1, 100), pace.passages(80_000, "note"), pace["passage characters"]
        for _ in range(100):
            pace.learn_length("note", 20, 20, passages=1)
            pace.learn_embedding(0.0075, 20, passages=1)
        assert pace.passages(80_000, "note") == before[1]
        assert pace["passage characters"] == before[2]
        assert pace.reading(1, 100) == pytest.approx(before[0])

    def test_is_right_on_the_whole_about_many_small_jobs(self):
        """However their time is divided between passages and all else."""
        pace = Pace()
        for _ in range(50):
            pace.learn_embedding(0.01, 400, passages=1)
            pace.learn_job(0.04, passages=1)
        assert pace.reading(200, 200) == pytest.approx(200 * 0.04, rel=0.05)

    def test_is_not_spoilt_by_one_job_that_waited(self):
        pace = Pace()
        for _ in range(20):
            pace.learn_job(0.05, passages=1)
        before = pace.reading(1, 1)
        pace.learn_job(60.0, passages=1)
        assert pace.reading(1, 1) < 2 * before

    def test_learns_how_long_passages_are_from_long_texts(self):
        pace = Pace()
        for _ in range(20):
            pace.learn_length("txt", 50_000, 40_000, passages=100)
        assert pace.passages(50_000, "txt") == pytest.approx(100, rel=0.02)
        assert pace["passage characters"] == pytest.approx(400, rel=0.02)
