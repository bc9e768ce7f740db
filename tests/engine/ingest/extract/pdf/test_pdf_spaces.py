"""PDFs whose spaces are not where their letters are apart in, words as they are seen out."""

from pathlib import Path

from small_pdf import Text, pdf

from kb.engine.ingest.extract import Ocr, Source, extract
from kb.engine.pages import Page

WIDTH = 6  # of each letter of Courier, of size 10


def read(folder: Path, pieces: list[Text], info: bytes = b"") -> str:
    path = folder / "stored"
    path.write_bytes(pdf(pieces, info=info))
    [page] = extract(Source(path, "ours.pdf", Ocr(engine="off"))).pages
    assert isinstance(page, Page)
    return page.text


def set_as(*pieces: tuple[int, str, float]) -> list[Text]:
    """Pieces of one line, each from a letter's place on, with so much behind each letter."""
    return [Text(text, 72 + WIDTH * at, 700, 10, "C", apart) for at, text, apart in pieces]


GLUED = set_as((0, "It takes a", 0), (10, "na", WIDTH), (13, "rgument", 0))
TORN = set_as((0, "Each is ne", 0), (10, "g ", -WIDTH + 0.1), (11, "ative or zero", 0))
GROFF = b"/Creator(groff version 1.23.0)"


def test_in_what_groff_made_a_distance_between_letters_is_a_space(tmp_path):
    assert read(tmp_path, GLUED, GROFF) == "It takes an argument"


def test_in_what_groff_made_a_space_below_letters_is_none(tmp_path):
    assert read(tmp_path, TORN, GROFF) == "Each is negative or zero"


def test_in_what_groff_made_a_distance_around_a_sign_is_a_space(tmp_path):
    comma = (0, "Give -o", 0), (7, ",o", WIDTH), (10, "r list.h", 0)
    stop = (18, ".S", WIDTH), (21, "ee pag", 0)
    bracket = (27, "e(", WIDTH), (30, "2)", 0)
    whole = set_as(*comma, *stop, *bracket)
    assert read(tmp_path, whole, GROFF) == "Give -o, or list.h. See page (2)"


def test_elsewhere_the_spaces_are_believed(tmp_path):
    assert read(tmp_path, GLUED) == "It takes anargument"
    assert read(tmp_path, TORN) == "Each is neg ative or zero"


def test_a_single_letter_between_two_such_distances_is_a_word(tmp_path):
    pieces = set_as((0, "It acts like", 0), (11, "eas", WIDTH), (16, "imple one", 0))
    assert read(tmp_path, pieces, GROFF) == "It acts like a simple one"


def test_letters_that_all_stand_apart_are_one_word(tmp_path):
    pieces = set_as((0, "HARBOUR", WIDTH / 2))
    assert read(tmp_path, pieces, GROFF) == "HARBOUR"


def test_last_letters_that_were_drawn_by_themselves_stay_with_their_word(tmp_path):
    wide = 0.4 * WIDTH
    pieces, at = [], 72.0
    for word in ("north", "tower", "lists", "open", "south", "harbour"):
        end = at + (WIDTH + wide) * (len(word) - 1)
        pieces += [Text(word[:-1], at, 700, 10, "C", wide), Text(word[-1] + " ", end, 700, 10, "C")]
        at = end + 3 * WIDTH
    assert read(tmp_path, pieces) == "north tower lists open south harbour"
