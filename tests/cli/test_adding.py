"""Files and notes in: `kb add`, `addnote`, `updatenote`."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from rich.console import Console

from kb.cli.progress import Bars

pytestmark = pytest.mark.usefixtures("engine")


def test_a_folder_is_added_found_and_added_again_only_where_it_changed(kb, tmp_path, rows):
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

    code, out, _ = kb("search", "ebbing", "water", "--tags", "shore", "--fts-only")
    assert code == 0
    assert str(tmp_path / "tides.md") in out
    assert "sand.txt" not in out

    (tmp_path / "tides.md").write_text("# Tides\n\nNeap and spring.")
    code, out, err = kb("add", str(tmp_path), "--tags", "shore,test")
    assert sorted(row[0] for row in rows(out)) == ["unchanged", "updated"]
    assert err.startswith("kb: 2 files: 1 updated, 1 unchanged")


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


def test_one_title_cannot_be_for_two_files(kb, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    code, _, err = kb("add", str(tmp_path), "--title", "T")
    assert code == 2
    assert "--title is for one file" in err


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
def test_a_name_that_is_no_text_can_be_added(kb, tmp_path, rows, name, shown):
    (tmp_path / os.fsdecode(name)).write_text("strange name")
    code, out, _ = kb("add", str(tmp_path))
    assert code == 0
    assert rows(out)[0][2].endswith(shown)


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

    monkeypatch.setattr("kb.cli.add.Adding.add", interrupted)
    code, out, err = kb("add", str(tmp_path), str(tmp_path / "missing.txt"))
    assert (code, out.count("\n")) == (130, 1)
    assert err.rstrip() == (
        'kb: stopped after 1 file: 1 failed; what was sent stays in the engine, see "kb jobs"'
    )


def test_a_bar_shows_how_long_the_work_takes_and_leaves_room_at_the_right(monkeypatch):
    now, shown = [0.0], io.StringIO()
    screen = Console(file=shown, force_terminal=True, width=60, get_time=lambda: now[0])
    monkeypatch.setattr("kb.cli.progress.console", lambda err: screen)
    with Bars(1) as bars:
        bars.uploading(0, "a.txt", 10, 10)
        bars.working(0, "a.txt", {"status": "running", "progress": 0.1, "message": "Reading"})
        now[0] = 75.0
    last = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.getvalue()).rstrip().splitlines()[-1]
    assert re.search(r"^a\.txt .* 0:01:15 *$", last)
    assert len(last) == 57


@pytest.mark.parametrize("command", [("addnote",), ("updatenote", "1")])
@pytest.mark.parametrize("text", ["", " \n"])
def test_a_note_without_text_is_refused(kb, command, text):
    code, out, err = kb(*command, text)
    assert (code, out) == (1, "")
    assert err == "kb: a note needs some text, and this one is empty\n"


def test_a_note_is_added_changed_and_found_by_its_new_words(kb, api, note):
    note_id = note("The key is under the doormat", "--tags", "house", "--title", "Keys")
    code, out, _ = kb("updatenote", note_id, "The key is at the neighbour's", "--title", "Where")
    assert (code, out) == (0, f"updated note {note_id}: Where\n")
    assert api("get", note_id)["text"] == "The key is at the neighbour's"
    found = api("search", "neighbour", "--tags", "house")["results"]
    assert [str(hit["document_id"]) for hit in found] == [note_id]
    assert not api("search", "doormat", "--tags", "house", "--fts-only")["results"]


def test_a_note_comes_from_standard_input(kb, api, say):
    say("First line\nsecond line\n")
    code, out, _ = kb("addnote", "-")
    assert code == 0
    note_id = re.fullmatch(r"added note (\d+)\n", out)[1]
    assert api("get", note_id)["title"] == "First line"
    say("All new")
    assert kb("updatenote", note_id, "-")[0] == 0
    assert kb("get", note_id, "--text")[1] == "All new\n"


def test_a_million_characters_fit_in_a_note_and_one_more_is_one_clear_line(kb, api, say):
    text = "🦦" * 1_000_000
    say(text)
    code, out, _ = kb("addnote", "-")
    assert code == 0
    note_id = re.fullmatch(r"added note (\d+)\n", out)[1]
    say(text[:-1] + "🐟")
    assert kb("updatenote", note_id, "-")[0] == 0
    assert api("get", note_id)["text"] == text[:-1] + "🐟"
    for too_long in (text + "x", "x" * 1_000_001, "x" * 5_000_000):
        say(too_long)
        code, out, err = kb("addnote", "-")
        assert (code, out) == (2, "")
        assert re.search("1,?000,?000 characters", err)
        assert err.count("\n") == 1


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


def test_an_empty_note_is_refused_in_one_line(kb):
    code, out, err = kb("addnote", "  ")
    assert (code, out) == (1, "")
    assert err.startswith("kb: ")
    assert err.count("\n") == 1


def test_a_reader_that_goes_away_ends_the_adding_silently(engine, tmp_path):
    for number in range(20):
        (tmp_path / f"{number}.txt").write_text(f"nobody reads line {number}")
    command = "import sys; from kb.cli.main import main; main(['add', sys.argv[1]])"
    done = subprocess.run(
        f'"{sys.executable}" -c "{command}" "{tmp_path}" | true; echo ${{PIPESTATUS[0]}}',
        shell=True,
        executable="bash",
        env=engine,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("141\n", "")


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


def test_on_a_terminal_the_bars_are_gone_at_the_end_and_the_results_stay(on_terminal, tmp_path):
    (tmp_path / "[bold]odd[red].txt").write_text("brackets are not markup")
    shown = on_terminal("add", str(tmp_path), "--tags", "terminal", columns=200)
    assert "[bold]odd[red].txt" in shown
    assert re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).endswith("1 file: 1 added\n")
