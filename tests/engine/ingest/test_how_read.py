"""What each document says of how it was read, wherever one asks."""

import pytest

MAIL = (
    b"From: a@example.org\nTo: b@example.org\nSubject: Plans\nMIME-Version: 1.0\n"
    b'Content-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: text/plain\n\n'
    b"The plans for the boathouse are attached.\n--x\n"
    b'Content-Type: application/octet-stream; name="plans.dwg"\n'
    b'Content-Disposition: attachment; filename="plans.dwg"\n'
    b"Content-Transfer-Encoding: base64\n\nAAEC/wD+AAEC/wD+AAEC/wD+\n--x--\n"
)
WARNING = "attachment plans.dwg was not read: it is a binary file of unknown type"


@pytest.fixture
def mail(api):
    return api.add_file(MAIL, "plans.eml")


def test_what_was_not_read_is_told_by_the_job_and_the_document(api, mail):
    assert mail["message"] == f"Not everything could be read. {WARNING}"
    how = api.document(mail["document_id"])["how_read"]
    assert (how["reader"], how["warnings"]) == ("eml", [WARNING])


def test_what_was_read_whole_says_so_and_a_note_says_nothing(api):
    whole = api.document(api.add_file(b"four words are here", "a.txt")["document_id"])
    assert whole["how_read"] == {
        "reader": "text",
        "pages": None,
        "pages_by_ocr": 0,
        "pages_missing": 0,
        "pictures_read": 0,
        "pictures_waiting": 0,
        "words": 4,
        "share": 1.0,
        "warnings": [],
    }
    assert api.document(api.add_note("a note")["document_id"])["how_read"] is None


def test_documents_can_be_listed_by_whether_they_have_warnings(api, mail):
    whole = api.add_file(b"four words are here", "a.txt")["document_id"]
    note = api.add_note("a note")["document_id"]
    for wish, expected in (("true", [mail["document_id"]]), ("false", [note, whole])):
        page = api.get(f"/documents?warnings={wish}&sort=created").json()
        assert [document["id"] for document in page["documents"]] == expected


def test_new_bytes_are_told_of_anew(api):
    path = "/home/me/plans.eml"
    first = api.add_file(MAIL, "plans.eml", source_path=path)["document_id"]
    second = api.add_file(MAIL[:-200] + b"\n--x--\n", "plans.eml", source_path=path)["document_id"]
    assert first == second
    assert api.document(second)["how_read"]["warnings"] == []
