"""Arguments in, an exit code and at most one line of complaint out."""

import json
import os
import re

import pytest

from kb import __version__
from kb.cli.main import COMMANDS, cli
from programs import KB, ended

NO_ENGINE = "http://127.0.0.1:9"


@pytest.fixture(autouse=True)
def no_engine(monkeypatch):
    monkeypatch.setenv("KB_ENGINE_URL", NO_ENGINE)
    monkeypatch.setattr("kb.connection._RETRY_AFTER", 0)


@pytest.mark.parametrize("row", COMMANDS, ids=[row[1] for row in COMMANDS])
def test_the_list_of_commands_says_what_each_command_says_of_itself(row):
    _, name, _, line = row
    command = cli.get_command(None, name)
    assert command.name == name
    assert command.help.split("\n\n")[0].strip() == line


@pytest.mark.parametrize("name", [row[1] for row in COMMANDS])
def test_every_command_has_help(kb, name):
    code, out, err = kb(name, "--help")
    assert (code, err) == (0, "")
    assert out.startswith(f"Usage: kb {name}")


@pytest.mark.parametrize("arguments", [("search", "\udcff bytes"), ("addnote", "\udcff bytes")])
def test_what_is_not_text_is_told_so(kb, arguments):
    code, out, err = kb(*arguments)
    assert (code, out, err) == (2, "", "kb: what was given is not UTF-8 text\n")


def test_kb_alone_shows_the_list_of_commands(kb):
    code, out, err = kb()
    assert (code, out) == (2, "")
    assert err == kb("--help")[1]
    assert err.count("\n") > len(COMMANDS)


def test_the_version_is_printed(kb):
    assert kb("--version") == (0, f"kb {__version__}\n", "")
    assert kb("version") == (0, f"kb {__version__}\n", "")
    assert json.loads(kb("version", "--json")[1]) == {"version": __version__}


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["nope"], "kb: no such command 'nope'; see \"kb --help\"\n"),
        (["tag", "1", "--add"], "kb: option '--add' requires an argument; see \"kb tag --help\"\n"),
        (
            ["list", "--tgs", "a"],
            "kb: no such option '--tgs'. Did you mean '--tags'? See \"kb list --help\"\n",
        ),
        (
            ["list", "--since", "yesterday"],
            "kb: no such option '--since'; put \"--\" before text that begins with a dash, "
            'or pipe it in; see "kb list --help"\n',
        ),
        (["serach"], "kb: no such command 'serach'. Did you mean 'search'? See \"kb --help\"\n"),
        (["search"], "kb: missing argument 'QUERY...'; see \"kb search --help\"\n"),
        (["search", " "], "kb: say what to search for"),
        (["search", "x", "--top", "0"], "kb: invalid value for '--top'"),
        (["search", "x", "--after", "soon"], "kb: invalid value for '--after': 'soon' is not a"),
        (["search", "x", "--fts-only", "--vec-only"], "kb: --fts-only and --vec-only exclude"),
        (["add", "-", "-"], "kb: - can be given only once"),
        (["add", "a", "--filename", "b"], "kb: --filename names standard input"),
        (["addnote", "x", "--metadata", "y"], "kb: invalid value for --metadata: 'y' is not NAME"),
        (
            ["addnote", "x", "--metadata", "y=1", "--metadata", "y=2"],
            "kb: invalid value for --metadata: 'y' is given twice",
        ),
        (["delete"], "kb: name the documents to delete, use a filter"),
        (["delete", "1", "--all"], "kb: name documents or use --all, not both"),
        (["delete", "--all", "--yes"], "kb: --all asks for the words DELETE ALL"),
        (["tag", "1", "--set", "a", "--add", "b"], "kb: use --set or --clear alone"),
        (["edit", "1"], "kb: say what to change"),
        (["status", "--engine-url", "nowhere"], "kb: KB_ENGINE_URL=nowhere: not an http"),
        (["up", "--port", "abc"], "kb: KB_PORT=abc: not a usable number"),
        (["tag", "--add", "a"], "kb: name the documents, or use a filter such as --tags"),
        (["jobs", "cancel"], "kb: name jobs or use --status; see"),
        (["jobs", "retry", "1", "--status", "failed"], "kb: name jobs or use --status, not both"),
        (["jobs", "--watch", "--offset", "3"], "kb: --offset is for the list"),
        (["jobs", "--json", "show", "1"], "kb: --json belongs after show"),
        (["jobs", "--status", "odd"], "kb: invalid value for '--status'"),
    ],
)
def test_a_misuse_is_one_line_and_exit_code_2(refusal, arguments, line):
    assert refusal(*arguments, code=2).startswith(line)


def test_a_bad_setting_is_one_line_and_exit_code_2(kb, monkeypatch):
    monkeypatch.setenv("KB_PORT", "abc")
    code, _, err = kb("config")
    assert code == 2
    assert err.startswith("kb: KB_PORT=abc: ")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "x"],
        ["status"],
        ["get", "1"],
        ["list", "--json"],
        ["delete", "1", "--yes"],
        ["delete", "--all"],
        ["tag", "1", "--add", "a"],
        ["tags"],
        ["edit", "1", "--title", "t"],
        ["addnote", "text"],
        ["updatenote", "1", "text"],
        ["add", __file__],
        ["jobs"],
        ["jobs", "--watch"],
        ["jobs", "show", "1"],
        ["jobs", "cancel", "1"],
        ["jobs", "retry", "1"],
        ["jobs", "retry", "1", "2"],
        ["jobs", "cancel", "--status", "queued"],
        ["tag", "1", "2", "--add", "a"],
        ["delete", "--tags", "a", "--yes"],
        ["get", "1", "2", "--text"],
        ["events"],
    ],
)
def test_without_an_engine_every_command_says_how_to_start_one(kb, arguments):
    assert kb(*arguments) == (1, "", f'kb: no engine at {NO_ENGINE}; start one with "kb up"\n')


def test_for_an_engine_elsewhere_the_advice_is_another(kb):
    _, _, err = kb("status", "--engine-url", "http://kb.invalid:9")
    assert err == (
        "kb: no engine at http://kb.invalid:9; check KB_ENGINE_URL and that the engine runs\n"
    )


def test_nothing_to_add_is_a_failure(refusal, tmp_path):
    assert refusal("add", str(tmp_path)).startswith("kb: nothing to add")


def test_keys_are_long_and_never_the_same(kb):
    keys = {kb("keygen")[1].strip() for _ in range(5)}
    assert len(keys) == 5
    assert all(len(key) >= 43 for key in keys)
    assert len(json.loads(kb("keygen", "--json")[1])["key"]) >= 43


def test_config_shows_every_setting_and_hides_secrets(kb, printed, monkeypatch):
    monkeypatch.setenv("KB_API_KEY", "hunter2hunter2")
    monkeypatch.setenv("KB_PORT", "8123")
    out = printed("config")
    assert "hunter2" not in out
    rows = [line.split("\t") for line in out.splitlines()]
    assert ["KB_API_KEY", "•••", "environment"] in rows
    assert ["KB_PORT", "8123", "environment"] in rows
    assert ["KB_HOST", "127.0.0.1", "default"] in rows
    settings = json.loads(kb("config", "--json")[1])["settings"]
    assert [row[0] for row in rows] == [setting["name"] for setting in settings]
    assert all(setting["meaning"] for setting in settings)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_for_kb(printed, shell):
    out = printed("completion", shell)
    assert "_KB_COMPLETE" in out
    assert f"{shell}_complete" in out


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("kb ad", ["plain,add", "plain,addnote"]),
        ("kb add gard", ["file,gard"]),
        ("kb get gard", ["file,gard"]),
        ("kb search x --path-prefix gard", ["file,gard"]),
    ],
)
def test_completion_knows_the_commands_and_where_a_file_is_meant(typed, offered):
    asked = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    done = ended(*KB, env={**os.environ, "_KB_COMPLETE": "bash_complete", **asked})
    assert done.stdout.splitlines() == offered


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
def test_a_key_file_must_be_readable_only_by_its_owner(kb, refusal, tmp_path):
    path = tmp_path / "key"
    path.write_text("a-key\n")
    path.chmod(0o644)
    assert f"chmod 600 {path}" in refusal("status", "--api-key-file", str(path), code=2)
    path.chmod(0o600)
    assert kb("status", "--api-key-file", str(path))[0] == 1
    assert kb("status", "--api-key-file", str(tmp_path / "none"))[0] == 2


def test_a_mistake_of_ours_is_one_line_that_says_where(refusal, monkeypatch):
    monkeypatch.setattr("kb.cli.session.anyio.run", lambda *_: {}["missing"])
    err = refusal("status")
    assert re.fullmatch(r"kb: unexpected KeyError: 'missing' \(test_main\.py:\d+\)\n", err)


def test_ctrl_c_is_quiet_and_exits_with_130(kb, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("kb.cli.session.anyio.run", interrupted)
    code, out, err = kb("status")
    assert (code, out, err.strip()) == (130, "", "")
