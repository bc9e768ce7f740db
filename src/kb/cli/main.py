"""Finds the command, runs it, and turns every failure into one line and an exit code.

A command's module is imported only when that command runs: `kb up` stays resident beside the
engine, so it must not carry the HTTP client and the terminal library that it never uses.
"""

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from kb import __version__
from kb.cli.failure import FAILED, INTERRUPTED, MISUSED, OK, PIPE_CLOSED, Failure
from kb.cli.terminal.safe_text import one_line
from kb.cli.terminal.say import warn
from kb.settings import BadSetting

# Command, module, what `kb --help` says of it (the first line of the command's own help).
_SECTIONS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "Run": (
        ("up", "commands.up", "Run everything in the foreground; Ctrl-C stops it."),
        ("engine", "commands.up", "Run the engine alone."),
        ("mcp", "commands.up", "Run the MCP server alone."),
        ("connect", "connect.command", "Connect an agent to kb."),
    ),
    "Put in": (
        ("add", "adding.command", "Add files and folders."),
        ("addnote", "commands.notes", "Add a note."),
        ("updatenote", "commands.notes", "Replace the text of a note; its id stays."),
        ("import", "importing.command", "Import what kb or another program exported."),
    ),
    "Find": (
        ("search", "commands.search", "Find passages by words and by meaning."),
        ("get", "commands.documents", "Show documents, or save their original files."),
        ("list", "commands.documents", "List documents, newest first."),
        ("tags", "commands.tags", "List every tag with its number of documents."),
    ),
    "Change": (
        ("tag", "commands.tags", "Show or change the tags of documents."),
        ("edit", "commands.documents", "Change the title or the metadata of a document."),
        ("delete", "commands.delete", "Delete documents for good."),
        ("doubles", "commands.doubles", "List files that are stored twice, and join them."),
    ),
    "Look after": (
        (
            "export",
            "export.command",
            "Write everything into a folder, as files that a person can read.",
        ),
        ("eval", "eval.command", "Measure how well your own questions are answered."),
        ("model", "commands.model", "Choose the model that search by meaning uses."),
        ("jobs", "commands.jobs", "List, watch, cancel and retry ingestion jobs."),
        (
            "verify",
            "commands.verify",
            "Check everything that is stored; --repair repairs what it can.",
        ),
        ("status", "commands.status", "Show the state of the engine."),
        ("backup", "commands.backup", "Back up everything into a folder."),
        ("restore", "commands.backup", "Turn a backup into a store again."),
        ("events", "commands.events", "Follow what happens in the engine."),
        ("config", "commands.config", "Show every setting and where it comes from."),
        ("keygen", "commands.config", "Make a fresh API key."),
        ("completion", "commands.config", "Print the completion script for a shell."),
        ("version", "commands.config", "Print the version."),
    ),
}
COMMANDS = [(section, *row) for section, rows in _SECTIONS.items() for row in rows]

_COMPLETE = "_KB_COMPLETE"


class ClosedPipe(Exception):
    """The reader of our output went away. Not an OSError, or click would end the run its way."""


class LazyGroup(click.Group):
    """The commands by name; a module is imported when its command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return [name for _, name, _, _ in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        for _, name, module, _ in COMMANDS:
            if name == cmd_name:
                loaded = importlib.import_module(f"kb.cli.{module}")
                command: click.Command = getattr(loaded, f"{name}_command")
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib  # here, since only a mistake needs it

            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            raise click.UsageError(f"{error.message.rstrip('.')}.{meant}", error.ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        for section, rows in _SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name, line) for name, _, line in rows], col_max=12)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ClosedPipe from None
        except click.UsageError as error:
            name = ctx.invoked_subcommand
            command = self.get_command(ctx, name) if name and error.ctx is None else None
            if command is not None:  # click does not say of every mistake whose it is
                error.ctx = click.Context(command, info_name=name, parent=ctx)
            raise


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog='"kb COMMAND --help" shows the options of a command, "kb config" every setting.',
)
@click.version_option(__version__, message="kb %(version)s")
def cli() -> None:
    """Keep documents and notes on this machine, and find them again."""


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command and exit: 0 done, 1 it failed, 2 asked or set up wrongly."""
    # A title may hold what this terminal cannot write; a question mark is better than a crash.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    if _COMPLETE in os.environ:  # a shell asks
        importlib.import_module("kb.cli.shells")
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code = cli.main(arguments, prog_name="kb", standalone_mode=False)
        sys.stdout.flush()
    except Failure as failure:
        return _complain(str(failure), failure.code)
    except BadSetting as error:
        return _complain(str(error), MISUSED)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return MISUSED
    except click.ClickException as error:
        said = _usage(error) if isinstance(error, click.UsageError) else error.format_message()
        return _complain(said, MISUSED)
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except (ClosedPipe, BrokenPipeError):
        # What is still buffered has nowhere to go; the flush at exit must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PIPE_CLOSED
    except UnicodeEncodeError:
        return _complain("what was given is not UTF-8 text", MISUSED)
    except OSError as error:
        return _complain(f"{error.filename or 'this machine'}: {error.strerror or error}", FAILED)
    except Exception as error:  # a mistake of ours; whoever meets it can still tell us where
        return _complain(f"unexpected {type(error).__name__}: {error} {_origin(error)}", FAILED)
    return code if isinstance(code, int) else OK


def _origin(error: Exception) -> str:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None:
        return ""
    return f"({os.path.basename(place.tb_frame.f_code.co_filename)}:{place.tb_lineno})"


def _usage(error: click.UsageError) -> str:
    command = error.ctx.command_path if error.ctx else "kb"
    message = one_line(error.format_message()).rstrip(".")
    if isinstance(error, click.NoSuchOption):
        message = _no_such_option(error)
    see = " See" if message.endswith("?") else "; see"
    return f'{message[:1].lower()}{message[1:]}{see} "{command} --help"'


def _no_such_option(error: click.NoSuchOption) -> str:
    """Click takes options for near that have little in common with what was written."""
    import difflib  # here, since only a mistake needs it

    written = error.option_name.lstrip("-")
    known = [name.lstrip("-") for name in error.possibilities or ()]
    near = difflib.get_close_matches(written, known, n=1, cutoff=_NEAR)
    message = _cut(one_line(error.message).rstrip("."))
    return f"{message}. Did you mean '--{near[0]}'?" if near else f"{message}; {_AFTER_DASHES}"


_NEAR = 0.7
_AFTER_DASHES = 'put "--" before text that begins with a dash, or pipe it in'
_LONGEST = 80


def _cut(message: str) -> str:
    return message if len(message) <= _LONGEST else message[:_LONGEST] + "…"


def _complain(message: str, code: int) -> int:
    warn(message)
    return code
