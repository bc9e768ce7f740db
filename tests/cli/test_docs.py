"""The pages name every command, option and setting, and nothing that is not there."""

import re
import shlex
from pathlib import Path

import click
import pytest

from kb.cli.main import COMMANDS, cli
from kb.settings import MASK, SETTINGS, read_settings

DOCS = Path(__file__).parents[2] / "docs"
CLI = (DOCS / "cli.md").read_text("utf-8")
SETTINGS_PAGE = (DOCS / "settings.md").read_text("utf-8")

EVERYWHERE = {"--help", "-h", "--json", "--engine-url", "--api-key-file"}


def commands() -> dict[str, click.Command]:
    """Every command by the words that call it."""
    found = {}
    for _, name, _, _ in COMMANDS:
        command = cli.get_command(None, name)
        found[f"kb {name}"] = command
        if isinstance(command, click.Group):
            found |= {f"kb {name} {sub}": inner for sub, inner in command.commands.items()}
    return found


def options(command: click.Command) -> set[str]:
    return {
        name
        for parameter in command.params
        if isinstance(parameter, click.Option)
        for name in parameter.opts
    }


def section(page: str, title: str) -> str:
    """The text under a heading, up to the next one."""
    match = re.search(rf"^#+ `{re.escape(title)}`\n(.*?)(?=^#|\Z)", page, re.DOTALL | re.MULTILINE)
    assert match, f"{title} has no heading of its own"
    return match[1]


@pytest.mark.parametrize("name", commands())
def test_every_command_is_described_with_its_options_and_an_example(name):
    text = section(CLI, name)
    missing = {
        option for option in options(commands()[name]) - EVERYWHERE if f"`{option}" not in text
    }
    assert not missing
    assert re.search(rf"^(\$ )?(.*\| )?{name}( |$)", text, re.MULTILINE)


def test_the_options_of_every_command_are_described_once():
    for option in EVERYWHERE - {"-h"}:
        assert f"`{option}" in CLI


def test_the_page_names_no_command_or_option_that_is_not_there():
    known = commands()
    for name in re.findall(r"^#+ `(kb [a-z ]+)`", CLI, re.MULTILINE):
        described = set(re.findall(r"`(--[a-z-]+)", section(CLI, name)))
        assert described <= options(known[name]) | EVERYWHERE, name


def test_every_example_is_a_command_line_that_kb_accepts():
    known = commands()
    lines = re.findall(r"^\$ (kb .+)$", CLI, re.MULTILINE)
    assert len(lines) > 20
    for line in lines:
        words = shlex.split(re.split(" [|<>] ", line)[0])
        name = " ".join(words[:3]) if " ".join(words[:3]) in known else " ".join(words[:2])
        command = known[name]
        arguments = words[len(name.split()) :]
        command.make_context(name, arguments, resilient_parsing=False)


@pytest.mark.parametrize("code", ["0", "1", "2", "130", "141"])
def test_every_exit_code_is_described(code):
    assert re.search(rf"^\| {code} \|", CLI, re.MULTILINE)


@pytest.mark.parametrize("setting", SETTINGS, ids=[setting.name for setting in SETTINGS])
def test_every_setting_is_described_with_its_default(setting):
    match = re.search(rf"^\| `{setting.name}` \|(.*)\|(.*)\|$", SETTINGS_PAGE, re.MULTILINE)
    assert match, f"{setting.name} is missing"
    default = setting.default
    if default and not default.startswith("/"):
        assert f"`{default}`" in match[0]


def test_the_settings_page_names_nothing_that_is_not_there():
    names = set(re.findall(r"`(KB_[A-Z_]+)`", SETTINGS_PAGE))
    assert names == {setting.name for setting in SETTINGS}


def test_the_config_file_on_the_page_is_one_that_works(tmp_path):
    text = re.search(r"```toml\n(.*?)```", SETTINGS_PAGE, re.DOTALL)[1]
    path = tmp_path / "config.toml"
    path.write_text(text)
    path.chmod(0o600)
    values = read_settings({"KB_CONFIG": str(path)})
    assert values["KB_API_KEY"].text == MASK
    assert values["KB_PORT"].origin == f"file {path}"
