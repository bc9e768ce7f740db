"""Mailboxes of Outlook. Nobody here writes them: folders and mails are as libpff tells them."""

import struct
from types import SimpleNamespace as Told

import pytest

from kb.engine.errors import DamagedFile, NoTextFound
from kb.engine.ingest.extract import Ocr
from kb.engine.pages import Page, Remark

TEXT, BYTES, NUMBER = 0x1F, 0x102, 0x03


def records(values: dict[tuple[int, int], bytes]) -> Told:
    entries = [Told(entry_type=n, value_type=kind, data=data) for (n, kind), data in values.items()]
    return Told(entries=entries)


def wide(text: str) -> bytes:
    return text.encode("utf-16-le")


def mail(subject: str, body: str) -> Told:
    file = {(0x3707, TEXT): wide("tides.txt"), (0x3701, BYTES): b"High at nine."}
    person = {(0x3001, TEXT): wide("Ole"), (0x39FE, TEXT): wide("ole@example.test")}
    return Told(
        record_sets=[records({(0x37, TEXT): wide(subject), (0x1000, TEXT): wide(body)})],
        recipients=Told(record_sets=[records(person)]),
        number_of_attachments=1,
        get_attachment=lambda index: Told(record_sets=[records(file)]),
    )


def folder(name: str, mails: list[Told], folders: list[Told]) -> Told:
    def message(index: int) -> Told:
        if mails[index] is None:
            raise OSError
        return mails[index]

    return Told(
        name=name,
        number_of_sub_messages=len(mails),
        get_sub_message=message,
        number_of_sub_folders=len(folders),
        get_sub_folder=folders.__getitem__,
    )


@pytest.fixture
def read(extracted, monkeypatch):
    pypff = pytest.importorskip("pypff")

    def read(data: bytes = b"!BDN", root: Told | None = None) -> list[Page | Remark]:
        if root is not None:
            file = Told(open_file_object=id, get_root_folder=lambda: root, close=lambda: None)
            monkeypatch.setattr(pypff, "file", lambda: file)
        extraction = extracted(data, "old.pst", ocr=Ocr("off"))
        assert (extraction.doc_type, extraction.format) == ("email", "pst")
        return [page for page in extraction.pages if isinstance(page, Remark) or page.text]

    return read


def test_mails_are_found_in_their_folders_with_what_is_attached(read):
    inbox = folder("Inbox", [mail("\x01\x05Re: Tides", "See the file.")], [])
    page, attached = read(root=folder("", [], [folder("Mails", [], [inbox])]))
    assert page.location == "Mails/Inbox, mail 1, Re: Tides"
    assert page.headings == ("Mails/Inbox", "Re: Tides")
    assert "To: Ole <ole@example.test>" in page.text
    assert page.text.endswith("See the file.")
    assert attached.location == "Mails/Inbox, mail 1, Re: Tides, attachment tides.txt"
    assert attached.text == "High at nine."


def heap(values: dict[tuple[int, int], bytes]) -> bytes:
    """As a mailbox keeps a mail within a mail."""
    leaves = b"".join(
        struct.pack("<HHI", number, kind, 0x60 + 0x20 * index)
        for index, (number, kind) in enumerate(values)
    )
    items = [struct.pack("<BBBBI", 0xB5, 2, 6, 0, 0x40), leaves, *values.values()]
    places = [12]
    for item in items:
        places.append(places[-1] + len(item))
    head = struct.pack("<HBBII", places[-1], 0xEC, 0xBC, 0x20, 0)
    return head + b"".join(items) + struct.pack(f"<HH{len(places)}H", len(items), 0, *places)


def with_mail_within(data: bytes) -> Told:
    outer = mail("Two letters", "See below.")
    way = {(0x3705, NUMBER): b"\x05\0\0\0", (0x3001, TEXT): wide("The first letter")}
    attachment = Told(
        record_sets=[records(way)], size=len(data), read_buffer=lambda size: data[:size]
    )
    outer.get_attachment = lambda index: attachment
    return outer


def test_a_mail_within_a_mail_is_read(read):
    inner = heap({(0x37, TEXT): wide("The first letter"), (0x1000, TEXT): wide("Sail at dawn.")})
    page, attached = read(root=folder("", [with_mail_within(inner)], []))
    assert page.text.endswith("See below.")
    assert attached.text.startswith("Subject: The first letter")
    assert attached.text.endswith("Sail at dawn.")


@pytest.mark.parametrize("length", range(0, 100, 7))
def test_a_mail_within_a_mail_that_is_cut_off_costs_itself_alone(read, length):
    inner = heap({(0x37, TEXT): wide("The first letter"), (0x1000, TEXT): wide("Sail at dawn.")})
    pages = read(root=folder("", [with_mail_within(inner[:length])], []))
    assert "See below." in pages[0].text


def test_a_mail_within_a_mail_that_leads_in_circles_is_not_followed_for_ever(read):
    inner = bytearray(heap({(0x37, TEXT): b"\0\0\x40\0\0\0" * 500}))
    inner[15] = 255  # levels of the table that leads to its values
    pages = read(root=folder("", [with_mail_within(bytes(inner))], []))
    assert "See below." in pages[0].text


def test_a_damaged_mail_costs_itself_alone(read):
    found = read(root=folder("", [None, mail("Kept", "Words.")], []))
    assert next(page.location for page in found if isinstance(page, Page)) == "mail 2, Kept"
    assert Remark("mail 1 was not read: it is damaged") in found


def test_a_mailbox_without_mails_has_no_text(read):
    with pytest.raises(NoTextFound):
        read(root=folder("", [], []))


@pytest.mark.parametrize("data", [b"!BDN", b"!BDN" + bytes(600), b"!BDN" + b"\xff" * 600])
def test_a_mailbox_that_is_cut_off_is_damaged(read, data):
    with pytest.raises(DamagedFile):
        read(data)
