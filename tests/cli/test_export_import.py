"""`kb export` and `kb import`: all of it out, and in again, into the same store or another."""

import itertools
import json
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import anyio
import pytest

from kb.client import EngineClient

MARKDOWN = "# Tomatoes\r\n\r\nWater them in the morning."


class Engine:
    """An engine of a test's own, in a folder that outlives it."""

    def __init__(self, environ):
        self.environ = environ
        self.url = environ["KB_ENGINE_URL"]
        self._process = None

    def start(self):
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "kb.engine"],
            env=self.environ,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in self._process.stderr:
            if "listens on" in line:
                break
        else:
            pytest.fail(f"the engine ended with {self._process.wait()}")
        threading.Thread(target=self._process.stderr.read, daemon=True).start()
        return self

    def kill(self):
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()

    @property
    def folder(self):
        return Path(self.environ["KB_DATA_DIR"])


@pytest.fixture
def new_engine(tmp_path, environment_of):
    """To start an engine that is empty; all are gone when the test ends."""
    engines = []

    def start():
        engines.append(Engine(environment_of(tmp_path / f"data-{len(engines)}")))
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
    engine = Engine(environment_of(tmp_path_factory.mktemp("filled") / "data")).start()
    anyio.run(fill, engine.url)
    yield engine
    engine.kill()


@pytest.fixture
def out(filled, at, tmp_path):
    """An export of it."""
    at(filled, "export", tmp_path / "out")
    return tmp_path / "out"


def files_in(folder):
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def test_export_import_export_is_the_same_to_the_byte_and_again_changes_nothing(
    filled, new_engine, at, tmp_path
):
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


def test_an_archive_goes_into_a_store_that_has_documents_with_new_ids_and_the_same_uids(
    filled, out, new_engine, at, tmp_path
):
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


def test_what_a_person_edits_in_an_export_is_updated_and_what_is_newer_here_stays(
    out, new_engine, at, tmp_path
):
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


def test_what_leads_out_of_an_export_is_not_read_and_what_nobody_names_is_told(
    out, new_engine, at, tmp_path
):
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
        assert found.pop("documents.jsonl, line 7").startswith("not JSON: ")
        assert found.pop("export.json, documents").startswith("7 documents promised, 1 there")


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
    missing, changed = (engine.folder / "store-files").glob("[0-9a-f]*")
    missing.unlink()
    changed.write_bytes(b"something else")
    told = at(engine, "export", tmp_path / "out", code=1)
    assert told["documents"] == 2
    messages = " ".join(problem["message"] for problem in told["problems"])
    assert "gone" in messages
    assert "not what was added" in messages


@pytest.mark.usefixtures("engine")
def test_a_folder_that_is_not_empty_or_no_export_is_refused(kb, tmp_path):
    (tmp_path / "file").write_text("something")
    code, _, err = kb("export", str(tmp_path))
    assert (code, err) == (1, f"kb: {tmp_path} is not empty: export into a new folder\n")
    (tmp_path / "documents.jsonl").write_text("{}")
    code, _, err = kb("import", str(tmp_path))
    assert code == 1
    assert "the export was not finished" in err
    code, _, err = kb("import", str(tmp_path / "nothing"))
    assert (code, err) == (1, f"kb: {tmp_path / 'nothing'}: no such file or folder\n")


@pytest.mark.long
@pytest.mark.timeout(120)
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
    for _ in range(4):
        run = subprocess.Popen(command, env=target.environ, stdout=subprocess.PIPE, text=True)
        lines = (line.split("\t") for line in run.stdout)
        added = {line[2] for line in itertools.islice((li for li in lines if li[0] == "added"), 15)}
        target.kill()
        run.kill()
        run.wait()
        run.stdout.close()
        target.start()
        kept = {document["uid"] for document in at(target, "list", "--limit", "1000")["documents"]}
        assert len(added) == 15
        assert added <= kept
    assert at(target, "import", one)["failed"] == 0
    at(target, "export", two)
    assert files_in(one) == files_in(two)
