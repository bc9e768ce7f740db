"""Pictures in, their text or a few words about them out."""

from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from small_archives import blank, saved

from kb.engine.errors import ContentTooLarge, DamagedFile
from kb.engine.ingest import ocr
from kb.engine.ingest.extract.extraction import Extraction, Ocr, OcrNeeded, Source
from kb.engine.ingest.extract.pictures import image
from kb.engine.ingest.extract.pictures.description import dominant_colours
from kb.engine.ingest.extract.pictures.inside.picture import may_hold_text
from kb.engine.ingest.ocr import Recognised
from kb.engine.pages import Unread

DOCUMENTS = Path(__file__).parents[4] / "fixtures" / "documents"
OFF = Ocr(engine="off")
LONG_TEXT = "a sentence that is long enough to stand for itself " * 4


@pytest.fixture
def save(tmp_path):
    def save(picture: Image.Image | bytes, name: str, **options) -> Source:
        path = tmp_path / name
        if isinstance(picture, bytes):
            path.write_bytes(picture)
        else:
            picture.save(path, **options)
        return Source(path, name)

    return save


def fixture(name: str, **options) -> Extraction:
    return image.extract(Source(DOCUMENTS / name, name, **options))


def words(text: str, size: tuple[int, int] = (600, 120), ground="white", ink="black", mode="RGB"):
    picture = Image.new(mode, size, ground)
    ImageDraw.Draw(picture).text((20, 30), text, fill=ink, font=ImageFont.load_default(40))
    return picture


def test_a_photograph_is_put_in_words_with_what_its_camera_knows(reader):
    reader.answer = Recognised("", 0.0)
    extraction = fixture("photograph.jpg")
    assert (extraction.doc_type, extraction.format) == ("image", "jpg")
    assert extraction.metadata == {
        "author": "Ada Lovelace",
        "created": "2023-03-14T15:09:26",
        "camera": "Canon EOS 5D",
        "dimensions": "320 × 240",
        "latitude": 48.13708,
        "longitude": -11.57542,
    }
    [page] = extraction.pages
    assert page.method == "image"
    assert page.text == (
        "captionwort at the lake\n"
        "Photograph (JPG, 320 × 240 pixels)."
        " Taken on 14 March 2023 at 15:09 with Canon EOS 5D."
        " Place: 48.13708° north, 11.57542° west. Mostly blue and white."
    )


def test_the_text_in_a_picture_is_really_read_the_way_the_camera_was_held():
    ocr.hold(ocr.load(Ocr(engine="rapidocr")))
    try:
        [page] = fixture("sign.png").pages
    finally:
        ocr.hold(None)
    assert page.method == "ocr"
    assert "No mooring at the signwort quay" in page.text
    assert "between 22:00 and 06:00" in page.text
    assert "Picture (PNG, 760 × 220 pixels)" in page.text


def test_a_picture_asks_for_a_reader():
    with pytest.raises(OcrNeeded) as caught:
        list(fixture("sign.png").pages)
    assert caught.value.page_number == 1


def test_with_reading_turned_off_a_picture_is_put_in_words(reader):
    [page] = fixture("sign.png", ocr=OFF).pages
    assert (page.method, reader.pictures) == ("image", [])


def test_a_picture_full_of_text_is_its_text_and_its_caption(reader):
    reader.answer = Recognised(LONG_TEXT, 0.99)
    [page] = fixture("photograph.jpg").pages
    assert page.text == f"captionwort at the lake\n\n{LONG_TEXT.strip()}"


def test_a_script_that_cannot_be_read_is_told_beside_the_words_about_the_picture(reader):
    reader.answer = Recognised("3 - 3", 0.9, "seems to be written in a script")
    page, unread = fixture("sign.png").pages
    assert page.method == "image"
    assert "3 - 3" not in page.text
    assert unread == Unread(1, "seems to be written in a script")


def test_a_frame_that_cannot_be_read_is_told_in_its_place(save, reader):
    frames = [Image.new("L", (100, 100), 255)] * 2
    source = save(frames[0], "fax.tiff", save_all=True, append_images=frames[1:])
    reader.answer = Recognised("3", 0.9, "seems to be written in a script")
    assert [unread.number for unread in image.extract(source).pages] == [1, 2]


def test_specks_are_no_text(reader):
    reader.answer = Recognised("_ .", 0.6)
    [page] = fixture("photograph.jpg").pages
    assert page.method == "image"


@pytest.mark.parametrize(
    ("ending", "expected"),
    [
        ("png", "png"),
        ("jpg", "jpg"),
        ("jpeg", "jpg"),
        ("gif", "gif"),
        ("webp", "webp"),
        ("bmp", "bmp"),
        ("tif", "tiff"),
        ("tiff", "tiff"),
    ],
)
def test_every_format_is_read(save, reader, ending, expected):
    extraction = image.extract(save(words("Hello"), f"a.{ending}"))
    assert (extraction.doc_type, extraction.format) == ("image", expected)
    [page] = extraction.pages
    assert page.text.startswith("600 by 120")


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16"])
def test_every_kind_of_pixel_is_read(save, reader, mode):
    picture = Image.new("L", (300, 100), 255)
    picture.paste(0, (20, 20, 280, 80))
    if mode == "I;16":
        picture = picture.convert("I").point(lambda value: value * 257).convert("I;16")
    name = "a.tiff" if mode in ("CMYK", "I;16") else "a.png"
    list(image.extract(save(picture.convert(mode), name)).pages)
    gray = reader.pictures[0].convert("L")
    assert gray.getpixel((5, 5)) > 240
    assert gray.getpixel((150, 50)) < 15


@pytest.mark.parametrize(("ink", "ground"), [("white", 0), ("black", 255)])
def test_what_is_drawn_on_nothing_stands_out_from_its_ground(save, reader, ink, ground):
    drawn = words("Hello", ground=(0, 0, 0, 0), ink=ink, mode="RGBA")
    list(image.extract(save(drawn, "a.png")).pages)
    assert reader.pictures[0].convert("L").getpixel((0, 0)) == ground


def test_dark_words_beside_a_light_drawing_on_nothing_stand_out_as_it_does(save, reader):
    picture = words("A map of the country", ground=(0, 0, 0, 0), ink=(0, 0, 0, 255), mode="RGBA")
    picture.paste((240, 245, 250, 255), (0, 80, 600, 120))
    list(image.extract(save(picture, "a.png")).pages)
    (shown,) = reader.pictures
    assert shown.getpixel((2, 2)) == (128, 128, 128)


def test_each_frame_of_a_tiff_is_a_page(save, reader):
    frames = [Image.new("L", (100 * n, 100), 255) for n in (2, 3, 4)]
    source = save(frames[0], "fax.tiff", save_all=True, append_images=frames[1:])
    extraction = image.extract(source)
    assert extraction.page_count == 3
    pages = list(extraction.pages)
    assert [page.number for page in pages] == [1, 2, 3]
    assert [page.text for page in pages] == ["200 by 100", "300 by 100", "400 by 100"]
    assert reader.pages == 3
    rest = image.extract(Source(source.path, "fax.tiff", start=2)).pages
    assert [page.number for page in rest] == [3]


def test_of_what_moves_the_first_frame_is_read(save, reader):
    frames = [words("one"), words("two")]
    source = save(frames[0], "a.gif", save_all=True, append_images=frames[1:])
    assert len(list(image.extract(source).pages)) == 1


def test_a_picture_of_a_long_page_is_cut_between_its_lines(save, reader):
    page = Image.new("L", (400, 4_000), 255)
    for top in range(20, 3_980, 40):
        page.paste(0, (30, top, 370, top + 30))
    parts = list(image.extract(save(page, "long.png")).pages)
    assert [part.location for part in parts] == [f"part {n} of 7" for n in range(1, 8)]
    assert sum(picture.height for picture in reader.pictures) == 4_000
    for picture in reader.pictures:
        for edge in (0, picture.height - 1):
            assert picture.crop((0, edge, 400, edge + 1)).getextrema() == (255, 255)


def test_a_large_photograph_is_read_at_a_bearable_size(save, reader):
    list(image.extract(save(Image.new("L", (8_000, 6_000), 128), "large.jpg")).pages)
    assert reader.pictures[0].size == (4_000, 3_000)


def test_an_icon_is_not_read(save, reader):
    [page] = image.extract(save(Image.new("L", (16, 16), 0), "icon.bmp")).pages
    assert reader.pictures == []
    assert page.text == "Picture (BMP, 16 × 16 pixels). Mostly black."


@pytest.mark.parametrize("name", ["bomb.png", "bomb.gif", "bomb.tiff"])
def test_too_many_pixels_are_refused_by_the_header_alone(save, reader, monkeypatch, name):
    source = save(Image.new("1", (200, 200)), name)
    monkeypatch.setattr(image, "MAX_PIXELS", 30_000)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 30_000)
    monkeypatch.setattr(Image.Image, "load", lambda _: pytest.fail("it was decoded"))
    with pytest.raises(ContentTooLarge, match=rf"{name} has more than"):
        list(image.extract(source).pages)


def test_a_later_frame_of_too_many_pixels_is_refused(save, reader, monkeypatch):
    frames = [Image.new("1", (100, 100)), Image.new("1", (200, 200))]
    source = save(frames[0], "fax.tiff", save_all=True, append_images=frames[1:])
    monkeypatch.setattr(image, "MAX_PIXELS", 30_000)
    pages = image.extract(source).pages
    next(pages)
    with pytest.raises(ContentTooLarge):
        next(pages)


@pytest.mark.parametrize("ending", ["png", "jpg", "gif", "webp", "bmp", "tiff"])
@pytest.mark.parametrize("kept", [0.5, 0.02])
def test_half_a_picture_is_damaged(save, reader, ending, kept):
    noise = Image.effect_noise((300, 200), 80)
    whole = save(noise, f"a.{ending}").path.read_bytes()
    source = save(whole[: int(len(whole) * kept)], f"half.{ending}")
    with pytest.raises(DamagedFile, match=rf"half\.{ending} is damaged"):
        list(image.extract(source).pages)


def test_captions_are_found_wherever_people_write_them(save, reader):
    reader.answer = Recognised("", 0.0)
    xmp = (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf'
        '-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/"><rdf:Description><dc:title>'
        '<rdf:Alt><rdf:li xml:lang="x-default">Titlewort</rdf:li></rdf:Alt></dc:title><dc:subject>'
        "<rdf:Bag><rdf:li>lake</rdf:li><rdf:li>boat</rdf:li></rdf:Bag></dc:subject>"
        "</rdf:Description></rdf:RDF></x:xmpmeta>"
    )
    picture = Image.new("RGB", (64, 64), "red")
    exif = picture.getexif()
    exif[0x9C9C] = "Windowswort".encode("utf-16-le") + b"\0\0"  # XPComment
    exif.get_ifd(0x8769)[0x9286] = b"ASCII\0\0\0Commentwort"
    source = save(picture, "a.jpg", exif=exif, xmp=xmp.encode(), comment=b"Jpegwort")
    extraction = image.extract(source)
    assert (extraction.title, extraction.metadata["keywords"]) == ("Titlewort", "lake, boat")
    [page] = extraction.pages
    assert page.text.splitlines()[:4] == ["Titlewort", "Windowswort", "Commentwort", "Jpegwort"]


@pytest.mark.parametrize(
    "hostile",
    [
        b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>',
        b"<x" + b"<y>" * 50_000,
        b"not xml",
        b"",
    ],
)
def test_hostile_captions_are_none(save, reader, hostile):
    reader.answer = Recognised("", 0.0)
    source = save(Image.new("RGB", (64, 64), "red"), "a.jpg", xmp=hostile[:60_000] or b" ")
    [page] = image.extract(source).pages
    assert page.text == "Picture (JPG, 64 × 64 pixels). Mostly red."


def test_colours_are_named_by_how_much_there_is_of_them():
    picture = Image.new("RGB", (100, 100), (10, 20, 90))
    picture.paste((255, 255, 255), (0, 0, 100, 30))
    picture.paste((200, 0, 0), (0, 95, 100, 100))
    assert dominant_colours(picture) == ["dark blue", "white"]


@pytest.mark.parametrize(
    ("width", "height", "may"),
    [(120, 30, True), (64, 64, False), (80, 80, True), (400, 20, False), (60, 24, False)],
)
def test_a_small_picture_is_looked_at_if_it_has_the_shape_of_a_word(width, height, may):
    assert may_hold_text(saved(blank(width, height))) is may
