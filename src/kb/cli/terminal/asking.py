"""Asks a person a question."""

import sys

import click

from kb.cli.failure import Failure, Misuse


def ask(question: str) -> str:
    """The answer to a question. It is asked on standard error: the output may go to a program."""
    click.echo(question, err=True, nl=False)
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):  # the end of the input: nobody pressed Enter
        click.echo(err=True)
    return answer.strip()


def agree(question: str, undone: str, *, seen_only_now: bool = False) -> None:
    """Go on only after a yes; `undone` says what was not done otherwise.

    What a filter means is `seen_only_now`, so the yes must come from somebody who sees it.
    """
    answer = "" if seen_only_now and not sys.stdin.isatty() else ask(f"{question} [y/N] ")
    # Enter alone on a terminal, else the end of an input that holds no answer.
    if not answer and not sys.stdin.isatty():
        raise Misuse(f'{undone}: there is no terminal to ask on, "{question}"; use --yes')
    if answer.lower() not in ("y", "yes"):
        raise Failure(f"{undone}: answer y, or use --yes")
