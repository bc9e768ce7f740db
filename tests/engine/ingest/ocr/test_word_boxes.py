"""Boxes in, words out: each where it stands in the picture as it came, however it was read."""

import pytest
from drawn_pages import FERRY, FONT, bent, of_the_ferry, ruled
from PIL import Image, ImageDraw, ImageOps
from PIL.Image import Transpose

from kb.engine.ingest import ocr
from kb.engine.ingest.ocr import Ocr
from kb.engine.ingest.ocr.boxes import Box, Sides, Word
from kb.engine.ingest.ocr.choice import EngineReader
from kb.engine.ingest.ocr.dewarp import flattened
from kb.engine.ingest.ocr.orientation import upright
from kb.engine.ingest.ocr.rows import in_order
from kb.engine.ingest.ocr.word_boxes import MOST, placed, turned_back, with_words

TURNS = (Transpose.ROTATE_90, Transpose.ROTATE_180, Transpose.ROTATE_270)


def line(text, x=200.0, y=50.0, width=200.0, height=20.0, angle=0.0, score=0.99):
    return with_words(Box(text, score, x, y, width, height, angle))


def ink(picture):
    """The sides of what is dark in a picture."""
    return Sides(*ImageOps.invert(picture).getbbox())


def test_words_share_the_length_of_their_line():
    first, second = line("onto onto").words
    assert (first.text, second.text) == ("onto", "onto")
    assert first.sides.left == 100
    assert second.sides.right == pytest.approx(300)
    assert first.sides.right < second.sides.left
    assert first.sides.right - 100 == pytest.approx(300 - second.sides.left)
    assert (first.sides.top, first.sides.bottom) == (40, 60)


def test_wide_letters_take_more_of_it_than_narrow_ones():
    narrow, wide = line("ill MMM").words
    assert wide.sides.right - wide.sides.left > 2 * (narrow.sides.right - narrow.sides.left)


def test_the_words_of_a_line_that_falls_follow_it():
    first, second = line("onto onto", angle=10).words
    assert first.sides.bottom < second.sides.bottom
    assert first.sides.top < 50 < second.sides.bottom
    down = line("onto onto", angle=90).words
    assert down[0].sides.bottom < down[1].sides.top
    assert down[0].sides.right - down[0].sides.left == pytest.approx(20)


@pytest.mark.parametrize("turn", TURNS)
def test_a_word_of_a_turned_picture_is_told_where_it_stood_before(turn):
    picture = Image.new("L", (400, 200), 255)
    picture.paste(0, (30, 20, 90, 35))
    found = Box("word", 0.9, 0, 0, 1, 1, words=(Word("word", ink(picture.transpose(turn))),))
    [back] = turned_back([found], turn, picture.size)
    assert back.words == (Word("word", Sides(30, 20, 90, 35)),)


def test_what_is_no_turn_is_refused():
    with pytest.raises(ValueError, match="is no turn"):
        turned_back([line("word")], Transpose.FLIP_TOP_BOTTOM, (400, 200))


class InkEngine:
    """Finds one word, around all the ink; it is sure of it only where the ink is at the top."""

    dpi, sure, turns, shrinks = 200, 0.8, TURNS, True

    def boxes(self, picture):
        sides = ink(picture)
        sure = sides.bottom < picture.height / 2 and picture.width > picture.height
        word = Word("heron", sides)
        return [Box("heron", 0.95 if sure else 0.5, 0, 0, 1, 1, words=(word,))]


@pytest.mark.parametrize("turn", [None, *TURNS])
def test_a_picture_that_is_turned_to_be_read_keeps_its_words_in_place(turn):
    seen = Image.new("L", (400, 200), 255)
    seen.paste(0, (30, 20, 90, 35))
    picture = seen.transpose(turn) if turn else seen
    [found] = upright(InkEngine(), picture)
    assert found.score == 0.95
    assert found.words[0].sides == ink(picture)
    reading = EngineReader(InkEngine(), None).document().read(picture)
    [word] = reading.words
    left, top, right, bottom = ink(picture)
    sides = (word.box.left, word.box.top, word.box.right, word.box.bottom)
    width, height = picture.size
    assert sides == pytest.approx((left / width, top / height, right / width, bottom / height))


def test_the_words_of_a_page_that_was_laid_flat_are_where_it_was_bent():
    page = bent(ruled())
    flat = flattened(page)
    assert unlike(flat.picture, Sides(480, 340, 535, 400), page, Sides(480, 340, 535, 400)) > 80
    for left in range(60, 910, 70):
        sides = Sides(left, 340, left + 55, 400)
        [box] = flat.bent_back([Box("bar", 0.9, 0, 0, 1, 1, words=(Word("bar", sides),))])
        assert unlike(flat.picture, sides, page, box.words[0].sides) < 30, left


def unlike(one, sides, other, other_sides):
    """By how much a part of one picture differs from a part of another, of 255."""
    parts = [
        picture.crop(tuple(round(side) for side in place)).tobytes()
        for picture, place in ((one, sides), (other, other_sides))
    ]
    return sum(abs(a - b) for a, b in zip(*parts, strict=True)) / len(parts[0])


def test_words_come_in_the_order_of_the_text():
    below, above = line("wade in rivers", y=90), line("Herons", x=150, width=100)
    words = placed(in_order([below, above]), (400, 200))
    assert [word.text for word in words] == ["Herons", "wade", "in", "rivers"]


def test_sides_are_shares_of_the_picture_and_stay_inside():
    [word] = placed([line("word", x=10, width=60)], (400, 200))
    assert (word.box.left, word.box.right) == (0.0, 0.1)
    assert (word.box.top, word.box.bottom) == (0.2, 0.3)


def test_no_more_words_are_kept_than_a_page_may_have():
    assert len(placed([line("a " * 3_000)] * 3, (400, 200))) == MOST


@pytest.mark.parametrize("turn", [None, *TURNS])
def test_words_that_are_really_read_stand_where_they_were_drawn(turn):
    reader = ocr.load(Ocr(engine="rapidocr"))
    picture, draw, marks = of_the_ferry(), ImageDraw.Draw(Image.new("L", (1, 1))), {}
    for (left, top), text in FERRY.items():
        for word in text.split():
            before = draw.textlength(text[: text.index(word)], font=FONT)
            mark = Image.new("L", picture.size, 255)
            box = draw.textbbox((left + before, top), word, font=FONT)
            mark.paste(0, tuple(round(side) for side in box))
            marks[word] = ink(mark.transpose(turn) if turn else mark)
    seen = picture.transpose(turn) if turn else picture
    found = {word.text: word.box for word in reader.document().read(seen).words}
    assert list(found) == list(marks)
    for word, sides in marks.items():
        box = found[word]
        x, y = (box.left + box.right) / 2 * seen.width, (box.top + box.bottom) / 2 * seen.height
        assert x == pytest.approx((sides.left + sides.right) / 2, abs=20), word
        assert y == pytest.approx((sides.top + sides.bottom) / 2, abs=20), word
