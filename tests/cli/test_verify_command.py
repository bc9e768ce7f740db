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
            monkeypatch.setattr("kb.cli.verify._by_engine", lambda *_: answer)
        return CliRunner().invoke(cli, ["verify", *arguments], standalone_mode=False)

    return run


def test_what_is_wrong_is_a_line_each_and_the_exit_code_1(run):
    result = run(answer=DONE)
    assert result.return_value == 1
    assert "document 2 (heron): Its original is missing" in result.output


def test_a_whole_store_is_said_to_be_whole(run):
    whole = {**DONE, "whole": True, "findings": [], "findings_total": 0}
    result = run(answer=whole)
    assert result.return_value == 0
    assert "all is whole" in result.output


def test_for_programs_it_is_the_answer_of_the_api(run):
    result = run("--json", answer=DONE)
    assert json.loads(result.output) == DONE


def test_a_folder_without_a_store_is_refused(run, tmp_path):
    result = run("--data-dir", str(tmp_path))
    assert "There is no store.db" in str(result.exception)


def test_for_a_damaged_database_the_engine_is_to_be_stopped_first(run):
    known = {
        **DONE["findings"][0],
        "kind": "database",
        "what": "It is damaged",
        "document_id": None,
    }
    result = run(answer={**DONE, "findings": [known]})
    assert result.return_value == 1
    assert "1 finding; stop kb, then kb verify --repair puts right what can be" in result.output
