"""SVG whose words are drawn as shapes."""

import pytest

# Letters by the strokes of a grid of 3 × 5, each a rectangle: x, y, width, height.
LETTERS = {
    "E": [(0, 0, 1, 5), (1, 0, 2, 1), (1, 2, 2, 1), (1, 4, 2, 1)],
    "F": [(0, 0, 1, 5), (1, 0, 2, 1), (1, 2, 2, 1)],
    "H": [(0, 0, 1, 5), (1, 2, 1, 1), (2, 0, 1, 5)],
    "I": [(1, 0, 1, 5)],
    "L": [(0, 0, 1, 5), (1, 4, 2, 1)],
    "T": [(0, 0, 3, 1), (1, 1, 1, 4)],
}


def drawing(word, extra=""):
    paths = []
    for at, letter in enumerate(word):
        strokes = [
            f"M{at * 40 + 10 * x + 20} {10 * y + 20}h{10 * width}v{10 * height}h{-10 * width}z"
            for x, y, width, height in LETTERS[letter]
        ]
        paths.append(f'<path d="{" ".join(strokes)}"/>')
    size = f'viewBox="0 0 {40 * len(word) + 40} 90"'
    inside = "".join(paths)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{extra}{inside}</svg>'.encode()


def test_words_drawn_as_shapes_are_read(api):
    job = api.add_file(drawing("TELLTHEFILE"), "a.svg")
    document = api.document(job["document_id"])
    assert "TELLTHEFILE" in document["chunks"][0]["text"].replace(" ", "")
    assert document["processing_method"] == "ocr"


@pytest.mark.parametrize(
    "content",
    [
        drawing("TELLTHEFILE", "<text>Words that can be read without any picture of them</text>"),
        drawing("HI"),
    ],
    ids=["with words of its own", "an icon"],
)
def test_a_drawing_with_words_and_an_icon_are_not_drawn(api, content):
    job = api.add_file(content, "a.svg")
    assert api.document(job["document_id"])["processing_method"] in (
        "text_extraction",
        "image_analysis",
    )
