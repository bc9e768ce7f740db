"""Where documents lie in an export: safe on every system, each in a place of its own."""

import re
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.cli.export.names import Names

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60)
PATHS = st.lists(st.sampled_from(["a", "A", "b.txt", "..", ".", "con", "x" * 300, "é", "e\u0301"]))
DOCUMENTS = st.lists(
    st.fixed_dictionaries(
        {
            "doc_type": st.sampled_from(["note", "text"]),
            "title": TEXTS,
            "filename": st.none() | TEXTS,
            "source_path": st.none()
            | TEXTS
            | PATHS.map("/".join).filter(bool)
            | PATHS.map(lambda parts: "https://" + "/".join(parts)),
            "created_at": st.just("2024-05-01T00:00:00.000000Z"),
            "metadata": st.sampled_from([{}, {"conversation": "ChatGPT"}]),
        }
    ),
    max_size=12,
)
DEVICES = {"con", "prn", "aux", "nul", "com1", "lpt1"}


CHAT = "https://chatgpt.com/c/0b9f4a59-9a0e-4d6b-8a57-3b1d5a6f9f0e"


def name(
    source_path=None, doc_type="text", title="title", filename="file.txt", id=1, metadata=None
):
    return {
        "id": id,
        "doc_type": doc_type,
        "title": title,
        "filename": filename,
        "source_path": source_path,
        "created_at": "2024-05-01T09:00:00.000000Z",
        "metadata": metadata or {},
    }


@pytest.mark.parametrize(
    ("document", "path"),
    [
        (name("/home/anna/garden/tomatoes.md"), "files/home/anna/garden/tomatoes.md"),
        (name("C:\\Users\\Anna\\a.pdf"), "files/C/Users/Anna/a.pdf"),
        (name("https://example.org/a?b=1"), "files/https/example.org/a_b=1"),
        (name("https://example.org/a/b", "note", "A page"), "notes/example.org/A page.md"),
        (
            name(CHAT, "note", "Trip to Rome", metadata={"conversation": "ChatGPT"}),
            "notes/chatgpt.com/2024-05-01 Trip to Rome.md",
        ),
        (name("../../../etc/passwd"), "files/etc/passwd"),
        (name(None, filename="report.pdf"), "files/report.pdf"),
        (name("memory/preferences", "note"), "notes/memory/preferences.md"),
        (name(None, "note", "What is a/b: c?"), "notes/What is a-b- c.md"),
        (name("/home/anna/a\\x0ab\\xff.txt"), "files/home/anna/a_b_.txt"),
        (name("/home/anna/what\\ever.txt"), "files/home/anna/what-ever.txt"),
        (name("C:\\xab\\b.txt"), "files/C/xab/b.txt"),
        (name("\\\\server\\share\\b.txt"), "files/server/share/b.txt"),
        (name("inbox\\today"), "files/inbox/today"),
        (name(None, "note", 'He said: "why\tnot?" <now>'), "notes/He said- 'why not_' (now).md"),
        (name(None, "note", "👨\u200d👩\u200d👧 so\u00adft"), "notes/👨\u200d👩\u200d👧 soft.md"),
        (name("/nul/con.txt"), "files/_nul/_con.txt"),
        (name("/ends with a dot./x. "), "files/ends with a dot/x"),
        (name(None, filename="\u202egnp.exe"), "files/gnp.exe"),
        (name("/"), "files/untitled"),
    ],
)
def test_a_document_lies_where_it_is_called_to(document, path):
    assert Names().path(document) == path


def test_a_name_that_is_taken_gets_the_id_beside_it():
    names = Names()
    assert names.path(name("/a/Report.pdf", id=1)) == "files/a/Report.pdf"
    assert names.path(name("/A/report.PDF", id=7)) == "files/A/report (7).PDF"
    assert names.path(name("/a/report (7).pdf", id=8)) == "files/a/report (7) (8).pdf"


def test_a_file_and_a_folder_of_one_name_do_not_meet():
    names = Names()
    assert names.path(name("/a", id=1)) == "files/a"
    assert names.path(name("/a/b.txt", id=2)) == "files/a_/b.txt"
    assert names.path(name("/c/d.txt", id=3)) == "files/c/d.txt"
    assert names.path(name("/c", id=4)) == "files/c (4)"


def test_a_very_deep_path_is_shortened_and_stays_its_own():
    names = Names()
    deep = "/folder" * 100
    first, second = names.path(name(f"{deep}/1/x.txt")), names.path(name(f"{deep}/2/x.txt"))
    assert first != second
    assert max(map(len, (first, second))) <= 200
    assert first.startswith("files/folder/folder/")
    assert first.endswith("/x.txt")


@given(documents=DOCUMENTS)
@settings(max_examples=100, deadline=None)
def test_every_path_is_safe_and_there_once(documents):
    names = Names()
    paths = [names.path(document | {"id": id_}) for id_, document in enumerate(documents, 1)]
    folders = {path.rpartition("/")[0] for path in paths}
    folded = [unicodedata.normalize("NFKC", path.casefold()) for path in paths]
    assert len(set(folded)) == len(folded)
    assert not {unicodedata.normalize("NFKC", each.casefold()) for each in folders} & set(folded)
    for path, document in zip(paths, documents, strict=True):
        assert path.split("/")[0] == ("notes" if document["doc_type"] == "note" else "files")
        assert len(path) <= 230
        for part in path.split("/"):
            assert part not in ("", ".", "..")
            assert len(part.encode()) <= 140
            assert not re.search(r'[<>:"\\|?*\x00-\x1f\x7f]', part)
            assert not part.endswith((" ", "."))
            assert part.split(".")[0].casefold() not in DEVICES
