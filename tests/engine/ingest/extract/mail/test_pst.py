"""Mailboxes of Outlook. Nobody here writes them: folders and mails are as libpff tells them."""

from types import SimpleNamespace as Told

import pytest

from kb.engine.errors import DamagedFile, NoTextFound
from kb.engine.ingest.extract import Ocr, Source, extract
from kb.engine.models import Page, Remark

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
def read(tmp_path, monkeypatch):
    pypff = pytest.importorskip("pypff")

    def read(data: bytes = b"!BDN", root: Told | None = None) -> list[Page | Remark]:
        if root is not None:
            file = Told(open_file_object=id, get_root_folder=lambda: root, close=lambda: None)
            monkeypatch.setattr(pypff, "file", lambda: file)
        path = tmp_path / "stored"
        path.write_bytes(data)
        extraction = extract(Source(path, "old.pst", Ocr("off")))
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
