"""Mails in Outlook's own form."""

import struct

import pytest
from small_ole import compound, msg, wrapped

from kb.engine.ingest.extract.mail.compressed_rtf import unpacked

SENT = struct.pack("<Q", 133_500_000_000_000_000)  # 2024-01-18
ANNA = {0x3001: "Anna", 0x39FE: "anna@example.test"}
MAIL = {0x0037: "Budget", 0x0C1A: "Mara", 0x5D01: "mara@example.test", 0x1000: "See the file."}


@pytest.fixture
def read(extracted):
    def read(tree):
        extraction = extracted(compound(tree), "mail.msg")
        return extraction, list(extraction.pages)

    return read


def test_a_mail_says_who_wrote_what_to_whom_and_when(read):
    recipient = msg(ANNA, fixed={(0x0C15, 3): struct.pack("<i", 1)}, head=8)
    parts = {"__recip_version1.0_#00000000": recipient}
    extraction, pages = read(msg(MAIL, fixed={(0x0039, 0x40): SENT}, parts=parts))
    assert (extraction.doc_type, extraction.format) == ("email", "msg")
    assert extraction.title == "Budget"
    assert extraction.metadata["author"] == "Mara <mara@example.test>"
    assert extraction.metadata["to"] == "Anna <anna@example.test>"
    assert extraction.metadata["created"] == "2024-01-17T21:20:00Z"
    assert pages[0].text.endswith("See the file.")


def test_what_is_attached_is_read_as_what_it_is(read):
    attachment = msg({0x3707: "tide.csv"}, data={0x3701: b"port,depth\nBergen,9\n"}, head=8)
    _, pages = read(msg(MAIL, parts={"__attach_version1.0_#00000000": attachment}))
    assert pages[1].location == "attachment tide.csv, rows 1–2"
    assert "| Bergen | 9 |" in pages[1].text


def test_a_mail_within_a_mail_is_read(read):
    inner = msg({0x0037: "Inner", 0x1000: "deep words"}, head=24)
    attachment = msg({0x3001: "Inner"}, parts={"__substg1.0_3701000D": inner}, head=8)
    _, pages = read(msg(MAIL, parts={"__attach_version1.0_#00000000": attachment}))
    assert (pages[1].location, "deep words" in pages[1].text) == ("attachment Inner", True)


def test_a_text_that_is_packed_as_rtf_is_read(read):
    text = rb"{\rtf1\ansi Only in here\par}"
    packed = struct.pack("<II4sI", len(text) + 12, len(text), b"MELA", 0) + text
    _, pages = read(msg({0x0037: "Rich"}, data={0x1009: packed}))
    assert "Only in here" in pages[0].text


def test_a_page_in_an_old_charset_is_read(read):
    html = "<p>Größe</p>".encode("cp1252")
    _, pages = read(msg({}, data={0x1013: html}, fixed={(0x3FDE, 3): struct.pack("<i", 1252)}))
    assert "Größe" in pages[0].text


def test_packed_rtf_is_unpacked():
    # The example of the format's own description.
    packed = bytes.fromhex(
        "2d0000002b0000004c5a4675f1c5c7a703000a007263706731323542320af32068656c090020627705b06c647d"
        "0a800fa0"
    )
    assert unpacked(packed) == b"{\\rtf1\\ansi\\ansicpg1252\\pard hello world}\r\n"


@pytest.mark.parametrize("data", [b"", b"short", b"x" * 40])
def test_what_is_no_packed_rtf_is_empty(data):
    assert unpacked(data) == b""


def names(*listed: int) -> dict[str, bytes]:
    """What has no number of its own has one in this file, from 8000 on."""
    data = b"".join(struct.pack("<IHH", name, 6, index) for index, name in enumerate(listed))
    return {"__substg1.0_00030102": data}


def test_a_meeting_says_when_and_where_it_is(read):
    texts = MAIL | {0x001A: "IPM.Appointment", 0x8002: "Room 4"}
    end = struct.pack("<Q", 133_500_036_000_000_000)
    tree = msg(
        texts,
        fixed={(0x8000, 0x40): SENT, (0x8001, 0x40): end},
        parts={"__nameid_version1.0": names(0x820D, 0x820E, 0x8208)},
    )
    _, pages = read(tree)
    told = "Start: 2024-01-17 21:20 UTC\nEnd: 2024-01-17 22:20 UTC\nLocation: Room 4\n\n"
    assert f"{told}See the file." in pages[0].text


def test_a_task_says_what_is_to_be_done_by_when(read):
    tree = msg(
        MAIL | {0x001A: "IPM.Task"},
        fixed={
            (0x8000, 0x40): SENT,
            (0x8001, 3): struct.pack("<i", 1),
            (0x8002, 5): struct.pack("<d", 0.25),
        },
        parts={"__nameid_version1.0": names(0x8105, 0x8101, 0x8102)},
    )
    _, pages = read(tree)
    assert "Due: 2024-01-17 21:20 UTC\nStatus: in progress\nDone: 25%" in pages[0].text


def test_people_are_written_in_the_charset_of_their_mail(read):
    recipient = msg({}, head=8) | {"__substg1.0_3001001E": "張毓倫".encode("big5")}
    charset = {(0x3FFD, 3): struct.pack("<i", 950)}
    parts = {"__recip_version1.0_#00000000": recipient}
    extraction, _ = read(msg(MAIL, fixed=charset, parts=parts))
    assert extraction.metadata["to"] == "張毓倫"


def test_an_object_in_the_text_of_a_mail_is_read(read):
    stored = wrapped("tide.txt", b"High at nine.")
    attachment = msg({}, parts={"__substg1.0_3701000D": stored}, head=8)
    _, pages = read(msg(MAIL, parts={"__attach_version1.0_#00000000": attachment}))
    assert (pages[1].location, pages[1].text) == ("attachment tide.txt", "High at nine.")
