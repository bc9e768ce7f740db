"""Pictures in, text out: which way up, by which engine, and whether it is to be believed."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from drawn_pages import FERRY, bent, of_the_ferry, ruled
from PIL import Image, ImageDraw
from PIL.Image import Transpose
from raising import raising

from kb.engine.errors import ExtractionFailed, OcrFailed, StartupError
from kb.engine.ingest import ocr
from kb.engine.ingest.ocr import Ocr, tesseract
from kb.engine.ingest.ocr.boxes import Box, Sides, Word
from kb.engine.ingest.ocr.choice import LONG, EngineReader
from kb.engine.ingest.ocr.dewarp import flattened
from kb.engine.ingest.ocr.orientation import upright
from kb.engine.ingest.ocr.script import is_readable

PICTURE = Image.new("L", (400, 200), 255)
ENGLISH = "The ferry from the islands arrived forty minutes late because of the fog"


def box(text: str, score: float = 0.99, width: float | None = None) -> Box:
    """A piece of a line 30 pixels high; Latin letters are half as wide as high."""
    return Box(text, score, 500, 100, len(text) * 15 if width is None else width, 30)


class FakeEngine:
    """Answers one picture after the other as it was told, then again with the last answer."""

    def __init__(self, *answers: list[Box], dpi=200, sure=0.8, turns=(Transpose.ROTATE_180,)):
        self.answers = list(answers)
        self.dpi, self.sure, self.turns = dpi, sure, turns
        self.shrinks = True
        self.pictures = []

    def boxes(self, picture):
        self.pictures.append(picture)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


class BrokenEngine(FakeEngine):
    def boxes(self, picture):
        raise PermissionError("may not start programs here")


def test_text_that_is_read_with_certainty_is_read_once():
    engine = FakeEngine([box("upright")])
    assert upright(engine, PICTURE) == [box("upright")]
    assert len(engine.pictures) == 1


def test_text_that_is_not_is_read_again_on_its_head_and_the_surer_is_kept():
    engine = FakeEngine([box("umop apisdn", 0.6)], [box("upside down")])
    assert upright(engine, PICTURE) == [box("upside down")]
    blurred = FakeEngine([box("blurred", 0.7)], [box("pernlq", 0.5)])
    assert upright(blurred, PICTURE) == [box("blurred", 0.7)]


def on_a_screen(title_height: int = 60) -> tuple[Image.Image, list[Box]]:
    """A large title, small letters below it, and what an engine reads of that from afar."""
    screen = Image.new("RGB", (2_400, 1_400), "black")
    screen.paste("white", (100, 100, 900, 100 + title_height))
    for left in range(100, 1_000, 10):
        for top in range(600, 1_000, 30):
            screen.paste("silver", (left, top, left + 6, top + 12))
    middle = 100 + title_height / 2
    sides = Sides(100, 100, 900, 100 + title_height)
    words = (Word("A title", sides),)
    return screen, [Box("A title", 0.99, 500, middle, 800, title_height, words=words)]


def test_small_letters_on_a_large_screen_are_read_from_nearby():
    screen, title = on_a_screen()
    below = box("small letters")
    engine = FakeEngine(title, [below])
    assert [each.text for each in upright(engine, screen)] == ["A title", "small letters"]
    _, nearby = engine.pictures
    assert nearby.height < 700  # the title is not looked at again
    assert max(screen.size) > max(nearby.size) > 500


def test_a_title_in_small_letters_is_read_again_with_what_was_not_seen_beside_it():
    screen, title = on_a_screen(title_height=20)
    engine = FakeEngine(title, [box("The title"), box("small letters")])
    assert [each.text for each in upright(engine, screen)] == ["The title", "small letters"]


def test_an_engine_that_looks_at_pictures_as_they_are_does_so_once():
    screen, title = on_a_screen()
    engine = FakeEngine(title)
    engine.shrinks = False
    assert upright(engine, screen) == title
    assert len(engine.pictures) == 1


def test_a_bent_page_is_laid_flat_and_a_flat_one_left_alone():
    assert flattened(ruled()) is None
    assert flattened(Image.new("L", (900, 700), 255)) is None
    flat = flattened(bent(ruled()))
    bar = flat.picture.crop((70, 56, 930, 80)).resize((1, 24)).tobytes()
    assert min(bar) < 90  # a row that is black but for the gaps between words
    middle = bent(ruled()).crop((70, 56, 930, 80)).resize((1, 24)).tobytes()
    assert min(middle) > 120


def test_a_page_of_which_a_long_line_fails_is_read_again_laid_flat_if_it_is_bent():
    failing = [box("x" * 40, 0.85, width=900)]
    engine = FakeEngine(failing, [box(ENGLISH)])
    assert upright(engine, bent(ruled())) == [box(ENGLISH)]
    assert len(engine.pictures) == 2
    straight = FakeEngine(failing)
    assert upright(straight, ruled()) == failing
    assert len(straight.pictures) == 1


def test_a_page_that_does_not_get_better_by_laying_it_flat_is_left_as_it_was():
    failing = [box("x" * 40, 0.85, width=900)]
    assert upright(FakeEngine(failing, [box("x", 0.99)]), bent(ruled())) == failing


def test_a_picture_without_text_is_not_turned():
    engine = FakeEngine([])
    assert upright(engine, PICTURE) == []
    assert len(engine.pictures) == 1


def test_a_script_that_the_engine_reads_nothing_of_is_not_readable():
    assert is_readable([box(ENGLISH)] * 3)
    assert not is_readable([box("  ,   . 14 ", width=1_000)] * 3)
    assert not is_readable([box("", width=1_000)] * 3)


def test_a_script_that_the_engine_knows_in_part_is_not_readable():
    assert not is_readable([box("λιεναρχε αταγφει ε πλ πυ πανει στ λινι ν ρτη")] * 3)
    assert is_readable([box("The angle α is π/2 where λ is the wavelength of the light")] * 3)


@pytest.mark.parametrize(
    "text",
    [
        "bn mươi phút vì sương mù Thuyn trưng báo cáo có 212 hành khách",
        "Văn phng cng ghi chp mi con tu cp bn Vo th Ba chuyn ph t cc đo",
    ],
    ids=["letters that only Vietnamese has", "words that have lost their letters"],
)
def test_what_the_engine_knows_in_part_is_not_readable(text):
    assert not is_readable([box(text)] * 3)


@pytest.mark.parametrize(
    "text",
    [
        "港务处为每一艘进港的船只做登记三月十四日星期二从群岛开来的渡轮",
        "港の事務所では入港するすべての船を帳簿に記録しています",
        "Order 4711-XZ Part no. AB-12/7 Qty 3 EUR 17.90 IBAN DE02 1203 0000",
        "1,204.77 228.91 1,433.68 19 % 2023 2022 2021 14,544 14,694",
    ],
)
def test_what_the_engine_knows_is_readable(text):
    wide = 30 if ord(text[0]) > 0x3000 else 15
    assert is_readable([box(text, width=len(text) * wide)] * 3)


def test_a_few_marks_are_no_script():
    assert is_readable([box("", width=90)])


def test_a_short_line_of_which_not_a_letter_is_read_is_in_no_script_that_is_known():
    assert not is_readable([box("", width=220)])
    assert not is_readable([box(" ,", width=220)])
    assert is_readable([replace(box("", width=220), angle=30.0)])  # as there are in photographs
    assert is_readable([box("A", width=220)])


def test_letters_that_the_engine_is_not_sure_of_are_others():
    assert not is_readable([box("LAACILU al UXuO CXIUIL CALL LCAL LIAO", 0.77)] * 3)


def read(reader: EngineReader, pages: int = 1, times: int = 1):
    reading = reader.document(pages)
    return [reading.read(PICTURE) for _ in range(times)]


def test_an_unknown_script_is_told_with_what_to_do():
    [found] = read(EngineReader(FakeEngine([box("", width=1_000)]), None))
    assert found.text == ""
    assert "install tesseract" in found.doubt
    assert "KB_OCR_LANGUAGES" in found.doubt


def test_an_unknown_script_is_read_by_tesseract_if_it_can_and_so_is_the_rest():
    rapid = FakeEngine([box("", width=1_000)])
    other = FakeEngine([box("Портовая контора ведёт учёт", 0.95)], sure=0.6)
    first, second = read(EngineReader(rapid, other, other_scripts=True), times=2)
    assert first.text == second.text == "Портовая контора ведёт учёт"
    assert first.doubt == ""
    assert len(rapid.pictures) == 1


def test_an_unknown_script_stays_unknown_if_tesseract_is_not_sure_either():
    rapid = FakeEngine([box("", width=1_000)])
    other = FakeEngine([box("NoptoBaA KOHTOPa", 0.4)], sure=0.6)
    [found] = read(EngineReader(rapid, other, other_scripts=True))
    assert "rapidocr cannot read" in found.doubt


def test_a_tesseract_without_other_scripts_is_not_asked_about_them():
    other = FakeEngine([box("NoptoBaA KOHTOPa", 0.95)], sure=0.6)
    [found] = read(EngineReader(FakeEngine([box("", width=1_000)]), other))
    assert "rapidocr cannot read" in found.doubt
    assert other.pictures == []


def test_a_long_scan_is_tesseracts_once_it_has_read_the_same():
    rapid, other = FakeEngine([box(ENGLISH)]), FakeEngine([box(ENGLISH, 0.95)], dpi=300, sure=0.6)
    reading = EngineReader(rapid, other).document(LONG)
    assert reading.dpi == 300
    assert [reading.read(PICTURE).text for _ in range(3)] == [ENGLISH] * 3
    assert (len(rapid.pictures), len(other.pictures)) == (1, 3)
    assert reading.dpi == 300


def test_a_long_scan_in_another_language_is_rapidocrs():
    rapid = FakeEngine([box("Das Hafenamt führt Buch über jedes Schiff das einläuft")])
    other = FakeEngine([box("Das Hafenamt fuhrt Buch Uber jedes Schiff das einlauft", 0.92)])
    reading = EngineReader(rapid, other).document(LONG)
    assert [reading.read(PICTURE).text for _ in range(3)] == [rapid.answers[0][0].text] * 3
    assert (len(rapid.pictures), len(other.pictures)) == (3, 1)
    assert reading.dpi == 200


def test_a_short_scan_is_not_tesseracts():
    rapid, other = FakeEngine([box(ENGLISH)]), FakeEngine([box(ENGLISH, 0.95)])
    read(EngineReader(rapid, other), pages=LONG - 1)
    assert other.pictures == []


def test_a_tesseract_that_cannot_be_run_is_no_trouble_unless_it_was_asked_for():
    broken = BrokenEngine([])
    [found] = read(EngineReader(FakeEngine([box(ENGLISH)]), broken), pages=LONG)
    assert found.text == ENGLISH
    with pytest.raises(ExtractionFailed, match="tesseract could not read a page"):
        read(EngineReader(None, broken))


def test_what_tesseract_cannot_read_is_told():
    [found] = read(EngineReader(None, FakeEngine([box("NoptoBaA", 0.4)], sure=0.6)))
    assert "KB_OCR_LANGUAGES" in found.doubt


def test_a_tesseract_that_is_not_there_is_told_at_the_start(monkeypatch):
    missing = tesseract.TesseractMissing("there is no tesseract on the PATH")
    monkeypatch.setattr(tesseract, "find", raising(missing))
    with pytest.raises(StartupError, match="KB_OCR_ENGINE=tesseract: there is no tesseract"):
        ocr.check(Ocr(engine="tesseract"))
    with pytest.raises(OcrFailed, match="OCR processing failed: there is no tesseract"):
        ocr.load(Ocr(engine="tesseract"))
    for engine in ("auto", "rapidocr", "off"):
        ocr.check(Ocr(engine=engine))
        assert ocr.needs(Ocr(engine=engine)) == ()


def test_a_tesseract_that_is_there_needs_its_program_and_its_data(monkeypatch, tmp_path):
    found = tesseract.Tesseract(tmp_path / "tesseract", tmp_path / "tessdata", "eng")
    monkeypatch.setattr(tesseract, "find", lambda _: found)
    assert {tmp_path / "tesseract", tmp_path / "tessdata"} <= set(ocr.needs(Ocr()))
    assert ocr.needs(Ocr(engine="rapidocr")) == ()


def test_reading_that_is_turned_off_loads_nothing():
    with pytest.raises(ValueError, match="turned off"):
        ocr.load(Ocr(engine="off"))


@pytest.mark.parametrize("turn", [None, Transpose.ROTATE_270])
def test_a_page_is_really_read_whichever_way_it_lies_and_opens_no_file(turn):
    """Turned by 270 degrees it takes both: a look that it lies, and that its head is down."""
    reader = ocr.load(Ocr(engine="rapidocr"))
    picture = of_the_ferry().transpose(turn) if turn else of_the_ferry()
    opened = _opened_by(lambda: reader.document().read(picture))
    assert opened.result.text == "\n".join(FERRY.values())
    assert opened.files == []


def test_words_along_the_axis_of_a_chart_are_read_from_bottom_to_top():
    from kb.engine.ingest.ocr.rapid import RapidEngine

    class Chart(RapidEngine):
        """With a piece that stands on its end, the first pixel of which is its beginning."""

        def __init__(self):
            pass

        def _pieces(self, picture):
            title = [(100, 10), (400, 10), (400, 40), (100, 40)]
            axis = [(10, 100), (40, 100), (40, 300), (10, 300)]
            return [np.array([[1, 0]]), np.array([[0, 1]])], np.array([title, axis], float)

        def _read(self, crops):
            return [("Ships a year", 0.99) if crop[0, 0] else ("s4!ys", 0.6) for crop in crops]

    title, axis = Chart().boxes(Image.new("L", (500, 400)))
    assert (axis.text, axis.angle, title.angle) == ("Ships a year", -90, 0)
    first, *_, last = axis.words
    assert first.sides.top > last.sides.bottom


class _opened_by:
    """What an action gives back, and the files that it opens through Python."""

    def __init__(self, action) -> None:
        self.files = []
        self._listening = True
        sys.addaudithook(self._hear)
        self.result = action()
        self._listening = False

    def _hear(self, event, arguments):
        if event == "open" and self._listening:
            self.files.append(arguments[0])


def test_a_lone_line_on_a_large_sheet_is_looked_at_from_nearby():
    sheet = Image.new("L", (2_800, 4_000), 250)
    ImageDraw.Draw(sheet).rectangle((1_000, 2_000, 1_300, 2_012), fill=20)
    word = Word("line", Sides(24, 24, 60, 36))
    engine = FakeEngine([], [replace(box("line"), words=(word,))])
    (found,) = upright(engine, sheet)
    assert [picture.size for picture in engine.pictures] == [sheet.size, (349, 61)]
    assert found.words[0].sides == Sides(1_000, 2_000, 1_036, 2_012)


def test_a_large_sheet_full_of_small_writing_is_looked_at_in_pieces():
    sheet = Image.new("L", (2_800, 4_000), 250)
    for top in range(100, 3_900, 100):
        ImageDraw.Draw(sheet).rectangle((100, top, 2_700, top + 12), fill=20)
    engine = FakeEngine([], [box("piece")])
    assert len(upright(engine, sheet)) == len(engine.pictures) - 1
    assert all(max(picture.size) <= 1_600 for picture in engine.pictures[1:])


@pytest.mark.parametrize("size", [(2_800, 4_000), (1_000, 1_200)])
def test_a_photograph_and_a_small_picture_are_looked_at_once(size):
    engine = FakeEngine([])
    photograph = Image.effect_noise((256, 256), 120).resize(size)
    assert upright(engine, photograph) == []
    assert len(engine.pictures) == 1
