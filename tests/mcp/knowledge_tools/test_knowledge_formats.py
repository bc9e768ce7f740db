"""The eight formats by their path in, passages with their page out."""

import pytest
from knowledge_examples import SUPPORTED

# By file: its format, how its text was had, and a question with a word of the answer.
FILES = {
    "report.pdf": ("pdf", "text_extraction", "leftwort opens the first column", "leftwort"),
    "report.docx": ("docx", "text_extraction", "plain badger in the otter chapter", "badger"),
    "deck.pptx": ("pptx", "text_extraction", "bulleted macaw parrot facts", "macaw"),
    "budget.xlsx": ("xlsx", "text_extraction", "total pistachio region", "pistachio"),
    "page.html": ("html", "text_extraction", "htmlparagraphword oldest crane", "htmlparagraphword"),
    "drawing.svg": ("svg", "text_extraction", "map of the harbour svgtitleword", "svgtitleword"),
}
PICTURES = {
    "sign.png": ("png", "ocr"),
    "photograph.jpg": ("jpg", "image_analysis"),
}


def test_every_format_is_tried():
    tried = {row[0] for row in (*FILES.values(), *PICTURES.values())}
    assert tried == set(SUPPORTED)


@pytest.mark.parametrize("name", list(FILES))
async def test_a_document_is_added_by_its_path_and_found(http_knowledge, library, name):
    ending, method, query, word = FILES[name]
    added = await http_knowledge("knowledge-add", file_path=str(library / name), **{"async": False})
    assert added["filename"] == name
    assert added["processing_method"] == method
    [shown] = (await http_knowledge("knowledge-show"))["documents"]
    assert (shown["format"], shown["processing_method"]) == (ending, method)
    found = await http_knowledge("knowledge-search", query=query, filters={"format": ending})
    best = found["results"][0]
    assert best["document_id"] == added["document_id"]
    assert best["metadata"]["format"] == ending
    assert word in best["chunk_text"]


@pytest.mark.parametrize("name", list(PICTURES))
async def test_a_picture_is_added_by_its_path(http_knowledge, library, name):
    ending, method = PICTURES[name]
    added = await http_knowledge("knowledge-add", file_path=str(library / name), **{"async": False})
    assert added["processing_method"] == method
    [shown] = (await http_knowledge("knowledge-show"))["documents"]
    assert (shown["filename"], shown["format"]) == (name, ending)


@pytest.mark.parametrize(
    ("given", "ending"), [("page.html", "htm"), ("page.html", "HTML"), ("photograph.jpg", "jpeg")]
)
async def test_endings_spelt_otherwise_are_one_format(
    http_knowledge, library, tmp_path, given, ending
):
    name = f"copy-of-it.{ending}"
    (library / name).write_bytes((library / given).read_bytes())
    await http_knowledge.added(library / name)
    [shown] = (await http_knowledge("knowledge-show"))["documents"]
    assert shown["format"] == given.rpartition(".")[2]
    assert shown["filename"] == name


async def test_a_passage_names_its_page(http_knowledge, library):
    await http_knowledge.added(library / "report.pdf")
    for word, page in (
        ("anchorwort", 1),
        ("leftwort", 2),
        ("Tablewort", 3),
        ("formpagewort", 4),
        ("turnedwort", 5),
        ("attachedwort", None),
    ):
        found = await http_knowledge("knowledge-search", query=word)
        best = found["results"][0]
        assert word in best["chunk_text"]
        assert best["metadata"]["page_num"] == page


async def test_where_there_are_no_pages_there_is_no_number(http_knowledge, library):
    await http_knowledge.added(library / "page.html")
    found = await http_knowledge("knowledge-search", query="crane")
    assert {result["metadata"]["page_num"] for result in found["results"]} == {None}


async def test_pages_can_be_read_as_pictures_though_they_have_text(http_knowledge, library, kept):
    added = await http_knowledge(
        "knowledge-add", file_path="scan.pdf", force_ocr=True, **{"async": False}
    )
    assert added["processing_method"] == "ocr"
    found = await http_knowledge("knowledge-search", query="Typedwort")
    assert found["results"][0]["metadata"]["page_num"] == 1
