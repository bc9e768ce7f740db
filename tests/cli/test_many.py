"""Several at once, by name or by a filter: `kb tag`, `delete`, `get` and `jobs`."""

import json
import os

import pytest

from kb.cli.which import list_documents

pytestmark = pytest.mark.usefixtures("engine")

NOBODY = "999999"
SEARCH_AGAIN = "it may have been deleted, search or list again for its id"
LIST_JOBS = "list the jobs to see the recent ones"


def test_several_are_tagged_and_what_is_missing_is_told(kb, api, note, rows):
    first, second = note("one of two", "--tags", "many-a"), note("two of two")
    code, out, err = kb("tag", first, NOBODY, second, "--add", "many-b")
    assert (code, err) == (1, f"kb: Document {NOBODY} not found: {SEARCH_AGAIN}\n")
    assert rows(out) == [[first, "many-a,many-b", "one of two"], [second, "many-b", "two of two"]]
    assert kb("tag", first, second)[1] == out
    assert [each["id"] for each in api("list", "--tags", "many-b")["documents"]] == [
        int(second),
        int(first),
    ]


def test_several_answer_programs_with_what_became_of_each_and_one_with_itself(kb, api, note):
    first, second = note("for programs"), note("for programs, too")
    code, out, _ = kb("tag", first, NOBODY, second, "--add", "many-c", "--json")
    answer = json.loads(out)
    assert code == 1
    assert [(each["id"], each["tags"]) for each in answer["documents"]] == [
        (int(first), ["many-c"]),
        (int(second), ["many-c"]),
    ]
    [missing] = answer["failed"]
    assert (missing["id"], missing["error"]) == (NOBODY, "document_not_found")
    assert api("tag", first)["id"] == int(first)


def test_several_are_shown_one_after_the_other(kb, api, note):
    first, second = note("the first text"), note("the second text")
    code, out, err = kb("get", first, NOBODY, second, "--text")
    assert (code, out) == (1, "the first text\n\nthe second text\n")
    assert NOBODY in err
    found = api("get", first, second)
    assert [each["text"] for each in found["documents"]] == ["the first text", "the second text"]
    assert found["failed"] == []


def test_several_files_are_saved_in_a_folder(kb, api, tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(f"original {name}")
    ids = [str(each["document_id"]) for each in api("add", str(tmp_path))["files"]]
    target = tmp_path / "saved"
    code, _, err = kb("get", *ids, "--file", str(target))
    assert (code, err.split(":")[1].strip()) == (2, "several files need a folder to be saved in")
    target.mkdir()
    assert kb("get", *ids, "--file", str(target))[0] == 0
    assert sorted(path.name for path in target.iterdir()) == ["a.txt", "b.txt"]


def test_a_filter_asks_with_the_number_and_changes_those_alone(api, note, on_terminal, tmp_path):
    path = tmp_path / "shore.txt"
    path.write_text("on the shore")
    api("add", str(path), "--tags", "many-d")
    inside, outside = note("a note of it", "--tags", "many-d"), note("another")
    shown = on_terminal("tag", "--tags", "many-d", "--add", "many-e", typed="n\n", code=1)
    assert "Change the tags of 2 documents? [y/N]" in shown
    assert not api("list", "--tags", "many-e")["documents"]
    on_terminal("tag", "--tags", "many-d", "--type", "note", "--add", "many-e", typed="y\n")
    assert [str(each["id"]) for each in api("list", "--tags", "many-e")["documents"]] == [inside]
    prefix = f"{tmp_path}/"
    changed = api("tag", "--path-prefix", prefix, "--add", "many-f", "--yes")["documents"]
    assert [each["source_path"] for each in changed] == [str(path)]
    assert api("tag", outside)["tags"] == []


def test_what_a_filter_finds_is_shown_without_a_question(kb, note, rows):
    note_id = note("only looking", "--tags", "many-g")
    assert rows(kb("tag", "--tags", "many-g")[1]) == [[note_id, "many-g", "only looking"]]


def test_a_filter_deletes_exactly_what_was_counted(api, note, on_terminal):
    doomed = [note(f"doomed {number}", "--tags", "many-h") for number in range(12)]
    kept = note("kept", "--tags", "many-i")
    shown = on_terminal("delete", "--tags", "many-h", typed="y\n")
    assert "Delete 12 documents for good? [y/N]" in shown
    assert "… and 2 more" in shown
    assert shown.count("deleted document") == 12
    assert not api("list", "--tags", "many-h")["documents"]
    assert api("get", kept)["id"] == int(kept)
    assert doomed


def test_what_fits_a_filter_only_after_it_was_counted_stays(kb, api, note, monkeypatch):
    counted = note("was there", "--tags", "many-j")

    def meanwhile(*_, **__):
        note("came later", "--tags", "many-j")

    monkeypatch.setattr("kb.cli.commands.delete.agree", meanwhile)
    code, out, _ = kb("delete", "--tags", "many-j")
    assert (code, out) == (0, f"deleted document {counted}: was there\n")
    assert [each["title"] for each in api("list", "--tags", "many-j")["documents"]] == [
        "came later"
    ]


def test_without_a_terminal_to_ask_on_a_filter_does_nothing(kb, api, note, say):
    note_id = note("not by accident", "--tags", "many-k")
    say("y\n")
    code, out, err = kb("delete", "--tags", "many-k")
    assert (code, out) == (2, "")
    assert err == (
        f"{note_id}  not by accident  (1 passage)\n"
        "kb: nothing was deleted: there is no terminal to ask on,"
        ' "Delete 1 document for good?"; use --yes\n'
    )
    assert kb("tag", "--tags", "many-k", "--clear")[0] == 2
    assert len(api("list", "--tags", "many-k")["documents"]) == 1
    assert api("delete", "--tags", "many-k", "--yes")["failed"] == []
    assert not api("list", "--tags", "many-k")["documents"]


def test_a_folder_means_what_is_in_it_and_not_its_neighbour(api, tmp_path):
    for folder in ("pap", "pap-old"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "moa.txt").write_text(
            f"It was late. The moa of {folder} walks over the heath in the evening. It left."
        )
    api("add", str(tmp_path))
    inside = str(tmp_path / "pap" / "moa.txt")
    for folder in (str(tmp_path / "pap"), os.path.relpath(tmp_path / "pap")):
        chosen = ("--path-prefix", folder)
        for found in (api("list", *chosen), api("tag", *chosen, "--add", "moa", "--yes")):
            assert [each["source_path"] for each in found["documents"]] == [inside]
        hits = api("search", "moa", "--fts-only", *chosen)["results"]
        assert [each["source_path"] for each in hits] == [inside]
        drafted = api("eval", "--make", *chosen)["questions"]
        assert ["moa of pap walks" in each["question"] for each in drafted] == [True]
    assert api("list", "--path-prefix", str(tmp_path / "pa"))["total"] == 2
    assert len(api("delete", "--path-prefix", str(tmp_path / "pap"), "--yes")["deleted"]) == 1
    assert api("list", "--path-prefix", str(tmp_path))["total"] == 1


@pytest.mark.parametrize("empty", [("--tags", " , "), ("--path-prefix", ""), ("--type", " ")])
@pytest.mark.parametrize("command", [("delete",), ("tag", "--add", "x"), ("delete", "1")])
def test_an_empty_filter_is_refused_whatever_else_is_given(refusal, api, note, command, empty):
    note("still here", "--tags", "many-l")
    before = api("status")["counts"]["documents"]
    err = refusal(*command, *empty, "--yes", code=2)
    assert err.startswith(f"kb: {empty[0]} is empty: that would be everything")
    assert api("status")["counts"]["documents"] == before


@pytest.mark.parametrize("option", ["--add", "--remove", "--set"])
def test_a_change_of_tags_that_names_none_is_refused(refusal, api, note, option):
    note_id = note("keeps its tag", "--tags", "many-m")
    err = refusal("tag", note_id, option, " , ", code=2)
    assert err.startswith(f"kb: {option} is empty: name a tag, or remove every tag with --clear")
    assert api("tag", note_id)["tags"] == ["many-m"]


def test_a_filter_that_nothing_fits_is_told_and_no_failure(kb):
    assert kb("delete", "--tags", "many-none") == (
        0,
        "",
        "kb: nothing was deleted: no document fits\n",
    )
    code, out, _ = kb("delete", "--tags", "many-none", "--json")
    assert (code, json.loads(out)) == (0, {"deleted": [], "failed": []})


def test_names_and_a_filter_do_not_go_together(kb):
    code, _, err = kb("delete", "1", "--tags", "a")
    assert (code, err.split(";")[0]) == (2, "kb: name documents or use a filter, not both")
    assert kb("jobs", "cancel", "1", "--status", "queued")[0] == 2
    assert kb("jobs", "cancel")[0] == 2


@pytest.fixture
def slow_jobs(api, tmp_path):
    """Jobs that take long enough to be cancelled, in order; whatever is left of them is."""
    for number in range(5):
        words = "\n\n".join(f"{number} {line} " + "otter " * 150 for line in range(3000))
        (tmp_path / f"slow-{number}.txt").write_text(words)
    files = api("add", str(tmp_path), "--no-wait")["files"]
    yield [str(job_id) for job_id in sorted(file["job_id"] for file in files)]
    for status in ("queued", "running"):
        api("jobs", "cancel", "--status", status, "--yes")


def test_several_jobs_are_cancelled_by_id_and_by_status(kb, api, slow_jobs, on_terminal):
    code, out, err = kb("jobs", "cancel", slow_jobs[4], NOBODY, slow_jobs[3])
    assert (code, err) == (1, f"kb: Job {NOBODY} not found: {LIST_JOBS}\n")
    assert out == f"cancelled job {slow_jobs[4]}\ncancelled job {slow_jobs[3]}\n"
    assert kb("jobs", "cancel", "--status", "running")[0] == 2
    shown = on_terminal("jobs", "cancel", "--status", "running", typed="y\n")
    assert "running jobs? [y/N]" in shown
    assert f"cancelled job {slow_jobs[0]}\n" in shown
    assert api("jobs", "show", slow_jobs[0])["status"] == "cancelled"


def test_several_jobs_are_shown_and_tried_again(kb, api, tmp_path):
    for name in ("bad.bin", "worse.bin"):
        (tmp_path / name).write_bytes(bytes(range(256)) * 8 + name.encode())
    _, out, _ = kb("add", str(tmp_path), "--json")
    ids = [file["job_id"] for file in json.loads(out)["files"]]
    named = [str(number) for number in ids]
    code, out, err = kb("jobs", "retry", *named, NOBODY)
    assert code == 1
    assert [line.split(":")[0] for line in out.splitlines()] == [
        f"job {number} failed" for number in ids
    ]
    assert err == f"kb: Job {NOBODY} not found: {LIST_JOBS}\n"
    assert [job["id"] for job in api("jobs", "show", *named)["jobs"]] == ids
    assert kb("jobs", "show", *named)[1].count("status\tfailed\n") == 2
    code, out, _ = kb("jobs", "retry", *named, "--json")
    answer = json.loads(out)
    assert ([job["status"] for job in answer["jobs"]], answer["failed"]) == (["failed"] * 2, [])
    assert code == 1


async def test_a_document_that_moves_to_the_next_page_while_they_are_listed_is_listed_once():
    class Growing:
        """One document more, older than all, stands there from the second page on."""

        async def documents(self, limit, offset, **filters):
            ids = list(range(1, limit + 2))
            shown = [0, *ids] if offset else ids
            return {"documents": [{"id": each} for each in shown[offset : offset + limit]]}

    listed = [document["id"] for document in await list_documents(Growing())]
    assert listed == sorted(set(listed))
