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


def agree(question: str, undone: str) -> None:
    """Go on only after a yes; `undone` says what was not done otherwise."""
    answer = ask(f"{question} [y/N] ")
    if not answer:  # Enter alone on a terminal, else the end of an input that holds no answer
        need_a_person(question, undone)
    if answer.lower() not in ("y", "yes"):
        raise Failure(f"{undone}: answer y, or use --yes")


def need_a_person(question: str, undone: str) -> None:
    """What a filter means is seen only now, so the yes must come from somebody who sees it."""
    if not sys.stdin.isatty():
        raise Misuse(f'{undone}: there is no terminal to ask on, "{question}"; use --yes')
