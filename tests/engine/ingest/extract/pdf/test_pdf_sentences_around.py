"""Sentences of a PDF that captions, feet, formulas and drawings stand between, as they are read."""

from typing import cast

import pytest
from small_pdf import Text, column, pdf

from kb.engine.ingest.extract import Ocr
from kb.engine.ingest.extract.pdf.letters import Box, Letters
from kb.engine.ingest.extract.pdf.lines import read_lines, whole_rows
from kb.engine.ingest.paragraphs import Line
from kb.engine.ingest.passages.page_ends import whole_sentences
from kb.engine.pages import Page

OPEN = [
    "The harbour was built by people who had come",
    "from far away, and who did not know how much",
    "the tide would rise in spring. They set their",
    "walls too low, and so the first storm that was",
]
REST = [
    "strong enough went over all of them and took",
    "the cranes with it. Nobody was hurt, as it was",
    "night, but the ships that lay there were lost.",
]
FIRST_SENTENCES = " ".join([*OPEN, *REST[:2]]).removesuffix(" Nobody was hurt, as it was")


@pytest.fixture
def read(extracted):
    def read(*pages: list[Text]) -> list[Page]:
        return whole_sentences(
            list(extracted(pdf(*pages), "ours.pdf", ocr=Ocr(engine="off")).pages)
        )

    return read


def paragraphs(page: Page) -> list[str]:
    return [" ".join(part.split()) for part in page.text.split("\n\n")]


def test_a_sentence_goes_on_below_a_caption_as_large_as_the_text(read):
    caption = [Text("FIG. 1. The harbour and the sea", 120, 760)]
    one, two = read(column(OPEN), [*caption, *column(REST, 72, 720)])
    assert paragraphs(one) == [FIRST_SENTENCES]
    assert paragraphs(two)[0] == caption[0].text


def test_a_paragraph_about_a_figure_goes_on_in_the_next_column(read):
    about = ["All of it is shown in Figure 5. The harbour was", *OPEN[1:]]
    [page] = read([*column(about), *column(REST, 320)])
    assert paragraphs(page) == [" ".join([*about, *REST])]


def test_the_foot_of_a_page_is_no_end_of_a_word(read):
    torn = [*OPEN[:3], "walls too low, and so the first storm that hap-"]
    foot = Text("To appear in the Journal of Harbours, 10", 72, 590)
    end = ["pened went over them.", *REST[1:]]
    one, _ = read([*column(torn, 320, 660), foot], column(end))
    assert "storm that happened went over them." in " ".join(one.text.split())
    assert foot.text in paragraphs(one)


def test_the_title_of_a_page_is_no_part_of_a_sentence(read):
    title = Text("The building of harbours in the north", 72, 760)
    one, two = read(column(OPEN), [title, *column(REST, 72, 730)])
    assert paragraphs(one) == [FIRST_SENTENCES]
    assert paragraphs(two)[0] == title.text


@pytest.mark.parametrize(
    "rest",
    ["§ 4 of the law they were to be higher than so,", "AD. It was higher than all of the others,"],
)
def test_a_sentence_goes_on_with_a_sign_or_an_abbreviation(read, rest):
    end = "walls too low, and this is what was said in"
    [page] = read([*column([*OPEN[:3], end]), *column([rest, *REST[1:]], 320)])
    assert paragraphs(page) == [" ".join([*OPEN[:3], end, rest, *REST[1:]])]


def test_a_sentence_goes_on_with_a_formula_whatever_its_last_word_is(read):
    lines = [*OPEN[:3], "walls too low. For their height we obtain"]
    formula = Text("H = b + c (3)", 140, 630)
    below = column(["where b is the base of all of the walls."], 72, 600)
    [page] = read([*column(lines), formula, *below])
    assert paragraphs(page) == [f"{' '.join(lines)} {formula.text} {below[0].text}"]


def test_a_sentence_goes_on_with_a_formula_in_the_next_column(read):
    lines = [*OPEN[:3], "walls too low. It is given by"]
    formula = [Text("[h + 2] = b", 360, 720), *column(REST, 320, 690)]
    [page] = read([*column(lines), *formula])
    assert "It is given by [h + 2] = b strong enough" in paragraphs(page)[0]


def test_code_that_ends_in_a_small_word_is_not_gone_on_with(read):
    code = column(["9: if the wall is lower than the tide then", "10: end if", "11: end for"])
    other = ["Bottom walls are raised by hand, as has been", *REST]
    [page] = read([*code, *column(other, 320, 760)])
    assert paragraphs(page)[-1] == " ".join(other)


def test_words_of_a_drawing_are_not_gone_on_with_by_the_text(read):
    label = Text("Height of walls", 380, 700)
    [page] = read([*column(OPEN), label, *column(REST, 320, 600)])
    assert paragraphs(page) == [" ".join([*OPEN, *REST]), label.text]


def test_an_index_below_an_exponent_is_on_its_line():
    parts = [
        Line("the height h 2", 72, 140, 600, 10),
        Line("n of the wall", 135, 200, 600, 10),
        Line("is given.", 72, 120, 588, 10),
    ]
    assert [line.text for line in whole_rows(parts)] == ["the height h 2n of the wall", "is given."]


def test_lines_of_a_font_without_a_height_are_as_high_as_their_letters():
    class Drawn:
        text = "see now\r\nhelpful"
        are_tight = True

        def box(self, place: int) -> Box:
            sign, row = self.text[place], 0 if place < 7 else 1
            bottom = 100 - 12 * row - (2 if sign == "p" else 0)
            top = 100 - 12 * row + (7 if sign in "hlf" else 4)
            return Box(10 + 2 * place, top, 12 + 2 * place, bottom)

        def ends(self, first: int, last: int) -> tuple[float, ...]:
            boxes = self.box(first), self.box(last)
            return tuple(s for box in boxes for s in (box.left, box.top, box.right, box.bottom))

    lines = read_lines(cast(Letters, Drawn()))
    assert [(line.bottom, line.height) for line in lines] == [(100, 4), (86, 9)]
