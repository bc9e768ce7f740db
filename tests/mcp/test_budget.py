"""Answers of any size in, answers that fit and say what is missing out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.mcp.budget import SHORTEST, fit_hits, share, shorten, size, window

TEXTS = st.text(st.characters(codec="utf-8"), max_size=3000)


@given(TEXTS, st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 20))), st.integers(1, 2000))
def test_a_window_is_a_stretch_of_the_text_of_about_the_length(text, starts, length):
    marks = [(start, start + size) for start, size in starts]
    start, end = window(text, marks, length)
    assert 0 <= start <= end <= len(text)
    assert end - start <= length
    assert end - start >= min(length, len(text)) - 2 * 20


@given(TEXTS, st.integers(2, 2000))
def test_a_shortened_text_is_a_stretch_of_it_that_fits_and_says_which(text, room):
    shown = shorten({"text": text}, [], room)
    if "excerpt" in shown:
        start, rest = shown["excerpt"].split("-")
        end, of = rest.removesuffix(" characters").split(" of ")
        assert shown["text"] == text[int(start) : int(end)]
        assert int(of) == len(text)
        assert size(shown["text"]) <= max(room, 8)  # one character takes so much at most
    else:
        assert shown == {"text": text}
        assert size(text) <= room


def test_a_window_is_put_where_most_of_the_marks_are():
    text = "far " + "x " * 100 + "one two three " + "y " * 100
    marks = [(0, 3)] + [(text.index(word), text.index(word) + 3) for word in ("one", "two", "thr")]
    start, end = window(text, marks, 40)
    assert "one two three" in text[start:end]


def test_a_window_does_not_begin_or_end_in_the_middle_of_a_word():
    text = "The quick brown fox jumps over the lazy dog again and again and again"
    start, end = window(text, [(20, 25)], 30)
    assert text[start - 1] == " "
    assert text[end - 1] == " " or text[end] == " "


@given(st.lists(st.integers(0, 500), max_size=20), st.integers(0, 5000))
def test_room_is_shared_so_that_none_is_wasted_and_the_small_get_all(sizes, room):
    shares = share(sizes, room)
    assert sum(shares) <= room
    assert all(part <= size for part, size in zip(shares, sizes, strict=True))
    if sum(sizes) <= room:
        assert shares == sizes
    elif sizes:
        assert sum(shares) > room - len(sizes)


@st.composite
def hits(draw):
    texts = draw(st.lists(TEXTS, min_size=1, max_size=12))
    return [{"chunk_id": number, "text": text} for number, text in enumerate(texts)]


@given(hits(), st.integers(400, 20_000))
def test_hits_fit_into_the_room_best_first(found, room):
    shown, cut = fit_hits(found, [[]] * len(found), room)
    assert [hit["chunk_id"] for hit in shown] == list(range(len(shown)))
    assert sum(size(hit) + 1 for hit in shown) <= max(room, 300)
    assert cut == sum("excerpt" in hit for hit in shown)
    if sum(size(hit) + 1 for hit in found) <= room:
        assert shown == found


@pytest.mark.parametrize("room", [0, -500, 50])
def test_one_hit_is_shown_however_little_room_there_is(room):
    shown, cut = fit_hits([{"text": "word " * 200}] * 3, [[]] * 3, room)
    assert (len(shown), cut) == (1, 1)
    assert 0 < len(shown[0]["text"]) <= SHORTEST
