"""`kb verify`: the engine asked, or a folder at rest."""

import json

import pytest
from click.testing import CliRunner

from kb.cli.main import cli

DONE = {
    "state": "done",
    "repair": False,
    "step": "jobs",
    "progress": 1.0,
    "started_at": "2026-07-24T09:30:12.345678Z",
    "finished_at": "2026-07-24T09:30:12.512345Z",
    "whole": False,
    "checked": {"pages": 9, "documents": 2},
    "findings_total": 1,
    "findings": [
        {
            "check": "originals",
            "kind": "original",
            "what": "Its original is missing",
            "remedy": "original",
            "document_id": 2,
            "title": "heron",
            "job_id": None,
            "chunk_id": None,
            "made_from": None,
        }
    ],
    "repaired": [],
    "failure": None,
}


@pytest.fixture
def run(monkeypatch):
    def run(*arguments, answer=None):
        if answer is not None:
            monkeypatch.setattr("kb.cli.commands.verify._by_engine", lambda *_: answer)
        return CliRunner().invoke(cli, ["verify", *arguments], standalone_mode=False)

    return run


def test_what_is_wrong_is_a_line_each_and_the_exit_code_1(run):
    result = run(answer=DONE)
    assert result.return_value == 1
    assert "document 2 (heron): Its original is missing" in result.output
    assert result.output.startswith("checked 9 pages, 2 documents\n")


@pytest.mark.parametrize("damage", ["cut", "begin"])
def test_a_database_that_cannot_be_opened_is_said_to_be_so(kb, api, note, tmp_path, damage):
    note("Cranes dance.", "--tags", "opened")
    api("backup", str(tmp_path / "backups"))
    assert kb("restore", str(tmp_path / "backups"), "--data-dir", str(tmp_path / "new"))[0] == 0
    content = (tmp_path / "new/store.db").read_bytes()
    content = content[:6000] if damage == "cut" else bytes(4096) + content[4096:]
    (tmp_path / "new/store.db").write_bytes(content)
    code, out, err = kb("verify", "--data-dir", str(tmp_path / "new"))
    first, finding, *_ = out.splitlines()
    assert (code, first) == (1, "nothing could be checked"), out + err
    assert "kb verify" not in finding
    assert "what else is there of it" in finding


def test_what_was_checked_is_said_in_plain_words(run):
    checked = {"pages": 9, "integrity": 2, "documents": 1, "placed words": 1, "totals": 7}
    shown = run(answer={**DONE, "checked": checked}).output.splitlines()[0]
    assert shown == "checked 9 pages, 1 document, indexes and totals"


def test_its_help_fits_a_terminal(run):
    assert max(map(len, run("--help").output.splitlines())) <= 80


def test_a_whole_store_is_said_to_be_whole(run):
    whole = {**DONE, "whole": True, "findings": [], "findings_total": 0}
    result = run(answer=whole)
    assert result.return_value == 0
    assert "all is whole" in result.output


def test_for_programs_it_is_the_answer_of_the_api(run):
    result = run("--json", answer=DONE)
    assert json.loads(result.output) == DONE


def test_for_a_damaged_database_the_engine_is_to_be_stopped_first(run):
    known = {
        **DONE["findings"][0],
        "kind": "database",
        "what": "It is damaged",
        "document_id": None,
    }
    result = run(answer={**DONE, "findings": [known]})
    assert result.return_value == 1
    assert "1 finding; stop kb, then kb verify --repair repairs what it can" in result.output


MENDED = {**DONE, "repair": True, "repaired": ["the original of document 2 is back"], "lost": []}


def test_if_all_was_made_again_that_is_said_and_the_exit_code_is_0(run):
    result = run("--repair", answer={**MENDED, "left": []})
    assert result.return_value == 0
    assert "everything is in order again; nothing is lost" in result.output


def test_what_is_still_to_be_read_again_is_not_called_whole(run):
    text = {**DONE["findings"][0], "kind": "text", "job_id": 12}
    result = run("--repair", answer={**MENDED, "left": [text]})
    assert result.return_value == 1
    assert "1 document is read again" in result.output
    assert "nothing is lost" not in result.output


@pytest.mark.parametrize(
    "what",
    [
        {"left": DONE["findings"]},
        {"left": [], "lost": ["document 2 (heron): Its original is missing"]},
        {"left": [], "unproven": ["document 2 (heron): its tags"]},
    ],
)
def test_if_something_is_left_or_lost_it_is_1(run, what):
    result = run("--repair", answer={**MENDED, "hint": "the last backup is elsewhere", **what})
    assert result.return_value == 1
    assert "nothing is lost" not in result.output
    assert "the last backup is elsewhere" in result.output
