import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import read, text_of

from kb.engine.errors import KbError, NestedTooDeep, NoTextFound
from kb.engine.ingest.extract import Extraction, Source, extract


def test_lists_tables_and_notes_have_their_form():
    text = text_of(read("document.rtf"))
    assert "- A bullet odtbulletword\n  - Set in odtinnerbulletword\n1. First odtnumberword" in text
    assert "| Ship odttablehead | Tons | Flag \\| port |\n| Aurora odtcellword | 120 |" in text
    assert "Comment by Jon Vale: Is that odtcommentword true?" in text
    assert "[Image: Crane odtalttitleword. A red crane odtaltdescword]" in text


@pytest.fixture
def rtf(extracted):
    def rtf(body: str, head: str = "") -> Extraction:
        whole = f"{{\\rtf1\\ansi\\ansicpg1252\\deff0{head}{body}}}"
        return extracted(whole.encode("latin-1"), "file.rtf")

    return rtf


FONTS = (
    "{\\fonttbl{\\f0\\fcharset0 Calibri;}{\\f1\\fcharset204 Arial;}{\\f2\\fcharset128 Mincho;}"
    "{\\f3\\fcharset2 Wingdings;}{\\f4\\fcharset2 Symbol;}{\\f5\\fcharset78 Osaka;}}"
)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("caf\\'e9", "café"),
        ("caf\xe9", "café"),
        ("\\f1\\'cf\\'f0\\'e8\\'e2\\'e5\\'f2", "Привет"),
        ("\\f2\\'93\\'fa\\'96\\'7b", "日本"),
        ("\\f5\\'93\\'fa\\'96\\'7b", "日本"),
        ("\\f3\\'fc", "✓"),
        ("\\f4\\'61\\u-3999?", "αα"),
        ("\\u8364? \\u8364\\'80", "€ €"),
        ("\\uc2\\u8364 ab\\uc0\\u8364 c", "€€c"),
        ("\\u-10179?\\u-8704?", "😀"),
        ("a\\~b\\_c\\-d \\{e\\} \\\\f", "a\u00a0b-cd {e} \\f"),
        ("\\ldblquote x\\rdblquote\\emdash\\bullet", "“x”—•"),
        ("seen{\\v hidden}{\\deleted gone}{\\*\\unknown skipped} here", "seen here"),
        ("{\\field{\\*\\fldinst HYPERLINK}{\\fldrslt link}}", "link"),
        ("a{\\pict\\wmetafile8 0102aa}\\bin3 }}{b", "ab"),
        ("{\\object{\\*\\objdata 00}{\\result shown}}", "shown"),
        ("one\\line two\\par", "one\ntwo"),
        ("lone \\u-10179? half", "lone  half"),
    ],
)
def test_text_is_read_in_whatever_way_it_is_written(rtf, written, text):
    assert text_of(rtf(written, FONTS)) == text


def test_headings_come_from_styles_and_outline_levels(rtf):
    head = "{\\stylesheet{\\s1\\outlinelevel0 Titre;}{\\s2 heading 2;}{\\s3 Normal;}}"
    body = "\\pard\\s1 A\\par\\pard\\s2 B\\par\\pard\\s3 C\\par\\pard\\outlinelevel2 D\\par"
    assert text_of(rtf(body, head)) == "# A\n\n## B\n\nC\n\n### D"


def test_marks_of_lists_are_read_before_and_after_the_paragraph_is_set(rtf):
    body = (
        "{\\listtext\\pard\\plain 7.\\tab}\\pard\\ls1 one\\par{\\listtext\\pard 8.\\tab}two\\par"
        "{\\listtext o\\tab}\\pard\\ilvl1\\ls1 inner\\par{\\listtext 9.\\tab}\\par\\pard after\\par"
    )
    assert text_of(rtf(body)) == "7. one\n8. two\n  - inner\n\nafter"


def test_pages_are_numbered_only_if_their_count_agrees(rtf):
    body = "one\\par\\page two\\par"
    assert [page.number for page in rtf(body).pages] == [1, 2]
    assert [page.number for page in rtf(body, "{\\info{\\nofpages2}}").pages] == [1, 2]
    assert [page.number for page in rtf(body, "{\\info{\\nofpages7}}").pages] == [None]
    assert [page.number for page in rtf("one\\par").pages] == [None]


def test_a_new_section_begins_a_page_unless_it_says_otherwise(rtf):
    assert [page.number for page in rtf("one\\sect\\sectd two\\par").pages] == [1, 2]
    assert [page.number for page in rtf("one\\sect\\sectd\\sbknone two\\par").pages] == [None]


HOSTILE = {
    "groups": "{" * 1_900 + "needle" + "}" * 1_900,
    "cells": "\\cell" * 100_000 + "\\row\\pard needle",
    "rows": "\\trowd" * 100_000 + " needle",
    "unicode": "\\u8364?" * 50_000 + "needle",
    "bytes": "\\'e9" * 100_000 + " needle",
    "destinations": "{\\*\\x}" * 50_000 + "needle",
    "paragraphs": "\\par" * 100_000 + " needle",
    "backslashes": "\\" * 100_000 + "needle",
    "bytes to skip": "needle\\bin999999999 x",
    "too many ends": "needle" + "}" * 100_000,
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_hostile_text_is_read_in_time(rtf, body):
    began = time.process_time()
    assert "needle" in text_of(rtf(body))
    assert time.process_time() - began < 15


def test_nesting_beyond_measure_is_refused(rtf):
    with pytest.raises(NestedTooDeep, match=r"file\.rtf is nested too deeply"):
        rtf("{" * 100_000)


def test_a_file_without_words_has_no_text(rtf):
    with pytest.raises(NoTextFound, match=r"file\.rtf has no text"):
        rtf("{\\fonttbl{\\f0 Calibri;}}\\pard\\par")


@given(st.text(alphabet="\\{}*' \n;abcdepru0123-\x80\xff", max_size=200))
def test_any_text_is_read_or_refused(tmp_path_factory, body):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(b"{\\rtf1 " + body.encode("latin-1"))
    try:
        outcome = text_of(extract(Source(path, "a.rtf")))
    except KbError as error:
        outcome = error.message if "a.rtf" in error.message else ""
    assert outcome
