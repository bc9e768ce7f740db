import pytest
from planted import text_of

from kb.engine.errors import DamagedFile, NoTextFound
from kb.engine.ingest.extract import Extraction
from kb.engine.pages import Remark

BOOK = """<?xml version="1.0" encoding="windows-1251"?>
<FictionBook xmlns="http://www.gribuser.ru/xml/fictionbook/2.0" xmlns:l="http://www.w3.org/1999/xlink">
<description><title-info><genre>nature</genre>
<author><first-name>Анна</first-name><last-name>Речная</last-name></author>
<book-title>Река</book-title><annotation><p>О цаплях.</p></annotation>
<date value="2011-04-02">весна</date><lang>ru</lang></title-info></description>
<body><title><p>Река</p></title>
<section><title><p>Глава</p><p>первая</p></title><epigraph><p>Тихо.</p></epigraph>
<p>Цапля <emphasis>стояла</emphasis> у воды<a l:href="#n1" type="note">[1]</a>.</p>
<section><title><p>Утро</p></title>
<poem><stanza><v>Первый стих</v><v>Второй стих</v></stanza></poem></section>
<table><tr><th>Птица</th><th>Число</th></tr><tr><td>цапля</td><td>7</td></tr></table></section>
</body>
<body name="notes"><section id="n1"><title><p>1</p></title><p>Серая.</p></section></body>
%s</FictionBook>"""


@pytest.fixture
def book(extracted):
    def book(text: str) -> Extraction:
        return extracted(text.encode("windows-1251"), "book.fb2")

    return book


def test_a_book_is_read_chapter_by_chapter(book):
    found = book(BOOK % "")
    assert (found.doc_type, found.format, found.title) == ("epub", "fb2", "Река")
    assert found.metadata == {
        "author": "Анна Речная",
        "language": "ru",
        "description": "О цаплях.",
        "created": "2011-04-02",
    }
    pages = list(found.pages)
    assert [page.location for page in pages] == ["annotation", "Река", "Глава первая", "1"]
    assert pages[2].text == (
        "# Глава первая\n\nТихо.\n\nЦапля стояла у воды[1].\n\n## Утро\n\n"
        "Первый стих\nВторой стих\n\n| Птица | Число |\n| цапля | 7 |"
    )
    assert pages[3].text == "# 1\n\nСерая."


def test_text_beside_the_paragraphs_is_read(book):
    loose = "<body><section>Море <strong>было</strong><p>Тихо.</p><code>f(x)</code> да<cite>"
    pages = list(book(BOOK % f"{loose}Так<p>Вот.</p></cite></section></body>").pages)
    assert pages[-1].text == "Море было\n\nТихо.\n\nf(x) да\n\nТак\n\nВот."


def test_pictures_that_are_not_read_are_told(book):
    shown = "<body><section><p>Here: <image l:href='#a'/></p></section></body>"
    found = list(book(BOOK % shown).pages)
    assert [item.text for item in found if isinstance(item, Remark)] == ["its picture was not read"]


def test_a_book_that_is_not_quite_xml_is_read_as_far_as_it_goes(book):
    assert "Цапля" in text_of(book((BOOK % "").replace("</emphasis>", "")))


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("<FictionBook><description/></FictionBook>", DamagedFile),
        ("<FictionBook><body/></FictionBook>", NoTextFound),
        ('<!DOCTYPE a [<!ENTITY b "c">]><FictionBook><body/></FictionBook>', DamagedFile),
    ],
)
def test_a_book_without_text_is_refused(book, text, error):
    with pytest.raises(error):
        book(text)
