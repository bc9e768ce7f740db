"""A half-typed word in, what it may become out, as each shell asks for it."""

import os
import shutil
import sys

import pytest

from programs import KB, ended


def complete(environ, line, shell="bash"):
    asked = {"COMP_LINE": line} if shell == "bash" else {}
    if shell == "fish":
        asked = {"COMP_WORDS": line, "COMP_CWORD": line.rpartition(" ")[2]}
    if shell == "zsh":
        asked = {"COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    done = ended(*KB, env={**environ, "_KB_COMPLETE": f"{shell}_complete", **asked})
    assert (done.returncode, done.stderr) == (0, "")
    return list(filter(None, done.stdout.splitlines()))


@pytest.fixture
def patient(monkeypatch, tmp_path, engine):
    """An environment in which a busy machine does not run into the deadline."""
    (tmp_path / "sitecustomize.py").write_text(
        "import kb.cli.completion as c; c._DEADLINE = 60.0\n"
    )
    return {**engine, "PYTHONPATH": str(tmp_path)}


def test_tags_are_completed_after_a_comma_too(patient, note):
    note("tags to complete", "--tags", "compl:home,compl:work,completely")
    assert sorted(complete(patient, "kb list --tags compl:")) == [
        "plain,compl:home",
        "plain,compl:work",
    ]
    assert complete(patient, "kb tag 1 --add other,completel") == ["plain,other,completely"]
    assert complete(patient, "kb search x --tags=compl:h") == ["plain,compl:home"]
    assert complete(patient, "kb list --tags compl:home,compl:h") == []


def test_ids_are_completed_with_their_titles_where_the_shell_shows_them(patient, note):
    note_id = note("A title: with a colon, and a comma")
    assert f"plain,{note_id}\tA title: with a colon, and a comma" in complete(
        patient, f"kb get {note_id}", "fish"
    )
    shown = complete(patient, f"kb delete {note_id}", "zsh")
    assert ["plain", note_id, "A title: with a colon, and a comma"] in [
        shown[start : start + 3] for start in range(0, len(shown), 3)
    ]
    assert f"plain,{note_id}" in complete(patient, "kb get 1 2 ")
    assert "file," in complete(patient, "kb get ")
    assert complete(patient, "kb get some/pa") == ["file,some/pa"]


def test_jobs_are_completed_where_they_fit_the_command(patient, api, kb, note, tmp_path):
    note("a job that is done")
    (tmp_path / "odd.bin").write_bytes(bytes(range(256)) * 7)
    kb("add", str(tmp_path / "odd.bin"))
    done, failed = (
        str(api("jobs", "--status", status)["jobs"][0]["id"]) for status in ("done", "failed")
    )
    offered = complete(patient, "kb jobs show ")
    assert {f"plain,{done}", f"plain,{failed}"} <= set(offered)
    retried = complete(patient, "kb jobs retry ")
    assert f"plain,{failed}" in retried
    assert f"plain,{done}" not in retried
    assert f"plain,{failed}" not in complete(patient, "kb jobs cancel ")
    assert f"plain,{failed}\tfailed: odd.bin" in complete(
        patient, f"kb jobs retry {failed}", "fish"
    )


def test_zsh_and_fish_get_the_option_back_that_a_value_is_joined_to(patient, note):
    note("joined", "--tags", "joinedtag")
    assert complete(patient, "kb list --tags=joinedt", "fish") == [
        "plain,--tags=joinedtag\t1 document"
    ]
    assert "--tags=joinedtag" in complete(patient, "kb list --tags=joinedt", "zsh")


@pytest.mark.parametrize("line", ["kb list --tags a", "kb jobs show ", "kb get 1"])
@pytest.mark.parametrize("url", ["http://127.0.0.1:9", "http://kb.invalid:9", "nonsense"])
def test_without_an_engine_nothing_is_offered_and_nothing_is_said(engine, line, url):
    offered = complete({**engine, "KB_ENGINE_URL": url}, line)
    assert [item for item in offered if item.startswith("plain")] == []


def test_an_engine_that_does_not_answer_is_not_waited_for(engine, tmp_path):
    """The deadline is all there is: nobody else ends this."""
    import socket

    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert complete({**engine, "KB_ENGINE_URL": url}, "kb list --tags a") == []


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_bash_puts_in_what_follows_a_colon_and_quotes_a_space(patient, note, kb, tmp_path):
    note("for bash", "--tags", "bashed:home,bashed:two words")
    (tmp_path / "kb").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{KB[2]}" "$@"\n')
    (tmp_path / "kb").chmod(0o755)
    script = kb("completion", "bash")[1]
    asked = (
        script
        + """
compopt() { :; }
COMP_LINE="kb list --tags bashed:" COMP_POINT=22
COMP_WORDS=(kb list --tags bashed :) COMP_CWORD=4
_kb_completion kb
printf '%s\\n' "${COMPREPLY[@]}"
"""
    )
    environ = {**patient, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = ended("bash", "-c", asked, env=environ)
    assert done.stderr == ""
    assert sorted(done.stdout.splitlines()) == ["home", "two\\ words"]
