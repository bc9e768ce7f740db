"""`make newest`: whatever becomes of it is told, and nothing fails."""

import sys

import pytest
from tools import newest


@pytest.fixture
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(newest, "FOLDER", tmp_path / "newest")
    monkeypatch.setattr(sys, "argv", ["newest.py"])
    monkeypatch.setenv("PIP_NO_INDEX", "1")  # no registry
    return tmp_path / "newest"


def test_without_a_registry_there_is_a_warning(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["newest.py", "no-package-has-this-name"])
    newest.main()
    assert capsys.readouterr().err.startswith("WARNING: The newest of uvicorn and mcp could not")


def test_pins_that_are_the_newest_need_no_run(folder, monkeypatch, capsys):
    monkeypatch.setattr(newest, "run_tests", lambda: pytest.fail("nothing is newer"))
    newest.main()
    assert "are pinned, and the newest there are" in capsys.readouterr().out


def test_what_fails_with_a_newer_version_is_named_in_a_warning(folder, monkeypatch, capsys):
    monkeypatch.setattr(newest, "pinned", lambda: {"uvicorn": "0.1", "mcp": "0.1"})
    failed = "FAILED tests/serving/test_pings.py::test_a_ping - AssertionError"
    monkeypatch.setattr(newest, "run_tests", lambda: (False, f"F.\n{failed}\n1 failed"))
    newest.main()
    assert failed in capsys.readouterr().err


def test_the_tests_run_with_the_versions_of_the_folder(folder, monkeypatch):
    newest.install(newest.PACKAGES)
    (newest._packages() / "mcp-99.0.dist-info").mkdir()
    (newest._packages() / "mcp-99.0.dist-info/METADATA").write_text("Name: mcp\nVersion: 99.0\n")
    assert newest.installed() == newest.pinned() | {"mcp": "99.0"}
