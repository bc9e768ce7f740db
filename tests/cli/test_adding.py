"""Files and notes in: `kb add`, `addnote`, `updatenote`."""

import io
import json
import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import anyio
import apsw
import pytest
from rich.console import Console

from kb.cli.terminal.progress_bars import Bars
from programs import KB, ended

pytestmark = pytest.mark.usefixtures("engine")


def test_a_folder_is_added_found_and_added_again_only_where_it_changed(kb, printed, tmp_path, rows):
    (tmp_path / "sub").mkdir()
    (tmp_path / "tides.md").write_text("# Tides\n\nThe moon pulls the ebbing water.")
    (tmp_path / "sub" / "sand.txt").write_text("Sand is ground quartz.")
    (tmp_path / ".secret.txt").write_text("hidden")
    code, out, err = kb("add", str(tmp_path), "--tags", "shore,test")
    assert code == 0
    assert sorted((row[0], row[2]) for row in rows(out)) == [
        ("added", str(tmp_path / "sub" / "sand.txt")),
        ("added", str(tmp_path / "tides.md")),
    ]
    assert err == "kb: 2 files: 2 added (1 left out: hidden, ignored, empty or links)\n"

    out = printed("search", "ebbing", "water", "--tags", "shore", "--fts-only")
    assert str(tmp_path / "tides.md") in out
    assert "sand.txt" not in out

    (tmp_path / "tides.md").write_text("# Tides\n\nNeap and spring.")
    code, out, err = kb("add", str(tmp_path), "--tags", "shore,test")
    assert sorted(row[0] for row in rows(out)) == ["unchanged", "updated"]
    assert err.startswith("kb: 2 files: 1 updated, 1 unchanged")


ONE_SIGN, TWO_SIGNS = "caf\u00e9", "cafe\u0301"


def test_files_whose_names_differ_only_in_how_an_accent_is_spelled_are_two_documents(api, tmp_path):
    folder = tmp_path / ONE_SIGN
    folder.mkdir()
    texts = {ONE_SIGN: "Beans are roasted.", TWO_SIGNS: "Milk is steamed.", "tea ": "Oolong."}
    for name, text in {**texts, "tea": "Sencha."}.items():
        (folder / f"{name}.md").write_text(text)
        (folder / name).write_text(text)
    added = api("add", str(folder))
    assert added["added"] == 8
    again = api("add", str(folder))
    assert (again["unchanged"], again["updated"], again["added"]) == (8, 0, 0)
    for name, text in texts.items():
        found = api("get", str(folder / f"{name}.md"))
        assert [chunk["text"] for chunk in found["chunks"]] == [text]
    assert api("list", "--path-prefix", f"{tmp_path}/{TWO_SIGNS}/")["total"] == 8

    (folder / f"{ONE_SIGN}.md").unlink()  # its namesake does not take its place
    assert api("add", str(folder))["unchanged"] == 7
    assert api("get", str(folder / f"{ONE_SIGN}.md"))["chunks"][0]["text"] == "Beans are roasted."


def test_a_path_is_one_document_however_its_accents_are_spelled(api, tmp_path):
    (tmp_path / f"{TWO_SIGNS}.md").write_text("A Mac spells it so.")
    first = api("add", str(tmp_path))["files"][0]["document_id"]
    typed = str(tmp_path / f"{ONE_SIGN}.md")
    assert api("get", typed)["source_path"] == typed
    (tmp_path / f"{TWO_SIGNS}.md").rename(typed)
    Path(typed).write_text("Any other system spells it so.")
    [again] = api("add", str(tmp_path))["files"]
    assert (again["outcome"], again["document_id"]) == ("updated", first)
    assert api("search", "spells", "--source-path", str(tmp_path / f"{TWO_SIGNS}.md"))["total"] == 1
    assert api("delete", str(tmp_path / f"{TWO_SIGNS}.md"), "--yes")["deleted"]


def test_adding_with_a_tag_adds_it_to_each_document_and_makes_none(kb, api, tmp_path, rows):
    for name in ("tides", "sand"):
        (tmp_path / f"{name}.txt").write_text(f"All about {name}.")
    files = {file["path"]: file["document_id"] for file in api("add", str(tmp_path))["files"]}
    code, out, err = kb("add", str(tmp_path), "--tags", "retagged")
    assert code == 0
    assert {(row[0], row[2], int(row[1])) for row in rows(out)} == {
        ("tags added", path, document_id) for path, document_id in files.items()
    }
    assert err == "kb: 2 files: 2 with tags added\n"
    tagged = api("list", "--tags", "retagged")
    assert {document["id"] for document in tagged["documents"]} == set(files.values())
    assert api("list", "--path-prefix", f"{tmp_path}/")["total"] == 2

    (tmp_path / "sand.txt").write_text("All about sand, again.")
    (tmp_path / "salt.txt").write_text("All about salt.")
    again = api("add", str(tmp_path), "--tags", "retagged")
    outcomes = {Path(file["path"]).name: file["outcome"] for file in again["files"]}
    assert outcomes == {"tides.txt": "unchanged", "sand.txt": "updated", "salt.txt": "added"}
    more = api("add", str(tmp_path / "tides.txt"), "--tags", "tidal")
    assert (more["tags_added"], more["updated"]) == (1, 0)
    assert more["files"][0]["outcome"] == "tags_added"
    assert api("get", str(tmp_path / "tides.txt"))["tags"] == ["retagged", "tidal"]


def test_what_is_known_already_is_not_sent(api, tmp_path):
    (tmp_path / "tides.txt").write_text("Ebb and flow.")
    added = api("add", str(tmp_path), "--tags", "a,b")["files"][0]
    for tags in ((), ("--tags", "a"), ("--tags", "b,a")):
        [file] = api("add", str(tmp_path), *tags)["files"]
        assert (file["outcome"], file["document_id"]) == ("unchanged", added["document_id"])
        assert file["job_id"] is None


def test_what_failed_for_what_it_is_is_not_sent_again_until_it_changes(kb, tmp_path):
    path = tmp_path / "paper.ps"
    path.write_bytes(b"%!PS-Adobe-3.0\n")

    def add(*options):
        code, out, _ = kb("add", str(path), "--json", *options)
        [file] = json.loads(out)["files"]
        return code, file["outcome"], file["job_id"], file["error"]

    code, outcome, job_id, error = add()
    assert (code, outcome, error["error"]) == (1, "failed", "unsupported_format")
    assert add("--tags", "papers")[:3] == (1, "failed", job_id)
    assert add()[3]["message"].endswith("--retry does")
    assert add("--retry")[2] not in (job_id, None)
    path.write_bytes(b"%!PS-Adobe-3.0\n%%EOF\n")
    assert "before" not in add()[3]["message"]
    path.write_text("only words")
    assert add()[1] == "added"


def test_the_same_path_on_another_machine_is_another_document(api, tmp_path, monkeypatch):
    path = tmp_path / "hosts.txt"
    path.write_text("127.0.0.1 here")
    ids = {}
    for machine in ("desk", "lap", "desk"):
        monkeypatch.setenv("KB_ORIGIN", machine)
        [file] = api("add", str(path))["files"]
        assert file["document_id"] == ids.setdefault(machine, file["document_id"])
    assert ids["desk"] != ids["lap"]


def test_what_fails_is_told_with_its_reason_and_the_rest_is_added(kb, tmp_path, rows):
    (tmp_path / "good.txt").write_text("fine words")
    (tmp_path / "bad.bin").write_bytes(bytes(range(256)) * 8)
    code, out, err = kb("add", str(tmp_path), str(tmp_path / "missing.txt"))
    assert code == 1
    results = {Path(row[2]).name: row for row in rows(out)}
    assert results["good.txt"][0] == "added"
    assert results["bad.bin"][0] == "failed"
    assert results["bad.bin"][3]
    assert results["missing.txt"][3] == "no such file or folder"
    assert err == "kb: 3 files: 1 added, 2 failed\n"


def test_adding_tells_programs_everything(kb, tmp_path):
    (tmp_path / "a.txt").write_text("some words for programs")
    (tmp_path / "b.bin").write_bytes(bytes(range(256)) * 8)
    code, out, err = kb("add", str(tmp_path), "--json")
    answer = json.loads(out)
    assert (code, err) == (1, "")
    assert (answer["added"], answer["failed"], answer["left_out"]) == (1, 1, 0)
    good, bad = sorted(answer["files"], key=lambda file: file["path"])
    assert good["path"] == str(tmp_path / "a.txt")
    assert good["document_id"] > 0
    assert good["error"] is None
    assert set(bad["error"]) >= {"error", "message"}


def test_many_files_go_in_at_once(api, tmp_path):
    for number in range(60):
        (tmp_path / f"{number}.txt").write_text(f"file number {number} of many")
    answer = api("add", str(tmp_path), "--tags", "crowd")
    assert answer["added"] == 60
    assert len({file["document_id"] for file in answer["files"]}) == 60


def test_what_one_command_adds_is_one_batch(api, engine, tmp_path):
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(f"batch {name}")
    together = api("add", str(tmp_path / "a.txt"), str(tmp_path / "b.txt"))["files"]
    alone = api("add", str(tmp_path / "c.txt"))["files"]
    note = api("addnote", "batch of a note")
    store = apsw.Connection(f"{engine['KB_DATA_DIR']}/store.db", apsw.SQLITE_OPEN_READONLY)
    batches = dict(store.execute("SELECT id, batch FROM jobs").fetchall())
    store.close()
    first, second, third = (batches[file["job_id"]] for file in (*together, *alone))
    assert first == second
    assert len({first, third, batches[note["id"]]}) == 3


def test_title_metadata_and_tags_travel_with_a_file(api, tmp_path):
    path = tmp_path / "plain.txt"
    path.write_text("words")
    options = ("--title", "A Title", "--metadata", "author=Ada", "--tags", "a,b", "--tags", "c")
    api("add", str(path), *options)
    document = api("get", str(path))
    assert document["title"] == "A Title"
    assert document["metadata"]["author"] == "Ada"
    assert document["tags"] == ["a", "b", "c"]
    assert document["source_path"] == str(path)


def test_one_title_cannot_be_for_two_files(refusal, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    assert "--title is for one file" in refusal("add", str(tmp_path), "--title", "T", code=2)


def test_standard_input_is_a_file_without_a_path(api, say):
    say("piped words")
    answer = api("add", "-", "--filename", "piped.md")
    document = api("get", str(answer["files"][0]["document_id"]))
    assert (document["filename"], document["source_path"]) == ("piped.md", None)


def test_without_waiting_a_file_is_queued(api, kb, tmp_path):
    (tmp_path / "a.txt").write_text("no hurry")
    answer = api("add", str(tmp_path), "--no-wait")
    assert answer["queued"] == 1
    assert api("jobs", "show", str(answer["files"][0]["job_id"]))["filename"] == "a.txt"


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX")
@pytest.mark.parametrize(
    ("name", "shown"),
    [(b"caf\xe9.txt", "caf\\xe9.txt"), (b"two\nlines\x1b.txt", "two\\x0alines\\x1b.txt")],
)
def test_a_name_that_is_no_text_can_be_added(printed, tmp_path, rows, name, shown):
    (tmp_path / os.fsdecode(name)).write_text("strange name")
    assert rows(printed("add", str(tmp_path)))[0][2].endswith(shown)


@pytest.mark.skipif(os.name != "posix", reason="names are bytes on POSIX")
def test_names_that_are_no_text_are_never_taken_for_one_another(api, kb, tmp_path):
    names = {
        b"a\nb.txt": "a\\x0ab.txt",
        b"a\\x0ab.txt": "a\\x5cx0ab.txt",
        b"a\\x5cx0ab.txt": "a\\x5cx5cx0ab.txt",
        b"z\xff.txt": "z\\xff.txt",
        b"z\\xff.txt": "z\\x5cxff.txt",
        b"c\x85.txt": "c\\x85.txt",
        b"c\xc2\x85.txt": "c\\xc2\\x85.txt",
        b"x\\y.txt": "x\\y.txt",
        b"back\\\n.txt": "back\\\\x0a.txt",
    }
    for number, name in enumerate(names):
        (tmp_path / os.fsdecode(name)).write_text(f"This is number {number} of them.")
    assert api("add", str(tmp_path))["added"] == len(names)
    assert api("add", str(tmp_path))["unchanged"] == len(names)
    below = api("list", "--path-prefix", f"{tmp_path}/")
    kept = {each["source_path"]: each["filename"] for each in below["documents"]}
    assert kept == {f"{tmp_path}/{shown}": shown for shown in names.values()}
    for number, name in enumerate(names):
        _, out, err = kb("get", f"{tmp_path}/../{tmp_path.name}/{os.fsdecode(name)}")
        assert f"number {number} of" in out, err


def test_results_stand_in_the_order_of_the_files(kb, tmp_path):
    (tmp_path / "a.txt").write_text("some words")
    (tmp_path / "b.txt").touch()
    os.truncate(tmp_path / "b.txt", 101 * 2**20)  # refused before anything is sent: it ends first
    files = json.loads(kb("add", str(tmp_path), "--json")[1])["files"]
    assert [file["outcome"] for file in files] == ["added", "failed"]


def test_ctrl_c_says_what_was_done_and_where_the_rest_is(kb, tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text("words")

    async def interrupted(*_):
        os.kill(os.getpid(), signal.SIGINT)
        await anyio.sleep_forever()

    monkeypatch.setattr("kb.cli.adding.command.Adding.add", interrupted)
    code, out, err = kb("add", str(tmp_path), str(tmp_path / "missing.txt"))
    assert (code, out.count("\n")) == (130, 1)
    assert err.rstrip() == (
        'kb: stopped after 1 file: 1 failed; what was sent stays in the engine, see "kb jobs"'
    )


@pytest.fixture
def drawn(monkeypatch):
    """What the bars show last, line by line, on a terminal so wide; time goes on by hand."""

    def draw(width, sizes, happens):
        now, shown = [100.0], io.StringIO()
        screen = Console(file=shown, force_terminal=True, width=width, height=24)
        monkeypatch.setattr("kb.cli.terminal.progress_bars.console", lambda err: screen)
        monkeypatch.setattr("kb.cli.terminal.progress_bars.time.monotonic", lambda: now[0])
        bars = Bars(sizes)
        for seconds, event, *arguments in happens:
            now[0] += seconds
            bars._draw()
            getattr(bars, event)(*arguments)
        screen.print(bars._draw())
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue()).rstrip("\n").split("\n")

    return draw


def working(message, progress, left):
    return {
        "status": "running",
        "progress": progress,
        "message": message,
        "remaining_seconds": left,
    }


LONG_NAME = "a report with quite a long name about the annual meeting in Utrecht.pdf"


@pytest.mark.parametrize("width", [60, 80, 120])
def test_bars_tell_counts_pace_and_time_left_on_one_line_each(drawn, width):
    happens = [
        *((0.5, "finished", number, f"{number + 1} added") for number in range(20)),
        (0.0, "working", 20, LONG_NAME, working("Reading page 14 of 480", 0.02, 130.0)),
        (1.0, "working", 20, LONG_NAME, working("Reading page 15 of 480", 0.03, 130.0)),
    ]
    lines = drawn(width, [1000] * 1204, happens)
    assert len(lines) == 3
    assert all(len(line.rstrip()) <= width - 3 for line in lines)  # room for ^C
    everything, tally, file = lines
    assert re.fullmatch(
        r"20 of 1,204 files  ━*[╸╺]?━+  1\.8 files/s · about 11 min left *", everything
    )
    assert tally.strip() == "20 added"
    assert re.match(r"a rep.*….*ht\.pdf  +[━╸╺]+  Reading page ", file)
    assert file.rstrip().endswith("  2 min")


def test_no_time_is_told_before_anything_is_known(drawn):
    [line] = drawn(80, [1000] * 5, [])
    assert line.startswith("0 of 5 files  ━")
    assert "left" not in line


def test_a_large_file_that_is_left_counts_for_what_it_is(drawn):
    """Nine small ones done in ten seconds say nothing good about one that is as large as all."""
    happens = [(1.0, "finished", number, "") for number in range(10)]
    everything = drawn(80, [10_000] * 10 + [5_000_000], happens)[0]
    assert re.search(r"about (6|7) min left", everything)


def test_who_waits_behind_others_is_told_so(drawn):
    waits = {"status": "queued", "ahead": 12}
    lines = drawn(80, [10, 10], [(5.0, "working", 0, "a.txt", waits)])
    assert lines[-1].strip() == "waiting for 12 jobs before these"


def test_a_single_file_has_a_bar_of_its_own(drawn):
    happens = [(0.0, "working", 0, "a.txt", working("Reading", 0.1, 75.0))]
    [line] = drawn(60, [10], happens)
    assert re.fullmatch(r"a\.txt +━*[╸╺]?━+  Reading +1 min *", line)


@pytest.mark.parametrize("command", [("addnote",), ("updatenote", "1")])
@pytest.mark.parametrize("text", ["", " \n"])
def test_a_note_without_text_is_refused(refusal, command, text):
    assert refusal(*command, text) == "kb: a note needs some text, and this one is empty\n"


def test_a_note_is_added_changed_and_found_by_its_new_words(kb, api, note):
    note_id = note("The key is under the doormat", "--tags", "house", "--title", "Keys")
    code, out, _ = kb("updatenote", note_id, "The key is at the neighbour's", "--title", "Where")
    assert (code, out) == (0, f"updated note {note_id}: Where\n")
    assert api("get", note_id)["text"] == "The key is at the neighbour's"
    found = api("search", "neighbour", "--tags", "house")["results"]
    assert [str(hit["document_id"]) for hit in found] == [note_id]
    assert not api("search", "doormat", "--tags", "house", "--fts-only")["results"]


def test_a_note_comes_from_standard_input(kb, printed, api, say):
    say("First line\nsecond line\n")
    out = printed("addnote", "-")
    note_id = re.fullmatch(r"added note (\d+)\n", out)[1]
    assert api("get", note_id)["title"] == "First line"
    say("All new")
    assert kb("updatenote", note_id, "-")[0] == 0
    assert kb("get", note_id, "--text")[1] == "All new\n"


def test_a_million_characters_fit_in_a_note_and_one_more_is_refused(kb, printed, refusal, api, say):
    text = "🦦" * 1_000_000
    say(text)
    out = printed("addnote", "-")
    note_id = re.fullmatch(r"added note (\d+)\n", out)[1]
    say(text[:-1] + "🐟")
    assert kb("updatenote", note_id, "-")[0] == 0
    assert api("get", note_id)["text"] == text[:-1] + "🐟"
    for too_long in (text + "x", "x" * 1_000_001, "x" * 5_000_000):
        say(too_long)
        err = refusal("addnote", "-", code=2)
        assert err == (
            "kb: text: a note has at most 1,000,000 characters; add a longer text as a file\n"
        )


def test_the_same_note_again_is_unchanged(kb, note):
    note_id = note("once is enough")
    assert kb("addnote", "once is enough") == (0, f"unchanged note {note_id}\n", "")


def test_a_note_can_be_got_by_the_path_it_was_given(api, note):
    note_id = note("remember the milk", "--source-path", "todo/today")
    assert str(api("get", "todo/today")["id"]) == note_id


def test_a_note_that_changed_meanwhile_is_not_overwritten(kb, note):
    note_id = note("contested")
    code, _, err = kb(
        "updatenote", note_id, "mine", "--if-updated-at", "2001-01-01T00:00:00.000000Z"
    )
    assert code == 1
    assert err.startswith("kb: ")
    assert err.count("\n") == 1


def test_a_reader_that_goes_away_ends_the_adding_silently(engine, tmp_path):
    for number in range(20):
        (tmp_path / f"{number}.txt").write_text(f"nobody reads line {number}")
    gone, pipe = os.pipe()
    os.close(gone)
    with open(pipe, "w") as nobody:
        pipes = {"capture_output": False, "stdout": nobody, "stderr": subprocess.PIPE}
        done = ended(*KB, "add", tmp_path, env=engine, **pipes)
    assert (done.returncode, done.stderr) == (141, "")


def test_a_file_larger_than_the_engine_takes_is_not_even_sent(kb, rows, tmp_path):
    with (tmp_path / "huge.txt").open("wb") as file:
        file.truncate(101 * 2**20)
    (tmp_path / "small.txt").write_text("fits")
    code, out, err = kb("add", str(tmp_path), "--tags", "sizes")
    assert code == 1
    results = {Path(row[2]).name: row for row in rows(out)}
    assert results["small.txt"][0] == "added"
    assert results["huge.txt"][0] == "failed"
    assert "larger than 100 MB" in results["huge.txt"][3]
    assert err == "kb: 2 files: 1 added, 1 failed\n"


def test_on_a_terminal_outcomes_stand_in_a_column(on_terminal, seen_on_terminal, tmp_path):
    (tmp_path / "a.txt").write_text("some words in a column")
    on_terminal("add", str(tmp_path))
    (tmp_path / "b.txt").write_text("other words in a column")
    shown = seen_on_terminal("add", str(tmp_path), "--tags", "col", columns=200)
    lines = shown.splitlines()[-3:]
    assert [line[:12] for line in lines[:2]] == ["tags added  ", "added       "]
    assert lines[2] == "2 files: 1 added, 1 with tags added"


def test_on_a_terminal_the_bars_go_in_the_end_and_the_results_stay(seen_on_terminal, tmp_path):
    (tmp_path / "[bold]odd[red].txt").write_text("brackets are not markup")
    shown = seen_on_terminal("add", str(tmp_path), "--tags", "terminal", columns=200)
    assert "[bold]odd[red].txt" in shown
    assert shown.endswith("1 file: 1 added\n")


UNPRIVILEGED = (
    ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", "--inh-caps", "-all"]
    if os.geteuid() == 0
    else []
)


@pytest.mark.skipif(bool(UNPRIVILEGED) and not shutil.which("setpriv"), reason="root reads all")
def test_what_may_not_be_read_is_told_and_everything_else_is_added(engine, rows, tmp_path):
    for folder in ("shut", "sealed"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "inside.txt").write_text("out of reach")
    (tmp_path / "LOCKED").write_text("not for you")
    (tmp_path / "other.txt").write_text("for everybody")
    (tmp_path / "LOCKED").chmod(0)
    (tmp_path / "shut").chmod(0)
    (tmp_path / "sealed").chmod(0o444)  # its names can be listed, and nothing more
    try:
        given = ("LOCKED", "shut", "shut/inside.txt", "sealed", "other.txt")
        done = ended(*UNPRIVILEGED, *KB, "add", *given, cwd=tmp_path, env=engine)
    finally:
        for folder in ("shut", "sealed"):
            (tmp_path / folder).chmod(0o700)
    reasons = {row[2].removeprefix(f"{tmp_path}/"): (row[0], row[3]) for row in rows(done.stdout)}
    refused = ("failed", "cannot be read: Permission denied")
    assert reasons == {
        "LOCKED": refused,
        "shut": refused,
        "shut/inside.txt": refused,
        "sealed/inside.txt": refused,
        "other.txt": ("added", ""),
    }
    assert (done.returncode, done.stderr) == (1, "kb: 5 files: 1 added, 4 failed\n")


def test_what_is_no_file_is_told_and_everything_else_is_added(kb, rows, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.txt").write_text("a plain file among oddities")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "circle").symlink_to("circle")
    code, out, err = kb("add", "pipe", "/dev/null", "dangling", "circle", "other.txt")
    assert {row[2]: row[3] for row in rows(out)} == {
        "pipe": "not a regular file",
        "/dev/null": "not a regular file",
        "dangling": "a link to nothing",
        "circle": "cannot be read: Too many levels of symbolic links",
        str(tmp_path / "other.txt"): "",
    }
    assert (code, err) == (1, "kb: 5 files: 1 added, 4 failed\n")


@pytest.mark.parametrize("trouble", [FileNotFoundError(2, "No such file"), OSError(5, "I/O error")])
def test_what_cannot_be_read_when_its_turn_comes_is_told(kb, rows, tmp_path, monkeypatch, trouble):
    (tmp_path / "gone.txt").write_text("there a moment ago")
    (tmp_path / "other.txt").write_text(f"still there, in spite of {trouble}")
    read = io.FileIO.read

    def fail(upload, size=-1, /):
        if str(upload.name).endswith("gone.txt"):
            raise trouble
        return read(upload, size)

    monkeypatch.setattr("kb.client._Upload.read", fail)
    code, out, err = kb("add", str(tmp_path))
    assert {Path(row[2]).name: (row[0], row[3]) for row in rows(out)} == {
        "gone.txt": ("failed", f"cannot be read: {trouble.strerror}"),
        "other.txt": ("added", ""),
    }
    assert (code, err) == (1, "kb: 2 files: 1 added, 1 failed\n")


def test_on_a_terminal_each_result_is_one_line(seen_on_terminal, tmp_path):
    folder = tmp_path / ("a folder with a long name " * 4)
    folder.mkdir()
    (folder / "tides.md").write_text("Ebb and flow")
    shown = seen_on_terminal("add", str(folder), columns=80)
    [line] = [line for line in shown.splitlines() if line.startswith("added ")]
    assert len(line) == 80
    begins = re.escape(str(tmp_path)[:4])
    assert re.search(rf"  {begins}.*….*/tides\.md  document \d+, 1 passage$", line)


def test_advice_that_fits_many_files_is_given_once(on_terminal, tmp_path):
    for name in ("a.bin", "b.bin", "c.bin"):
        (tmp_path / name).write_bytes(bytes(range(256)) * 8 + name.encode())
    shown = on_terminal("add", str(tmp_path), columns=200, code=1)
    assert shown.count("cannot be read: it is a binary file of unknown type") == 3
    assert shown.count("Supported:") == 1


def test_a_text_that_begins_with_dashes_is_told_how_to_be_given(kb, api):
    note = api("addnote", "a note")["document_id"]
    text = "---\ntitle: front matter\n---\nText"
    code, _, err = kb("updatenote", str(note), text)
    assert code == 2
    assert 'put "--" before text that begins with a dash' in err
    assert err.count("\n") == 1
    assert kb("updatenote", str(note), "--", text)[0] == 0
    assert api("get", str(note))["text"] == text
