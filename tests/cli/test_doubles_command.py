"""`kb doubles`: what an older kb made twice, listed and joined."""

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from kb.engine.store.file.page_checksums import connect


@pytest.fixture
def doubled(api, engine, tmp_path, monkeypatch):
    """A folder of two files, each two documents: as if an older kb had added it with two tags."""
    ids = {}
    for name in ("tides.txt", "sand.txt"):
        (tmp_path / name).write_text(f"All about {name}.")
    for tag in ("old", "new"):
        monkeypatch.setenv("KB_ORIGIN", f"the machine of {tag}")
        (tmp_path / "tides.txt").write_text(f"All about tides, {tag}.")
        for file in api("add", str(tmp_path), "--tags", tag)["files"]:
            ids.setdefault(file["path"], []).append(file["document_id"])
    monkeypatch.delenv("KB_ORIGIN")
    database = Path(engine["KB_DATA_DIR"]) / "store.db"
    with closing(connect(database, apsw.SQLITE_OPEN_READWRITE)) as store:
        store.set_busy_timeout(30_000)
        store.execute(
            "UPDATE documents SET origin = NULL WHERE source_path LIKE ?", (f"{tmp_path}/%",)
        )
    yield ids
    for document in api("list", "--path-prefix", f"{tmp_path}/")["documents"]:
        api("delete", str(document["id"]), "--yes")


def test_each_document_is_listed_with_what_becomes_of_it_and_why(kb, api, doubled, rows, tmp_path):
    code, out, err = kb("doubles")
    assert (code, err) == (0, "")
    tides, sand = doubled[str(tmp_path / "tides.txt")], doubled[str(tmp_path / "sand.txt")]
    assert [(Path(row[0]).name, *row[1:4], row[7]) for row in rows(out)] == [
        ("sand.txt", "keep", str(sand[0]), "old", "the oldest, newest bytes"),
        ("sand.txt", "join", str(sand[1]), "new", ""),
        ("tides.txt", "keep", str(tides[0]), "old", "the oldest"),
        ("tides.txt", "join", str(tides[1]), "new", "newest bytes"),
    ]
    assert api("doubles")["total"] == 2


def test_they_are_joined_after_asking_and_then_are_none(kb, api, doubled, rows, say, tmp_path):
    say("n\n")
    code, out, err = kb("doubles", "--join")
    assert (code, out) == (1, "")
    assert err == (
        "Join 4 documents of 2 paths into 2? [y/N] kb: nothing was joined: answer y, or use --yes\n"
    )
    say("")
    code, out, err = kb("doubles", "--join")
    assert (code, out) == (2, "")
    assert "nothing was joined: there is no terminal to ask on" in err
    assert api("doubles")["total"] == 2
    say("y\n")
    code, out, _ = kb("doubles", "--join")
    assert code == 0
    assert {tuple(row) for row in rows(out)} == {
        ("joined", str(ids[0]), path, f"without {ids[1]}") for path, ids in doubled.items()
    }
    assert kb("doubles") == (0, "", "")
    kept = api("get", str(tmp_path / "tides.txt"))
    assert (kept["id"], kept["tags"]) == (doubled[kept["source_path"]][0], ["new", "old"])
    assert kb("get", str(kept["id"]), "--text")[1] == "All about tides, new.\n"
    again = api("add", str(tmp_path))
    assert (again["unchanged"], again["added"]) == (2, 0)


def test_what_changed_meanwhile_is_left_alone_and_told(kb, api, doubled, monkeypatch, tmp_path):
    _, second = doubled[str(tmp_path / "sand.txt")]

    def answer_late(*_):
        api("tag", str(second), "--add", "meanwhile")

    monkeypatch.setattr("kb.cli.commands.doubles.agree", answer_late)
    code, out, err = kb("doubles", "--join")
    assert code == 1
    assert out.count("joined") == 1
    assert "sand.txt" in err
    assert "list the doubles again" in err


def test_on_a_terminal_there_are_lines_that_fit_and_a_count(on_terminal, doubled, tmp_path):
    shown = on_terminal("doubles")
    assert "4 documents of 2 paths; kb doubles --join joins them\n" in shown
    assert "newest bytes" in shown
    joined = on_terminal("doubles", "--join", "--yes")
    assert joined.endswith("joined 2 paths: 2 documents less\n")
    assert on_terminal("doubles") == "nothing is there twice\n"


def test_copies_are_listed_apart(kb, api, rows, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text("Two files with one content, which is no mistake.")
    files = api("add", str(tmp_path))["files"]
    listed = [row for row in rows(kb("doubles", "--copies")[1]) if row[0].startswith(str(tmp_path))]
    assert [(row[0], row[1], int(row[2])) for row in listed] == [
        (file["path"], "copy", file["document_id"])
        for file in sorted(files, key=lambda file: file["document_id"])
    ]
    assert api("doubles")["total"] == 0


@pytest.mark.parametrize("options", [("--copies", "--join"), ("--yes",)])
def test_options_that_do_not_go_together_are_refused(kb, engine, options):
    assert kb("doubles", *options)[0] == 2
