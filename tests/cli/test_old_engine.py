"""Commands that change something, beside an engine that is too old for them."""

import pytest

from old_engine import OldEngine

SAID = {
    "2.9.0": "is version 2.9.0; this kb needs 3.0.0 or newer: upgrade the engine",
    None: "is no kb engine, or an old one: check KB_ENGINE_URL",
}


@pytest.fixture(params=SAID, ids=["v2.9", "no engine"])
def old(request, monkeypatch):
    with OldEngine(request.param) as engine:
        monkeypatch.setenv("KB_ENGINE_URL", engine.url)
        yield engine


@pytest.mark.parametrize(
    "command",
    [
        ["addnote", "a text"],
        ["updatenote", "1", "a text"],
        ["add", "FILE"],
        ["tag", "1", "--add", "x"],
        ["edit", "1", "--title", "x"],
        ["delete", "1", "--yes"],
        ["delete", "--all"],
        ["jobs", "cancel", "1"],
        ["jobs", "retry", "1"],
        ["model", "use", "x"],
    ],
    ids=" ".join,
)
def test_a_command_changes_nothing_and_says_why_in_one_line(refusal, say, old, tmp_path, command):
    file = tmp_path / "a.txt"
    file.write_text("a text")
    say("DELETE ALL\n")
    err = refusal(*(str(file) if word == "FILE" else word for word in command))
    assert SAID[old.version] in err
    assert old.url in err
    assert old.changes == []
    assert len(old.lines) == 1
