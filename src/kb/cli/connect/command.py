"""`kb connect`: sets an MCP client up to use kb."""

import importlib.resources
import shlex
from dataclasses import asdict
from pathlib import Path

import click
from rich.text import Text

from kb.cli.commands.up import refuse_without_mcp
from kb.cli.connect.checking import Finding
from kb.cli.connect.clients import CLIENTS, Client, Json, Machine, Server, skill_file
from kb.cli.connect.files import read_entry, render, with_entry
from kb.cli.connect.placing import Placed, place, read_file
from kb.cli.connect.server import hidden, read_server
from kb.cli.failure import FAILED, OK, Failure
from kb.cli.options import ANY_PATH
from kb.cli.terminal.output import console
from kb.cli.terminal.safe_text import one_line
from kb.cli.terminal.say import json_option, print_json
from kb.settings import MASK

_NAMES = [client.name for client in CLIENTS]


@click.command("connect")
@click.argument("client", required=False, metavar="[CLIENT]", type=click.Choice(_NAMES))
@click.option(
    "--write", is_flag=True, help="Write it into the client's file; a backup stays beside it."
)
@click.option(
    "--check", is_flag=True, help="Call the server as the agent would, and say what works."
)
@click.option("--skill", is_flag=True, help="With claude-code --write: install the kb skill too.")
@click.option("--stdio", is_flag=True, help="Let the client run kb itself, instead of an address.")
@click.option(
    "--http", is_flag=True, help="Let Claude Desktop use the address, through mcp-remote."
)
@click.option("--url", metavar="URL", help="Where the server is. [env var: KB_MCP_PUBLIC_URL]")
@click.option("--name", default="kb", show_default=True, help="What the client calls the server.")
@click.option(
    "--file", metavar="FILE", type=ANY_PATH, help="Use this file instead of the client's usual one."
)
@click.option("--show-key", is_flag=True, help="Print the key in full.")
@json_option
def connect_command(
    client: str | None,
    write: bool,
    check: bool,
    skill: bool,
    stdio: bool,
    http: bool,
    url: str | None,
    name: str,
    file: str | None,
    show_key: bool,
    as_json: bool,
) -> int:
    """Connect an agent to kb.

    CLIENT is claude-code, claude-desktop, cursor, vscode, codex, gemini, or json for any other.
    Without a client, all are listed with their files, and whether kb is in them. With one, kb
    shows what to put into its file. Address and key are those of this machine's settings.
    """
    if sum((write, check, show_key)) > 1:
        raise click.UsageError("Use one of --write, --check and --show-key")
    if stdio and http:
        raise click.UsageError("Use --stdio or --http, not both")
    if skill and not (write and client == "claude-code"):
        raise click.UsageError("--skill goes with: kb connect claude-code --write")
    server, machine = read_server(name, url), Machine.this()
    chosen = next((each for each in CLIENTS if each.name == client), None)
    if chosen is None:
        if write or show_key or stdio or http or file:
            raise click.UsageError(f"Name the client: {', '.join(_NAMES)}")
        if check:
            return _check(CLIENTS[-1].entry(server, stdio=False), as_json)
        return _list(server, machine, as_json)
    stdio = stdio or (chosen.stdio_only and not http)
    place_of = Path(file) if file else chosen.file(machine)
    if check:
        return _check(_entry_to_check(chosen, place_of, server, stdio), as_json)
    if write:
        return _write(chosen, place_of, server, stdio, machine if skill else None, as_json)
    return _print(chosen, place_of, server if show_key else hidden(server), stdio, as_json)


def _list(server: Server, machine: Machine, as_json: bool) -> int:
    files = [(client, client.file(machine)) for client in CLIENTS]
    states = [(client, file, _state(client, file, server)) for client, file in files]
    if as_json:
        print_json(
            {
                "url": server.url,
                "key": bool(server.key),
                "clients": [
                    {"client": client.name, "file": file and str(file), "state": state}
                    for client, file, state in states
                ],
            }
        )
        return OK
    from kb.cli.terminal.output import Column, is_terminal, print_rows

    print_rows(
        [Column("client", style="bold"), Column("state"), Column("file", share=1, from_left=True)],
        [(client.name, state, file or "") for client, file, state in states],
    )
    if is_terminal():
        key = "with a key" if server.key else "without a key"
        click.echo(f"\nThey would be given {server.url}, {key}.", err=True)
        click.echo("kb connect CLIENT shows what to put in, --write puts it in.", err=True)
    return OK


def _state(client: Client, file: Path | None, server: Server) -> str:
    """Whether kb is in the client's file, in a word or two."""
    if file is None:
        return "any other"
    try:
        entry = read_entry(client, file, server.name)
    except Failure:
        return "unreadable"
    if entry is None:
        return "not connected" if file.parent.exists() else "not found here"
    same = entry in (client.entry(server, stdio=False), client.entry(server, stdio=True))
    return "connected" if same else "differs"


def _print(client: Client, file: Path | None, server: Server, stdio: bool, as_json: bool) -> int:
    entry = client.entry(server, stdio=stdio)
    if as_json:
        shown = {"client": client.name, "file": file and str(file), "name": server.name}
        print_json({**shown, "config": {client.table: {server.name: entry}}})
        return OK
    if file is not None:
        click.echo(f"Put this into {one_line(str(file))}", err=True)
        click.echo(f"or let kb do it: kb connect {client.name} --write\n", err=True)
    click.echo(render(client, server.name, entry), nl=False)
    if client.name == "claude-code" and not stdio:
        click.echo(f"\nOr let Claude Code do it:\n{_claude_command(server)}", err=True)
    if MASK in render(client, server.name, entry):
        click.echo(f"\n{MASK} hides the key: --show-key prints it, --write puts it in.", err=True)
    return OK


def _claude_command(server: Server) -> str:
    words = ["claude", "mcp", "add", "--scope", "user", "--transport", "http"]
    command = shlex.join([*words, server.name, server.url])
    headers = [
        f"--header {shlex.quote(f'{name}: {text}')}" for name, text in server.headers.items()
    ]
    return " \\\n  ".join([command, *headers])


def _write(
    client: Client,
    file: Path | None,
    server: Server,
    stdio: bool,
    skill_on: Machine | None,
    as_json: bool,
) -> int:
    if file is None:
        raise click.UsageError("Say where with --file: kb knows no file of any other client")
    if stdio:
        refuse_without_mcp()  # the client would only say that it did not work
    entry = client.entry(server, stdio=stdio)
    before = read_file(file)
    after = with_entry(client, file, before or "", server.name, entry)
    secret = bool(server.environ.get("KB_API_KEY") if stdio else server.key)
    placed = [place(file, before, after, secret=secret)]
    if skill_on is not None:
        placed.append(_install_skill(skill_file(skill_on)))
    if as_json:
        files = [
            {
                "file": str(each.file),
                "changed": each.changed,
                "backup": each.backup and str(each.backup),
            }
            for each in placed
        ]
        print_json({"client": client.name, "files": files})
        return OK
    for each in placed:
        _show_placed(each)
    if client.then:
        click.echo(f"In {client.title}: {client.then}.", err=True)
    click.echo(f"See that it works: kb connect {client.name} --check", err=True)
    if client.name == "claude-code" and skill_on is None:
        click.echo("The kb skill shows Claude how to search well: add --skill", err=True)
    return OK


def _install_skill(file: Path) -> Placed:
    text = importlib.resources.files("kb").joinpath("skills/kb/SKILL.md").read_text("utf-8")
    return place(file, read_file(file), text, secret=False)


def _show_placed(placed: Placed) -> None:
    name = one_line(str(placed.file))
    click.echo(f"wrote {name}" if placed.changed else f"unchanged {name}")
    if placed.backup:
        click.echo(f"before {one_line(str(placed.backup))}")
    if placed.closed:
        click.echo("It contains a key now, so only you can read it.", err=True)


def _entry_to_check(client: Client, file: Path | None, server: Server, stdio: bool) -> Json:
    """The client's own entry; for a client without a file, the one it would be given."""
    if file is None:
        return client.entry(server, stdio=stdio)
    entry = read_entry(client, file, server.name)
    if entry is None:
        raise Failure(
            f"{server.name} is not in {file}; put it there with: kb connect {client.name} --write"
        )
    return entry


def _check(entry: Json, as_json: bool) -> int:
    from kb.cli.connect.checking import check

    findings = check(entry)
    works = all(finding.works is not False for finding in findings)
    if as_json:
        print_json({"works": works, "steps": [asdict(each) for each in findings]})
    else:
        show_findings(findings)
    return OK if works else FAILED


_MARKS = {True: ("✓", "green"), False: ("✗", "bold red"), None: ("·", "dim")}
_WORDS = {True: "works", False: "fails", None: "not reached"}
_INDENT = 10  # a mark, the longest step, and the spaces between


def show_findings(findings: list[Finding]) -> None:
    """A line for each step on a terminal, columns elsewhere: step, outcome, message."""
    screen = console()
    for finding in findings:
        message = one_line(finding.message)
        if not screen.is_terminal:
            click.echo(f"{finding.step}\t{_WORDS[finding.works]}\t{message}")
            continue
        mark, style = _MARKS[finding.works]
        text = Text(message or _WORDS[finding.works], "dim" if finding.works is None else "")
        first, *others = text.wrap(screen, max(20, screen.width - _INDENT))
        screen.print(Text.assemble((mark, style), f" {finding.step:<{_INDENT - 2}}", first))
        for line in others:
            screen.print(Text(" " * _INDENT) + line)
