"""What is there, changed and looked after: `kb tag`, `edit`, `delete`, `jobs`, `status`."""

import json
import os
import select
import signal
import subprocess
import urllib.request

import pytest

from programs import KB, ended

pytestmark = pytest.mark.usefixtures("engine")


def test_tags_are_added_removed_replaced_and_counted(kb, note, rows):
    note_id = note("tagged", "--tags", "tag-a")
    assert kb("tag", note_id, "--add", "tag-b,tag-c", "--remove", "tag-a")[1] == "tag-b\ntag-c\n"
    assert kb("tag", note_id)[1] == "tag-b\ntag-c\n"
    assert ["tag-b", "1"] in rows(kb("tags")[1])
    assert kb("tag", note_id, "--set", "tag-d")[1] == "tag-d\n"
    assert kb("tag", note_id, "--clear")[1] == ""


def test_title_and_metadata_are_edited(kb, api, note):
    note_id = note("to edit")
    code, out, _ = kb("edit", note_id, "--title", "New title", "--metadata", "k=v=w")
    assert (code, out) == (0, f"changed document {note_id}: New title\n")
    document = api("get", note_id)
    assert (document["title"], document["metadata"]) == ("New title", {"k": "v=w"})


def test_deleting_asks_first(kb, api, note, say):
    note_id = note("do not lose me")
    say("n\n")
    code, out, err = kb("delete", note_id)
    assert (code, out) == (1, "")
    assert "Delete 1 document for good? [y/N]" in err
    assert "nothing was deleted" in err
    say("")
    code, _, err = kb("delete", note_id)
    assert code == 2
    assert err.endswith(
        "kb: nothing was deleted: there is no terminal to ask on,"
        ' "Delete 1 document for good?"; use --yes\n'
    )
    assert api("get", note_id)["text"] == "do not lose me"
    say("y\n")
    assert kb("delete", note_id)[1] == f"deleted document {note_id}: do not lose me\n"
    assert kb("get", note_id)[0] == 1


def test_several_are_deleted_and_what_is_missing_is_told(kb, note):
    first, second = note("first to go"), note("second to go")
    code, out, err = kb("delete", first, "999999", second, first, "--yes")
    assert code == 1
    assert [line.split(":")[0] for line in out.splitlines()] == [
        f"deleted document {first}",
        f"deleted document {second}",
    ]
    assert "999999" in err
    third = note("third to go")
    code, out, _ = kb("delete", third, "999999", "--yes", "--json")
    answer = json.loads(out)
    assert [gone["document_id"] for gone in answer["deleted"]] == [int(third)]
    assert [missing["id"] for missing in answer["failed"]] == ["999999"]


def test_jobs_are_listed_shown_and_ended_ones_cannot_be_cancelled(kb, refusal, api, note, rows):
    note("a job was here")
    job = api("jobs", "--limit", "1", "--status", "done")["jobs"][0]
    (row,) = rows(kb("jobs", "--limit", "1", "--status", "done")[1])
    assert row[:3] == [str(job["id"]), "done", "100%"]
    assert row[4].startswith(f"added document {job['document_id']}")
    assert api("jobs", "show", job["uid"])["id"] == job["id"]
    assert f"uid\t{job['uid']}" in kb("jobs", "show", str(job["id"]))[1]
    assert refusal("jobs", "cancel", str(job["id"])).startswith("kb: ")
    assert kb("jobs", "show", "999999")[0] == 1


def test_what_a_failed_job_holds_is_deleted_by_its_own_command(kb, refusal, api, tmp_path):
    (tmp_path / "worse.bin").write_bytes(bytes(range(256)) * 9)
    _, out, _ = kb("add", str(tmp_path), "--json")
    job = str(json.loads(out)["files"][0]["job_id"])
    assert api("jobs", "show", job)["held_bytes"] == 2304
    assert "of failed jobs" in kb("status")[1]
    assert "kb jobs delete" in refusal("jobs", "cancel", job)
    assert api("jobs", "show", job)["held_bytes"] == 2304
    assert kb("jobs", "delete", job)[:2] == (0, f"deleted what job {job} held: worse.bin\n")
    assert api("jobs", "show", job)["held_bytes"] == 0
    assert kb("jobs", "retry", job)[0] == 1


def test_what_did_not_fail_is_not_deleted_by_that_command(refusal, api, note):
    note("a job that went well")
    job = str(api("jobs", "--limit", "1", "--status", "done")["jobs"][0]["id"])
    assert "has not failed" in refusal("jobs", "delete", job)


def test_a_failed_job_can_be_tried_again(kb, tmp_path):
    (tmp_path / "bad.bin").write_bytes(bytes(range(256)) * 8)
    _, out, _ = kb("add", str(tmp_path), "--json")
    job_id = json.loads(out)["files"][0]["job_id"]
    code, out, _ = kb("jobs", "retry", str(job_id))
    assert code == 1
    assert out.startswith("failed: ")


def test_the_status_is_shown(printed, api, engine, rows):
    out = printed("status")
    shown = dict(rows(out))
    assert shown["engine"] == f"{engine['KB_ENGINE_URL']}, version 3.0.0"
    assert shown["health"] == "healthy"
    assert api("status")["counts"]["documents"] > 0


def test_a_job_that_only_added_tags_says_so(kb, api, rows, tmp_path):
    (tmp_path / "skua.txt").write_text("A skua over the cliff.")
    api("add", str(tmp_path), "--tags", "first-tag")
    (file,) = api("add", str(tmp_path), "--tags", "second-tag")["files"]
    shown = dict(rows(kb("jobs", "show", str(file["job_id"]))[1]))
    assert shown["how it went"] == f"tags added to document {file['document_id']}"


@pytest.mark.parametrize("command", [["events", "--json"], ["jobs", "--watch", "--json"]])
def test_what_happens_can_be_followed(engine, note, command):
    process = subprocess.Popen(
        [*KB, *command], env=engine, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        line = ""
        while not line:  # notes until the follower is there to see one
            note(f"something happens {os.urandom(4).hex()}")
            if select.select([process.stdout], [], [], 0.2)[0]:
                line = process.stdout.readline()
        seen = json.loads(line)
        assert (seen["data"] if command[0] == "events" else seen)["uid"]
    finally:
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip()) == (130, "")


def test_an_engine_that_is_too_old_is_refused_in_one_line(refusal, engine, monkeypatch):
    monkeypatch.setattr("kb.connection.MIN_ENGINE_VERSION", "99.0.0")
    err = refusal("status")
    assert err == (
        f"kb: the engine at {engine['KB_ENGINE_URL']} is version 3.0.0;"
        " this kb needs 99.0.0 or newer: upgrade the engine\n"
    )


def test_json_is_what_the_api_gives(api, engine, note):
    note("exactly so")
    with urllib.request.urlopen(f"{engine['KB_ENGINE_URL']}/api/v1/documents?limit=3") as answer:
        assert api("list", "--limit", "3") == json.load(answer)


def test_a_reader_that_goes_away_is_not_an_error(engine, note):
    note("line")
    assert ended("sh", "-c", '"$@" list | true', "sh", *KB, env=engine).stderr == ""


def test_a_long_reason_is_broken_between_words_below_its_beginning(kb, seen_on_terminal, tmp_path):
    (tmp_path / "bad.bin").write_bytes(bytes(range(256)) * 10)
    job_id = str(json.loads(kb("add", str(tmp_path), "--json")[1])["files"][0]["job_id"])
    lines = seen_on_terminal("jobs", "show", job_id, columns=60).splitlines()
    assert max(map(len, lines)) <= 60
    start = next(number for number, line in enumerate(lines) if line.startswith("how it went"))
    assert lines[start].startswith("how it went  bad.bin cannot be read: it is")
    assert lines[start + 1].startswith(" " * 13)
    words = " ".join(line[13:] for line in lines[start : start + 6]).split()
    assert {"binary", "Supported:", "notebooks,"} <= set(words)


def test_a_complaint_is_broken_between_words(on_terminal):
    shown = on_terminal("get", "no/such/path/that/anybody/knows", columns=60, code=1)
    assert shown == (
        "kb: no document has the path\n"
        "no/such/path/that/anybody/knows; kb list shows what there is\n"
    )


def test_a_list_says_how_much_of_it_is_shown(api, note, on_terminal):
    for number in range(3):
        note(f"part of a list, {number}", "--tags", "partly-listed")
    shown = on_terminal("list", "--tags", "partly-listed", "--limit", "2")
    assert shown.endswith("\n2 of 3 documents; --offset 2 shows more\n")
    shown = on_terminal("list", "--tags", "partly-listed", "--limit", "2", "--offset", "2")
    assert shown.endswith("\n1 of 3 documents\n")


def test_a_file_is_saved_though_nobody_reads_that_it_was(engine, tmp_path):
    file, saved = tmp_path / "kept.txt", tmp_path / "saved.txt"
    file.write_text("The harbour is deep.")
    assert ended(*KB, "add", file, env=engine).returncode == 0
    gone, pipe = os.pipe()
    os.close(gone)
    with open(pipe, "w") as nobody:
        pipes = {"capture_output": False, "stdout": nobody, "stderr": subprocess.PIPE}
        done = ended(*KB, "get", file, "--file", saved, env=engine, **pipes)
    assert (done.returncode, done.stderr, saved.read_text()) == (141, "", file.read_text())


@pytest.mark.parametrize("command", [["events"], ["jobs", "--watch"]])
def test_who_follows_for_a_reader_that_goes_away_ends_silently(engine, note, command):
    process = subprocess.Popen(
        [*KB, *command], env=engine, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    while not select.select([process.stdout], [], [], 0.2)[0]:
        note(f"somebody reads this {os.urandom(4).hex()}")
    process.stdout.close()
    while not select.select([process.stderr], [], [], 0.2)[0]:
        note(f"nobody reads this {os.urandom(4).hex()}")
    assert (process.stderr.read(), process.wait(30)) == ("", 141)
    process.stderr.close()
