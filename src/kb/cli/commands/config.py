"""`kb config`, `keygen`, `completion` and `version`: what needs no engine."""

import secrets

import click

from kb import __version__
from kb.cli.terminal.say import json_option, print_json
from kb.settings import read_settings


@click.command("config")
@json_option
def config_command(as_json: bool) -> None:
    """Show every setting and where it comes from.

    A setting comes from the environment, the config file, or a default. Secrets are shown as •••.
    """
    values = read_settings().values()
    if as_json:
        rows = [
            {
                "name": value.setting.name,
                "value": value.text,
                "origin": value.origin,
                "meaning": value.setting.meaning,
                "readers": list(value.setting.readers),
            }
            for value in values
        ]
        print_json({"settings": rows})
        return
    from kb.cli.terminal.output import Column, print_rows

    print_rows(
        [Column("setting"), Column("value", style="bold"), Column("from", share=1)],
        [(value.setting.name, value.text, value.origin) for value in values],
    )


@click.command("keygen")
@json_option
def keygen_command(as_json: bool) -> None:
    """Make a fresh API key.

    It has 256 random bits. Give it to the engine and to its clients as KB_API_KEY.
    """
    key = secrets.token_urlsafe(32)
    print_json({"key": key}) if as_json else click.echo(key)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print the completion script for a shell.

    \b
    bash   kb completion bash > ~/.local/share/bash-completion/completions/kb
    zsh    kb completion zsh > "${fpath[1]}/_kb"
    fish   kb completion fish > ~/.config/fish/completions/kb.fish
    """
    from click.shell_completion import get_completion_class

    from kb.cli import shells  # noqa: F401  # brings its own scripts
    from kb.cli.main import cli

    completion = get_completion_class(shell)
    assert completion is not None  # for each that may be chosen there is one
    # The script itself, not `source()`: that one runs the shell to look at its version.
    parts = completion(cli, {}, "kb", "_KB_COMPLETE")
    click.echo(parts.source_template % parts.source_vars())


@click.command("version")
@json_option
def version_command(as_json: bool) -> None:
    """Print the version."""
    print_json({"version": __version__}) if as_json else click.echo(f"kb {__version__}")
