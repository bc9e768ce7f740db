import base64
import os
from email.message import EmailMessage

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted import pages_of, read, text_of
from small_archives import blank, saved

from kb.engine.errors import KbError, NestedTooDeep, NoTextFound
from kb.engine.ingest.extract import Extraction, Source, extract
from kb.engine.ingest.extract.mail.two_forms import only_in
from kb.engine.pages import Page, Remark
from proportion import assert_in_proportion

needs_memory_files = pytest.mark.skipif(
    not hasattr(os, "memfd_create"), reason="attachments are read on Linux"
)


def test_the_plain_form_of_a_text_is_preferred():
    first, *_ = read("mail.eml").pages
    assert "emlhtmlword" not in first.text


def test_without_files_in_memory_attachments_are_named(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    text = text_of(read("mail.eml"))
    assert "budget.ods" in text
    assert "odsrowtwoword" not in text
    assert "emlinnerword" in text


@pytest.fixture
def mail(extracted):
    def mail(data: bytes | str | EmailMessage) -> Extraction:
        return extracted(
            data.encode("latin-1") if isinstance(data, str) else bytes(data), "mail.eml"
        )

    return mail


def message(text: str = "words") -> EmailMessage:
    mail = EmailMessage()
    mail["From"] = "a@example.org"
    mail["Subject"] = "needle"
    mail.set_content(text)
    return mail


@pytest.mark.parametrize(
    ("subject", "title"),
    [
        ("=?utf-8?q?Gr=C3=BC=C3=9Fe?= =?utf-8?b?IGFuIGFsbGU=?=", "Grüße an alle"),
        ("=?iso-8859-1?q?caf=E9?= today", "café today"),
        ("=?iso-2022-jp?b?GyRCRnxLXBsoQg==?=", "日本"),
        ("=?x-unknown?b?bmVlZGxl?=", "needle"),
        ("Größe", "Größe"),
        ("=?utf-8?b?!!!?=", None),
        ("folded\n over lines", "folded over lines"),
    ],
)
def test_a_subject_is_read_however_it_is_encoded(mail, subject, title):
    extraction = mail(f"From: a@b\nSubject: {subject}\n\nwords")
    assert title is None or extraction.title == title
    assert "words" in text_of(extraction)


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [
        ("utf-8", "utf-8"),
        ("iso-8859-1", "latin-1"),
        ("x-no-such", "latin-1"),
        ("us-ascii", "latin-1"),
        ("utf-16", "latin-1"),
    ],
)
def test_a_text_is_read_whatever_charset_it_claims(mail, charset, encoding):
    head = f"From: a@b\nSubject: s\nContent-Type: text/plain; charset={charset}\n\n"
    assert "Größe der Häuser" in text_of(mail(head.encode() + "Größe der Häuser".encode(encoding)))


def test_japanese_mail_is_read_by_what_it_claims(mail):
    head = b"From: a@b\nSubject: s\nContent-Type: text/plain; charset=iso-2022-jp\n\n"
    assert "日本語" in text_of(mail(head + "日本語".encode("iso-2022-jp")))


def test_a_web_page_is_read_where_there_is_no_plain_text(mail):
    page = EmailMessage()
    page["From"], page["Subject"] = "a@b", "s"
    table = "<h1>News</h1><table><tr><td>a</td><td>b</td></tr></table>"
    page.set_content(table, subtype="html")
    (read_page,) = mail(page).pages
    assert read_page.markup == "markdown"
    assert "# News\n\n| a | b |" in read_page.text


def test_a_plain_text_that_only_points_at_the_page_is_passed_over(mail):
    both = message("Please view this mail in a browser.")
    both.add_alternative(f"<p>{'The real text. ' * 50}</p>", subtype="html")
    assert "The real text." in text_of(mail(both))


def with_a_picture_in_its_text(size, **named):
    page = message("x " * 200)
    page.add_alternative("<p>hello <img src='cid:shown'></p>", subtype="html")
    part = page.get_payload()[1]
    part.add_related(saved(blank(*size)), "image", "png", cid="<shown>", **named)
    return page


def test_small_pictures_in_the_text_are_no_attachments(mail):
    page = with_a_picture_in_its_text((200, 20), filename="logo.png")
    assert "attachments" not in mail(page).metadata


@pytest.mark.parametrize("disposition", ["inline", "attachment"])
def test_large_pictures_in_the_text_are_attachments(mail, disposition):
    page = with_a_picture_in_its_text((200, 100), filename="quay.png", disposition=disposition)
    assert mail(page).metadata["attachments"] == "quay.png"


def test_pictures_in_the_text_need_no_name(mail):
    page = with_a_picture_in_its_text((200, 100))
    assert mail(page).metadata["attachments"] == "picture in the mail 1.png"


def test_damaged_pictures_in_the_text_are_named(mail):
    page = message("hello")
    page.add_related(b"\x89PNG\r\n", "image", "png", cid="<shown>", filename="quay.png")
    assert mail(page).metadata["attachments"] == "quay.png"


def test_why_a_mail_did_not_arrive_is_read(mail):
    report = (
        "Subject: Warning\nContent-Type: multipart/report; boundary=b\n\n--b\n\nNot sent.\n--b\n"
        "Content-Type: message/delivery-status\n\nIt failed for this reason:\n\nToo long.\n--b\n"
        "Content-Type: message/delivery-status\n\nReporting-MTA: dns; crane\n\n"
        "Action: delayed\nDiagnostic-Code: Mailbox full\n--b--\n"
    )
    text = text_of(mail(report))
    assert "Not sent.\n\nIt failed for this reason:\n\nToo long.\n\nReporting-MTA" in text
    assert "crane\n\nAction: delayed\n" in text
    assert text.endswith("Diagnostic-Code: Mailbox full")


def test_a_web_page_saved_as_a_mail_is_a_web_page(extracted):
    extraction = extracted(
        "From: <Saved>\nSubject: Cranes\nMIME-Version: 1.0\n"
        'Content-Type: multipart/related; boundary="b"\n\n'
        "--b\nContent-Type: text/html\n\n<h1>Cranes</h1><p>needle</p>\n"
        "--b\nContent-Type: text/css\nContent-Location: x\n\n.stylesheet {}\n--b--\n",
        "page.mhtml",
    )
    assert (extraction.doc_type, extraction.format) == ("html", "mhtml")
    assert extraction.title == "Cranes"
    text = text_of(extraction)
    assert "needle" in text
    assert "stylesheet" not in text


def test_the_name_of_an_attachment_is_no_path(mail):
    page = message()
    page.add_attachment(b"words", "text", "plain", filename="../../etc\\passwd")
    assert mail(page).metadata["attachments"] == "passwd"


def test_what_stands_in_one_form_of_the_text_alone_is_read_besides_and_once(mail):
    both = message("It’s a fine day. See https://example.test/a for more.")
    page = (
        "<p>It's a fine day. <b>See</b> <a href='https://example.test/tracked'>for more</a>.</p>"
        "<p>The crane costs 42 crowns. It's a fine day.</p><p>The crane costs 42 crowns.</p>"
    )
    both.add_alternative(page, subtype="html")
    text, besides = mail(both).pages
    assert text.text.endswith("for more.")
    assert besides.text == "The crane costs 42 crowns."
    assert besides.location == "only in another form of the text"


def test_two_forms_that_differ_much_are_read_up_to_a_limit(mail):
    both = message("Short words. " * 20)
    long = " ".join(f"word{number}" for number in range(20_000))
    both.add_alternative(f"<p>{long}</p>", subtype="html")
    *pages, remark = mail(both).pages
    assert sum(len(page.text) for page in pages) < 110_000
    assert remark.text.endswith("only the first 100,000 characters were read")


def test_forms_are_compared_in_proportion_to_their_length():
    assert_in_proportion(lambda size: only_in("](" * size, "a" * size), 20_000)


@needs_memory_files
def test_an_attachment_that_cannot_be_read_costs_itself_alone(mail):
    page = message()
    page.add_attachment(b"PK\x03\x04 cut off", "application", "x", filename="broken.odt")
    page.add_attachment(b"", "text", "plain", filename="empty.txt")
    page.add_attachment(b"last words", "text", "plain", filename="last.txt")
    first, unread, last = mail(page).pages
    assert (type(first), type(unread)) == (Page, Remark)
    assert unread.text.startswith("attachment broken.odt: broken.odt is damaged")
    assert (last.text, last.location) == ("last words", "attachment last.txt")


@needs_memory_files
def test_attachments_beyond_a_hundred_are_not_read(mail):
    page = message()
    for number in range(120):
        page.add_attachment(f"words{number}".encode(), "text", "plain", filename=f"{number}.txt")
    text = text_of(mail(page))
    assert "words99" in text
    assert "words100" not in text


def test_mails_within_mails_are_read_to_a_depth(mail):
    page = message("depth 6")
    for depth in range(5, -1, -1):
        outer = message(f"depth {depth}")
        outer.add_attachment(page)
        page = outer
    text = text_of(mail(page))
    assert "depth 3" in text
    assert "depth 4" not in text


@needs_memory_files
def test_a_mail_attached_as_a_file_is_read(mail):
    page = message()
    page.add_attachment(bytes(message("inner words")), "application", "x", filename="old.eml")
    assert "inner words" in text_of(mail(page))


def test_parts_nested_beyond_measure_are_refused(mail):
    parts = "".join(
        f'Content-Type: multipart/mixed; boundary="b{n}"\n\n--b{n}\n' for n in range(500)
    )
    with pytest.raises(NestedTooDeep, match=r"mail\.eml is nested too deeply"):
        mail(f"From: a@b\nSubject: s\nMIME-Version: 1.0\n{parts}Content-Type: text/plain\n\nx\n")


@pytest.mark.parametrize("between", ["", "--b1\n"])
def test_a_last_boundary_that_is_cut_off_is_no_text(mail, between):
    head = 'From: a@b\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="b1"\n\n'
    text = f"--b1\nContent-Type: text/plain\n\nCranes\n-- \nMara\n\n{between}\n--b1-\n"
    page = next(iter(mail(head + text).pages))
    assert page.text.endswith("Cranes\n-- \nMara")


def test_a_mail_without_anything_has_no_text(mail):
    with pytest.raises(NoTextFound, match=r"mail\.eml has no text"):
        mail("From: a@b\nMIME-Version: 1.0\n\n")


def test_broken_base64_is_taken_as_far_as_it_goes(mail):
    head = "From: a@b\nSubject: s\nContent-Type: text/plain\nContent-Transfer-Encoding: base64\n\n"
    body = base64.b64encode(b"needle and more words").decode()[:-2]
    assert "needle" in text_of(mail(head + body))


@given(st.text(alphabet='=?utf-8bq\n:; \t"/mixedboundary-<>@\xe9', max_size=200))
def test_any_headers_are_read_or_refused(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.eml"
    path.write_bytes(f"Subject: {text}\nContent-Type: {text}\n\n{text}".encode("latin-1"))
    try:
        outcome = text_of(extract(Source(path, "any.eml")))
    except KbError as error:
        outcome = error.message if "any.eml" in error.message else ""
    assert outcome


def test_a_mail_that_is_attached_in_base64_is_read(mail):
    packed = base64.encodebytes(b"Subject: Tides\r\nFrom: a@example.test\r\n\r\nHigh at nine.\r\n")
    data = (
        b"Subject: Fw\r\nFrom: b@example.test\r\nMIME-Version: 1.0\r\n"
        b'Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\n'
        b"Content-Type: text/plain\r\n\r\nSee below.\r\n--x\r\n"
        b"Content-Type: message/rfc822\r\nContent-Transfer-Encoding: base64\r\n"
        b"\r\n" + packed + b"\r\n--x--\r\n"
    )
    pages = pages_of(mail(data))
    assert pages[1].location == "attachment Tides.eml"
    assert pages[1].text == "Subject: Tides\nFrom: a@example.test\n\nHigh at nine."
