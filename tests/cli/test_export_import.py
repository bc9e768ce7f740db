"""`kb export` and `kb import`: all of it out, and in again, into the same store or another."""

import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import anyio
import pytest

from kb.client import EngineClient
from programs import Program

MARKDOWN = "# Tomatoes\r\n\r\nWater them in the morning."


@pytest.fixture
def new_engine(tmp_path, environment_of):
    """To start an engine that is empty; all are gone when the test ends."""
    engines = []

    def start():
        engines.append(Program("kb.engine", **environment_of(tmp_path / f"data-{len(engines)}")))
        return engines[-1].start()

    yield start
    for engine in engines:
        engine.kill()


@pytest.fixture
def at(kb, monkeypatch):
    """Run a command with --json at an engine; what it prints."""

    def run(engine, *arguments, code=0):
        monkeypatch.setenv("KB_ENGINE_URL", engine.url)
        ended, out, err = kb(*map(str, arguments), "--json")
        assert ended == code, err
        return json.loads(out)

    return run


NOTES = (
    ("---\ntitle: no head\n---\n\r\nCRLF\r\nand no end", "a/b"),
    ("Lone \x01 control \x7f and \u2028 separators", "A/B"),
    ("x" * 3000, ("long " * 60).strip()),
    ("日本語のメモ 🌱", "日本語 🌱"),
    ("gone", "gone"),
    ("nul", "NUL"),
)


async def fill(url):
    """Two files and five notes; the ids are 1, 2, 3, 4, 5, 6 and 8."""

    async def wait(job):
        await client.wait_for_job(job["job_id"])

    async with EngineClient(url) as client:
        for name, content in (("tomatoes.md", MARKDOWN), ("compost.txt", "Turn it twice a year.")):
            with tempfile.NamedTemporaryFile() as file:
                file.write(content.encode())
                file.flush()
                path = f"/home/anna/garden/{name}"
                tags = ["garden", "ü"]
                await wait(
                    await client.add_file(Path(file.name), tags, filename=name, source_path=path)
                )
        for text, title in NOTES:
            await wait(await client.add_note(text, ["x"], title=title, source_path=title))
        await client.delete_document(7)
        await client.update_document(4, title="Renamed", metadata={"k": ["v", None, 1.5]})


@pytest.fixture(scope="module")
def filled(tmp_path_factory, environment_of):
    """An engine with notes and files of every kind of name; no test changes it."""
    engine = Program("kb.engine", **environment_of(tmp_path_factory.mktemp("filled") / "data"))
    engine.start()
    anyio.run(fill, engine.url)
    yield engine
    engine.kill()


@pytest.fixture
def out(filled, at, tmp_path):
    """An export of it."""
    at(filled, "export", tmp_path / "out")
    return tmp_path / "out"


def originals_in(engine):
    return Path(engine.environ["KB_DATA_DIR"], "store-files").glob("[0-9a-f]*")


def files_in(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_export_import_export_is_the_same_to_the_byte_and_again(filled, new_engine, at, tmp_path):
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    told = at(filled, "export", one)
    assert (told["documents"], told["problems"], told["changed"]) == (7, [], [])
    other = new_engine()
    first = at(other, "import", one)
    assert (first["source"], first["added"], first["skipped"]) == ("kb", 7, [])
    at(other, "export", two)
    assert files_in(one) == files_in(two)
    again = at(other, "import", one)
    assert (again["unchanged"], again["added"], again["updated"]) == (7, 0, 0)
    at(other, "export", three)
    assert files_in(one) == files_in(three)
    assert at(filled, "import", one)["unchanged"] == 7


def test_tags_that_an_import_gives_stay_and_force_brings_times_back(out, new_engine, at, kb):
    engine = new_engine()
    at(engine, "import", out, "--tags", "given,x")
    assert at(engine, "import", out)["unchanged"] == 7
    assert at(engine, "import", out, "--tags", "given")["unchanged"] == 7
    assert at(engine, "import", out, "--tags", "more")["updated"] == 7
    assert at(engine, "import", out)["unchanged"] == 7
    assert at(engine, "get", "3")["tags"] == ["given", "more", "x"]

    before = json.loads((out / "documents.jsonl").read_text().splitlines()[2])
    for changed in ("3", "4"):
        at(engine, "edit", changed, "--title", "Changed here")
    code, _, err = kb("import", str(out))
    assert (code, "2 conflicts" in err) == (1, True)
    planned = at(engine, "import", out, "--force", "--dry-run")
    assert (planned["updated"], planned["conflict"]) == (2, 0)
    assert at(engine, "import", out, "--force")["updated"] == 2
    after = at(engine, "get", "3")
    assert [after[name] for name in ("created_at", "updated_at")] == [
        before[name] for name in ("created_at", "updated_at")
    ]
    again = out.with_name("again")
    at(engine, "export", again)
    other = new_engine()
    at(other, "import", again)
    at(other, "export", out.with_name("other"))
    assert files_in(again) == files_in(out.with_name("other"))


def test_an_export_can_be_read_by_a_person(out):
    files = files_in(out)
    [original] = [path for path in files if path.endswith("garden/tomatoes.md")]
    assert files[original] == MARKDOWN.encode()
    note = files["notes/a/b.md"].decode()
    assert note.startswith('---\nid: 3\nuid: "')
    assert note.endswith("\n---\n---\ntitle: no head\n---\n\r\nCRLF\r\nand no end")
    assert {path for path in files if "/" not in path} == {
        "README.txt",
        "documents.jsonl",
        "export.json",
        "passages.jsonl",
        "words.jsonl",
    }
    documents = [json.loads(line) for line in files["documents.jsonl"].splitlines()]
    assert [document["id"] for document in documents] == [1, 2, 3, 4, 5, 6, 8]
    assert all(document["path"] in files for document in documents)
    assert [job["outcome"] for job in documents[0]["jobs"]] == ["added"]


def test_an_archive_gets_new_ids_where_there_are_documents(filled, out, new_engine, at, tmp_path):
    archive = shutil.make_archive(str(tmp_path / "packed"), "zip", tmp_path, out.name)
    other = new_engine()
    at(other, "addnote", "here first")
    planned = at(other, "import", archive, "--dry-run", "--tags", "moved")
    assert (planned["new"], planned["dry_run"]) == (7, True)
    assert len(at(other, "list")["documents"]) == 1
    assert at(other, "import", archive, "--tags", "moved")["added"] == 7
    here, there = (
        {document["uid"]: document for document in at(engine, "list")["documents"]}
        for engine in (other, filled)
    )
    assert set(there) < set(here)
    for uid, document in there.items():
        assert set(here[uid]["tags"]) == {*document["tags"], "moved"}
        assert here[uid]["created_at"] == document["created_at"]


def test_what_is_edited_in_an_export_is_updated_and_newer_stays(out, new_engine, at, tmp_path):
    other = new_engine()
    at(other, "import", out)
    note = out / "notes/a/b.md"
    note.write_bytes(note.read_bytes().replace(b"and no end", b"and an end"))
    title = next((out / "notes").glob("日本語*"))
    title.write_text(title.read_text().replace('title: "日本語 🌱"', "title: Garden of Japan"))
    [original] = out.rglob("compost.txt")
    original.write_text("Turn it three times a year.")
    at(other, "updatenote", "4", "newer here")
    control = next(path for path in (out / "notes").rglob("*.md") if b"Lone" in path.read_bytes())
    control.write_bytes(control.read_bytes().replace(b"Lone", b"Another"))
    first = at(other, "import", out, code=1)
    assert (first["updated"], first["conflict"], first["unchanged"]) == (3, 1, 3)
    assert at(other, "get", "3")["text"].endswith("and an end")
    assert at(other, "get", "6")["title"] == "Garden of Japan"
    assert "three times" in at(other, "get", "2")["chunks"][0]["text"]
    assert at(other, "get", "4")["text"] == "newer here"
    again = at(other, "import", out, code=1)
    assert (again["updated"], again["conflict"], again["unchanged"]) == (0, 1, 6)
    assert at(other, "import", out, "--force")["updated"] == 1
    assert at(other, "get", "4")["text"].startswith("Another")
    assert at(other, "import", out)["unchanged"] == 7


def test_what_was_edited_keeps_its_past_in_an_empty_store(new_engine, at, tmp_path):
    source, target = new_engine(), new_engine()
    (tmp_path / "a.txt").write_text("Turn it twice a year.")
    at(source, "add", tmp_path / "a.txt")
    at(source, "addnote", "Herons wait.")
    one, two = tmp_path / "one", tmp_path / "two"
    at(source, "export", one)
    [original] = one.rglob("a.txt")
    original.write_text("Turn it three times a year.")
    [note] = one.rglob("*.md")
    note.write_text(note.read_text() + "\n\nOtters swim.")
    assert at(target, "import", one)["added"] == 2
    assert at(target, "import", one)["unchanged"] == 2
    at(target, "export", two)
    before, after = (
        [json.loads(line) for line in (folder / "documents.jsonl").read_text().splitlines()]
        for folder in (one, two)
    )
    assert before[0]["origin"]
    for old, new in zip(before, after, strict=True):
        new_jobs = [job for job in new["jobs"] if job not in old["jobs"]]
        assert len(new["jobs"]) == len(old["jobs"]) + 1
        assert [job["content_hash"] for job in new_jobs] == [new["content_hash"]]
        assert new["content_hash"] != old["content_hash"]
        for name in ("id", "uid", "title", "title_given", "origin", "created_at", "updated_at"):
            assert new[name] == old[name]
    assert not after[0]["title_given"]


def test_what_leads_out_of_an_export_or_nobody_names_is_told(out, new_engine, at, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    (out / "link.md").symlink_to(tmp_path / "secret.txt")
    (out / "files" / "extra.txt").write_text("extra")
    lines = [json.loads(line) for line in (out / "documents.jsonl").read_text().splitlines()]
    lines[0]["path"], lines[2]["path"] = "../secret.txt", "link.md"
    (out / "documents.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = at(new_engine(), "import", out, code=1)
    assert (told["added"], told["failed"]) == (5, 1)
    assert problems(told)["export.json, documents"].startswith("7 documents promised, 5 there")
    skipped = {each["key"]: each["why"] for each in told["skipped"]}
    assert "not there" in skipped["../secret.txt"]
    assert "not there" in skipped["link.md"]
    assert "kb add" in skipped["files/extra.txt"]


def problems(told):
    return {each["key"]: each["error"]["message"] for each in told["documents"] if each["error"]}


def test_a_line_that_is_no_document_or_is_cut_costs_itself(out, new_engine, at):
    lines = [json.loads(line) for line in (out / "documents.jsonl").read_text().splitlines()]
    wrong = ({"title": None}, {"tags": "x"}, {"id": 10**30}, {"uid": "me"}, {"jobs": [1]})
    for line, change in zip(lines, wrong, strict=False):
        line.update(change)
    written = "".join(json.dumps(line) + "\n" for line in lines)
    (out / "documents.jsonl").write_text(written[:-100])
    engine = new_engine()
    for options, outcome in ((["--dry-run"], "new"), ([], "added")):
        told = at(engine, "import", out, *options, code=1)
        assert (told[outcome], told["failed"]) == (1, 7)
        found = problems(told)
        assert [found.pop(f"documents.jsonl, line {number}") for number in range(1, 6)] == [
            "not a document: title must be a text",
            "not a document: tags must be a list of texts",
            f"not a document: id must be a number from 1 to {2**63 - 1}",
            "not a document: uid must be a UUID",
            "not a document: jobs must be a list of objects",
        ]
        assert re.fullmatch(
            r"not JSON: .* at character [\d,]+", found.pop("documents.jsonl, line 7")
        )
        assert found.pop("export.json, documents").startswith("7 documents promised, 1 there")


def test_a_dry_run_says_of_what_was_emptied_that_it_fails_as_the_run_does(out, new_engine, at):
    engine = new_engine()
    at(engine, "import", out)
    (out / "notes/a/b.md").write_bytes(b" \n")
    [original] = out.rglob("compost.txt")
    original.write_bytes(b"")
    for options in (["--dry-run"], [], ["--force"]):
        told = at(engine, "import", out, *options, code=1)
        assert (told["failed"], told["updated"], told["unchanged"]) == (2, 0, 5)
        assert set(problems(told).values()) == {"it is empty"}
        assert told["remarks"] == []
    assert at(engine, "get", "3")["text"].endswith("and no end")


def test_what_does_not_count_in_the_head_of_a_note_is_told(out, new_engine, at):
    note = out / "notes/a/b.md"
    head = note.read_bytes().replace(b"id: 3", b"id: 33").replace(b"source_path:", b"author:")
    note.write_bytes(head.replace(b'title: "a/b"', b'title: "c"'))
    told = at(new_engine(), "import", out)
    [remark] = told["remarks"]
    assert remark["key"] == "notes/a/b.md"
    assert "does not count: author, id, source_path;" in remark["why"]
    assert told["skipped"] == []
    assert {each["title"] for each in told["documents"]} >= {"c"}


def test_a_title_that_is_twice_in_the_head_of_a_note_counts_once_and_is_told(out, filled, at):
    note = out / "notes/a/b.md"
    note.write_bytes(note.read_bytes().replace(b"tags:", b'title: "c"\ntags:', 1))
    told = at(filled, "import", out, "--dry-run")
    assert (told["unchanged"], told["updated"]) == (7, 0)
    [remark] = told["remarks"]
    assert "title is there twice; not taken: the second title" in remark["why"]


def test_a_note_whose_head_lost_its_first_line_fails(out, filled, at):
    note = out / "notes/a/b.md"
    note.write_bytes(note.read_bytes().removeprefix(b"---\n"))
    told = at(filled, "import", out, "--dry-run", code=1)
    assert (told["failed"], told["updated"], told["remarks"]) == (1, 0, [])
    [failed] = [each for each in told["documents"] if each["outcome"] == "failed"]
    assert "its head is damaged" in failed["error"]["message"]


def test_what_is_missing_in_the_head_of_a_note_is_told_and_stays(out, filled, at):
    with_none, with_less = out / "notes/_NUL.md", out / "notes/日本語 🌱.md"
    with_none.write_bytes(with_none.read_bytes().split(b"---\n", 2)[2])
    less = [line for line in with_less.read_bytes().split(b"\n") if not line.startswith(b"tags:")]
    with_less.write_bytes(b"\n".join(less))
    told = at(filled, "import", out, "--dry-run")
    assert (told["unchanged"], told["failed"]) == (7, 0)
    assert [each["why"].partition(";")[0] for each in told["remarks"]] == [
        "not in its head any more: tags",
        "it has no head any more",
    ]


def test_a_note_that_an_editor_saved_with_other_line_ends_is_the_same(out, new_engine, at):
    engine = new_engine()
    at(engine, "import", out)
    for note in (out / "notes").rglob("*.md"):
        plain = note.read_bytes().replace(b"\r\n", b"\n")
        note.write_bytes(b"\xef\xbb\xbf" + plain.replace(b"\n", b"\r\n"))
    assert at(engine, "import", out)["unchanged"] == 7


def test_a_vault_is_imported_once_and_updated_where_it_changes(new_engine, at, tmp_path):
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "Herons.md").write_text("---\ntags: [birds]\n---\nHerons wait.")
    (vault / "Otters.md").write_text("Otters swim with [[Herons]].")
    engine = new_engine()
    assert at(engine, "import", vault)["added"] == 2
    before = at(engine, "list")
    assert at(engine, "import", vault)["unchanged"] == 2
    assert at(engine, "list") == before
    (vault / "Otters.md").write_text("Otters dive.")
    assert at(engine, "import", vault)["updated"] == 1
    out = tmp_path / "out"
    at(engine, "export", out)
    other = new_engine()
    at(other, "import", out)
    assert at(other, "import", vault)["unchanged"] == 2


def test_an_original_that_is_missing_or_changed_is_told(new_engine, at, tmp_path):
    engine = new_engine()
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"This is {name}.")
    at(engine, "add", tmp_path / "a.txt", tmp_path / "b.txt")
    missing, changed = originals_in(engine)
    missing.unlink()
    changed.write_bytes(b"something else")
    told = at(engine, "export", tmp_path / "out", code=1)
    assert told["documents"] == 2
    messages = " ".join(problem["message"] for problem in told["problems"])
    assert "gone" in messages
    assert "not what was added" in messages

    other = new_engine()
    for added in (2, 0):
        told = at(other, "import", tmp_path / "out", code=1)
        assert (told["added"], told["failed"]) == (added, 1)
        [[path, why]] = problems(told).items()
        assert path.endswith(".txt")
        assert "taken with its text, and without this file" in why
    names = {document["filename"] for document in at(other, "list")["documents"]}
    assert names == {"a.txt", "b.txt"}
    assert at(other, "search", "This", "--fts-only")["total"] == 2


def test_an_original_that_is_here_stays_if_a_newer_export_lacks_it(new_engine, at, tmp_path):
    (tmp_path / "a.txt").write_text("This is a.txt.")
    engine, other = new_engine(), new_engine()
    at(engine, "add", tmp_path / "a.txt")
    at(engine, "export", tmp_path / "whole")
    at(other, "import", tmp_path / "whole")
    at(engine, "edit", "1", "--title", "Renamed")
    for original in originals_in(engine):
        original.unlink()
    at(engine, "export", tmp_path / "lacking", code=1)
    assert at(other, "import", tmp_path / "lacking")["updated"] == 1
    assert at(other, "get", "1")["title"] == "Renamed"
    at(other, "export", tmp_path / "again")
    assert [path.name for path in (tmp_path / "again").rglob("a.txt")] == ["a.txt"]


def change_records(out, change):
    """Let `change` do what it likes to each document's line of an export."""
    lines = [json.loads(line) for line in (out / "documents.jsonl").read_text().splitlines()]
    for line in lines:
        change(line)
    (out / "documents.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))


def test_a_line_with_a_wrong_hash_or_size_fails_and_harms_no_store(out, new_engine, at):
    engine = new_engine()
    at(engine, "import", out)
    before = at(engine, "list")

    def damage(line):
        if line["id"] in (1, 3):
            line["content_hash"] = "dead" + line["content_hash"][4:]
        if line["id"] == 2:
            line["size_bytes"] += 1

    change_records(out, damage)
    for options in (["--dry-run"], [], ["--force"]):
        told = at(engine, "import", out, *options, code=1)
        assert (told["failed"], told["updated"], told["unchanged"]) == (3, 0, 7)
    assert at(engine, "list") == before
    assert at(engine, "verify")["findings"] == []
    other = new_engine()
    told = at(other, "import", out, code=1)
    assert (told["failed"], told["added"]) == (3, 7)
    assert at(other, "verify")["findings"] == []
    whys = problems(told)
    assert "another content_hash" in whys.pop("notes/a/b.md")
    assert {Path(path).name: why.split()[3] for path, why in whys.items()} == {
        "tomatoes.md": "content_hash",
        "compost.txt": "size_bytes",
    }


def test_a_wrong_hash_of_a_file_that_is_lacking_costs_no_original_here(new_engine, at, tmp_path):
    (tmp_path / "a.txt").write_text("This is a.txt.")
    engine = new_engine()
    at(engine, "add", tmp_path / "a.txt")
    out = tmp_path / "out"
    at(engine, "export", out)
    [original] = out.rglob("a.txt")
    original.unlink()

    def damage(line):
        line |= {"content_hash": "0" * 64, "title": "Renamed", "path": None, "sha256": None}

    change_records(out, damage)
    told = at(engine, "import", out, "--force", code=1)
    assert (told["failed"], told["updated"]) == (1, 1)
    assert at(engine, "get", "1")["title"] == "Renamed"
    assert at(engine, "verify")["findings"] == []
    at(engine, "export", tmp_path / "again")
    assert len(list((tmp_path / "again").rglob("a.txt"))) == 1


def test_files_of_a_vault_that_kb_cannot_read_are_no_failures(new_engine, at, kb, tmp_path):
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "n.md").write_text("---\ntitle: A: b\ntags: [x\n---\nA note.")
    (vault / "drawing.bin").write_bytes(bytes(range(256)) * 9)
    (vault / "song.mp3").write_bytes(b"ID3")
    engine = new_engine()
    told = at(engine, "import", vault)
    assert (told["added"], told["unread"], told["failed"]) == (1, 1, 0)
    assert [each["key"] for each in told["skipped"]] == [".obsidian/", "song.mp3"]
    assert [each["key"] for each in told["remarks"]] == ["n.md"]
    code, _, err = kb("import", str(vault))
    assert (code, err.splitlines()[-2:]) == (
        0,
        [
            "kb: 2 files: 1 unchanged, 1 unread",
            "kb: 2 documents from obsidian, 2 skipped, 1 remark",
        ],
    )


def test_the_disk_holds_all_of_an_export_before_it_is_called_one(filled, at, tmp_path, monkeypatch):
    target, synced, fsync = tmp_path / "out", [], os.fsync

    def noting(descriptor):
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noting)
    at(filled, "export", target)
    everything = {target, *target.rglob("*")}
    assert set(synced) == everything
    assert synced[-2:] == [target / "export.json", target]
    assert set(synced[:-2]) == everything - {target / "export.json"}


def test_a_folder_may_be_named_from_where_one_is(filled, at, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert at(filled, "export", "here")["documents"] == 7
    assert at(filled, "import", "here")["unchanged"] == 7


def test_an_export_that_is_stopped_says_what_it_leaves(kb, engine, tmp_path, monkeypatch):
    def stop(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(EngineClient, "export_documents", stop)
    code, _, err = kb("export", str(tmp_path / "out"))
    assert code != 0
    assert f"what is in {tmp_path / 'out'} is no whole export; remove it" in err


@pytest.mark.usefixtures("engine")
def test_a_folder_that_is_not_empty_or_no_export_is_refused(kb, tmp_path):
    (tmp_path / "file").write_text("something")
    code, _, err = kb("export", str(tmp_path))
    assert (code, err) == (1, f"kb: {tmp_path} is not empty: export into a new folder\n")
    (tmp_path / "documents.jsonl").write_text("{}")
    code, _, err = kb("export", str(tmp_path))
    assert (code, "that was not finished: remove it" in err) == (1, True)
    code, _, err = kb("import", str(tmp_path))
    assert code == 1
    assert "the export was not finished" in err
    code, _, err = kb("import", str(tmp_path / "nothing"))
    assert (code, err) == (1, f"kb: {tmp_path / 'nothing'}: no such file or folder\n")


def test_an_import_whose_engine_dies_says_how_much_is_still_to_do(new_engine, tmp_path):
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    for number in range(600):
        (vault / f"{number}.md").write_text(f"Note {number} tells of otters.")
    engine = new_engine()
    impatient = "from kb.cli.adding import waiting; waiting._PATIENCE = 0.5; "
    command = [sys.executable, "-c", f"{impatient}from kb.cli.main import main; main()"]
    run = subprocess.Popen(
        [*command, "import", str(vault)],
        env=engine.environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pipesize=4096,  # as far as it gets before the engine is dead, however late that is
        text=True,
    )
    run.stdout.readline()
    engine.kill()
    done = len(run.stdout.readlines()) + 1
    err = run.stderr.read()
    assert run.wait(60) == 1
    assert f"it was stopped with {600 - done} documents still to do" in err


@pytest.mark.long
@pytest.mark.timeout(900)
def test_an_import_that_is_cut_off_by_a_kill_goes_on_where_it_was(new_engine, at, tmp_path):
    source = new_engine()
    notes = tmp_path / "notes"
    notes.mkdir()
    for number in range(90):
        (notes / f"{number}.md").write_text(f"# Note {number}\n\nIt tells of otters. " * 20)
    at(source, "add", notes)
    one, two = tmp_path / "one", tmp_path / "two"
    at(source, "export", one)
    target = new_engine()
    command = [sys.executable, "-c", "from kb.cli.main import main; main()", "import", str(one)]
    for interrupted in range(4):
        run = subprocess.Popen(command, env=target.environ, stdout=subprocess.PIPE, text=True)
        lines = (line.split("\t") for line in run.stdout)
        added = {line[2] for line in itertools.islice((li for li in lines if li[0] == "added"), 15)}
        target.kill()
        run.kill()
        run.wait()
        run.stdout.close()
        target.start()
        kept = {document["uid"] for document in at(target, "list", "--limit", "1000")["documents"]}
        assert len(added) == 15 or interrupted  # on a busy machine one gets far before it is killed
        assert added <= kept
    assert at(target, "import", one)["failed"] == 0
    at(target, "export", two)
    assert files_in(one) == files_in(two)
