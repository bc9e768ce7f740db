import ast
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_archives import zipped
from small_office import links

from kb.engine.errors import KbError, NoTextFound, TextTooLong, UnsupportedFormat
from kb.engine.ingest import extract as extract_package
from kb.engine.ingest.extract import Extraction, Source, extract
from kb.engine.ingest.extract.charset import decode
from kb.engine.ingest.extract.formats import BY_KIND
from kb.engine.ingest.extract.plain import text as text_module
from kb.kinds import DOC_TYPES

FIXTURES = Path(__file__).parents[2] / "fixtures"
GERMAN = "Die Größe der Häuser überrascht schöne Mädchen, während müde Bären Käse naschen. "
RUSSIAN = "Привет, как дела? Это обычный русский текст, по которому видна кодировка. "


def text_of(extraction: Extraction) -> str:
    (page,) = extraction.pages
    return page.text


def kinds_in_source():
    """Every kind that a reader's code gives an Extraction, by name or through a variable."""
    pictures = Path(extract_package.__file__).parent / "pictures" / "inside"
    for module in Path(extract_package.__file__).parent.rglob("*.py"):
        made = ("Extraction",) if pictures in module.parents else ("Extraction", "extraction")
        nodes = list(ast.walk(ast.parse(module.read_text("utf-8"))))
        for call in nodes:
            if not isinstance(call, ast.Call) or getattr(call.func, "id", "") not in made:
                continue
            given = [call.args[0]]
            if isinstance(given[0], ast.Name):
                given = [
                    node.value
                    for node in nodes
                    if isinstance(node, ast.Assign)
                    and getattr(node.targets[0], "id", "") == given[0].id
                ]
            for part in (part for value in given for part in ast.walk(value)):
                if isinstance(part, ast.Constant):
                    yield part.value


def test_readers_assign_only_kinds_of_the_list():
    assert set(kinds_in_source()) == set(DOC_TYPES) - {"note"}


def test_every_kind_of_the_list_can_occur(tmp_path):
    names = (
        "report.pdf report.docx deck.pptx budget.xlsx document.odt budget.ods slides.odp ships.csv"
    )
    names += " document.rtf book.epub page.html mail.eml tides.json catalogue.xml sign.png"
    files = [FIXTURES / "documents" / name for name in names.split()]
    files += [FIXTURES / name for name in ("guide.md", "shapes.py", "lookups.jsonl")]
    kinds = {extract(Source(path, path.name)).doc_type for path in files}
    kinds.add(extract(Source(FIXTURES / "guide.md", "guide.txt")).doc_type)
    link = links(document="visio/a.xml")
    drawing = {"[Content_Types].xml": "", "_rels/.rels": link, "visio/a.xml": "<a/>"}
    for parts in ({"a.txt": "a"}, {"preview.jpg": "", "Index/a.iwa": ""}, drawing):
        (tmp_path / "stored").write_bytes(zipped(parts))
        kinds.add(extract(Source(tmp_path / "stored", "file")).doc_type)
    assert kinds == set(DOC_TYPES) - {"note"}


@pytest.mark.parametrize(
    ("name", "text", "title", "markup"),
    [
        ("a.adoc", "= Boats\n\n== Oars\n", "Boats", "asciidoc"),
        ("a.asciidoc", "== Oars\n", None, "asciidoc"),
        ("a.txt", "// 2024\n= Boats\n:toc:\n\n== Oars\n", "Boats", "asciidoc"),
        ("a.txt", "= Boats =\n\n== Oars ==\n", None, "text"),
        ("a.txt", "x\n= y\n\n== z\n", None, "text"),
        ("a.adoc", "Boats\n-----\n\nfloat\n", None, "asciidoc"),
        ("a.adoc", "Boats\n=====\n\nfloat\n", "Boats", "asciidoc"),
        ("a.org", "#+TITLE: Boats\n* Oars\n", "Boats", "org"),
        ("a.mediawiki", "== Oars ==\n", None, "mediawiki"),
        ("a.wiki", "no headings\n", None, "text"),
    ],
)
def test_text_is_cut_at_the_headings_of_its_language(extracted, name, text, title, markup):
    extraction = extracted(text.encode(), name)
    (page,) = extraction.pages
    assert (extraction.title, page.markup) == (title, markup)


def test_the_first_heading_of_restructured_text_is_its_title(extracted):
    text = ".. _boats:\n\n==================\n Boats and oars\n==================\n\nAll float.\n"
    assert extracted(text, "a.rst").title == "Boats and oars"
    assert extracted(text, "a.txt").title is None


def test_markdown_tells_its_title_and_its_front_matter():
    extraction = extract(Source(FIXTURES / "guide.md", "guide.md"))
    assert (extraction.doc_type, extraction.format) == ("markdown", "md")
    assert extraction.title == "Field guide"
    assert extraction.metadata == {"title": "Field guide", "edition": 3, "draft": False}
    (page,) = extraction.pages
    assert (page.markup, page.method) == ("markdown", "text")
    assert page.text == (FIXTURES / "guide.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("intro\n\n# The *real* [title](x) #\n", "The real title"),
        ("## Changes ##\n\n### More ###\n", "Changes"),
        ("\n### Changes\n\n# Title\n", "Title"),
        ("intro\n\n## Changes\n", None),
        ("Title\n=====\n\ntext", "Title"),
        ("```\n# code\n```\n\n## Second\n", None),
        ("---\ntitle: Front\n---\n# Heading\n", "Front"),
        ("---\nnot closed\n\n# Heading\n", "Heading"),
        ("#hashtag\n", None),
    ],
)
def test_the_title_is_the_front_matters_or_the_first_heading(extracted, text, title):
    assert extracted(text.encode(), "a.md").title == title


def test_front_matter_values_are_what_json_can_hold(extracted):
    text = "---\na: 1\nb: 1.5\nc: nan\nd: 'x: y'\ne: null\nf:\n  g: 1\nh: |\nbig: 1e999\n---\ntext"
    kept = {"a": 1, "b": 1.5, "c": "nan", "d": "x: y", "big": "1e999"}
    assert extracted(text, "a.md").metadata == kept


def test_a_long_front_matter_value_stays_in_the_text_alone(extracted):
    text = f"---\nshort: {'x' * 1000}\nlong: {'x' * 1001}\n---\ntext"
    extraction = extracted(text.encode(), "a.md")
    assert list(extraction.metadata) == ["short"]
    assert text_of(extraction) == text


@pytest.mark.parametrize(
    ("filename", "doc_type", "file_format"),
    [
        ("notes.txt", "text", "txt"),
        ("README", "text", "txt"),
        ("NOTES.MD", "markdown", "md"),
        ("page.markdown", "markdown", "markdown"),
        ("app.py", "code", "py"),
        ("Makefile", "code", "txt"),
        ("C:\\code\\main.rs", "code", "rs"),
        ("data.yaml", "text", "yaml"),
        ("backup.2024", "text", "txt"),
        (".profile", "text", "txt"),
    ],
)
def test_the_name_decides_between_kinds_of_text(extracted, filename, doc_type, file_format):
    extraction = extracted(b"some words", filename)
    assert (extraction.doc_type, extraction.format) == (doc_type, file_format)


def test_a_script_without_an_ending_is_code(extracted):
    assert extracted(b"#!/bin/sh\necho hello\n", "deploy").doc_type == "code"


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"Rar!\x1a\x07", "rar"),
        (b"\x7fELF\x02\x01", "program"),
        (b"text and then\0a NUL", "nuls"),
        (bytes(range(1, 30)) * 10, "binary"),
        (b"\xff\xfe" + random.Random(1).randbytes(4_000), "binary"),
    ],
)
def test_what_is_not_text_is_refused_whatever_its_name_says(extracted, data, found):
    with pytest.raises(UnsupportedFormat) as caught:
        extracted(data, "innocent.md")
    assert caught.value.details["format"] == found
    assert caught.value.details["supported"] == sorted(BY_KIND)
    assert "innocent.md" in caught.value.message
    assert "markdown" in caught.value.message


def test_data_behind_a_text_beginning_is_refused(extracted):
    script = b"#!/bin/sh\n" + b"echo unpacking\n" * 1_000
    with pytest.raises(UnsupportedFormat):
        extracted(script + bytes(range(32)) * 1_000, "setup.sh")


def test_a_text_about_pdf_is_a_text(extracted):
    said = "A PDF begins with %PDF- and ends with “%%EOF”."
    assert extracted(said, "a.txt").doc_type == "text"


@pytest.mark.parametrize(
    ("text", "charset"),
    [
        *(
            (GERMAN, each)
            for each in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252", "latin-1")
        ),
        *((RUSSIAN, each) for each in ("utf-8", "cp1251", "koi8-r", "utf-16")),
    ],
)
def test_a_text_is_read_in_every_charset(extracted, text, charset):
    assert text_of(extracted((text * 3).encode(charset), "a.txt")) == text * 3


@pytest.mark.parametrize("charset", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_text_without_a_mark_is_known_by_its_nuls(extracted, charset):
    text = "Bergen has a harbour.\nIt is deep."
    assert text_of(extracted(text.encode(charset), "a.txt")) == text


def test_text_of_east_asia_in_seven_bits(extracted):
    japanese, korean = "これは港です。", "항구는 깊다"
    assert text_of(extracted(japanese.encode("iso2022_jp"), "a.txt")) == japanese
    assert text_of(extracted(korean.encode("iso2022_kr"), "a.txt")) == korean


@pytest.mark.parametrize(
    ("word", "charset"),
    [
        ("Größe", "cp1252"),
        ("café au lait", "cp1252"),
        ("Français à côté", "cp1252"),
        ("5 µm ± 3 °C", "cp1252"),
        ("price 10 €", "cp1252"),
        ("Łódź i Kraków są ładne", "cp1250"),
        ("Привет мир", "cp1251"),
        ("日本語のテキスト", "cp932"),
        ("Ελληνικά κείμενο", "cp1253"),
    ],
)
def test_a_few_letters_are_enough_to_tell_the_charset_of_a_table(extracted, word, charset):
    rows = "x;y;1\n" * 100
    assert word in text_of(extracted(f"{rows}{word};2\n{rows}".encode(charset), "a.txt"))


def test_a_declared_charset_is_believed_if_it_fits(extracted):
    source = "# -*- coding: iso-8859-2 -*-\nname = 'Łódź'\n"
    assert text_of(extracted(source.encode("iso-8859-2"), "a.py")) == source
    for lie in ("utf-16", "rot13", "no-such-charset", "idna"):
        data = f"# coding: {lie}\nx = 'caf\u00e9'\n".encode("cp1252")
        assert "café" in text_of(extracted(data, "a.py"))


def test_one_bad_byte_does_not_turn_utf8_into_something_else(extracted):
    assert text_of(extracted((GERMAN * 3).encode() + b"\xff", "a.txt")) == GERMAN * 3 + "\ufffd"


def test_line_ends_become_newlines(extracted):
    assert text_of(extracted(b"a\r\nb\rc\nd", "a.txt")) == "a\nb\nc\nd"


@given(st.binary())
def test_no_bytes_decode_to_nul_or_half_characters(data):
    for mark in (b"", b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xff\xfe\0\0"):
        text = decode(mark + data)
        assert not any(c in "\0\r" or "\ud800" <= c <= "\udfff" for c in text)


@pytest.mark.parametrize("name", ["scan.pdf", "note.txt", "a.docx", "photo.png", "b.zip"])
def test_a_file_without_a_byte_is_called_empty(extracted, name):
    with pytest.raises(NoTextFound) as refused:
        extracted(b"", name)
    assert refused.value.message == f"{name} is empty: there is not one byte in it"


@pytest.mark.parametrize(
    "data", [b"", b" \n\t ", b"\xef\xbb\xbf", b"\xff\xfe", "\u00a0\u2003".encode()]
)
def test_a_file_without_words_has_no_text(extracted, data):
    with pytest.raises(NoTextFound) as refused:
        extracted(data, "empty.txt")
    if data:
        assert refused.value.message.startswith("empty.txt has no text in it: it may be empty")
        assert refused.value.message.endswith("and save pictures of text as pdf or png")


def test_a_text_that_is_too_long_is_refused_by_name_and_limit(extracted, monkeypatch):
    monkeypatch.setattr(text_module, "MAX_BYTES", 3 * 2**20)
    with pytest.raises(TextTooLong, match=r"big\.log is longer than 3 MB") as caught:
        extracted(b"word " * 2**20, "big.log")
    assert (caught.value.code, caught.value.status) == ("text_too_long", 413)


@given(st.binary(max_size=300), st.sampled_from(["a.md", "a.py", "a.txt", "a"]))
def test_any_file_is_read_or_refused_by_name(tmp_path_factory, data, filename):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(data)
    try:
        outcome = text_of(extract(Source(path, filename)))
    except KbError as error:
        outcome = error.message if filename in error.message else ""
    assert outcome.strip()
