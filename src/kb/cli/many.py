"""Does something to many documents; one that fails does not stop the others."""

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from kb.cli.failure import FAILED, OK, Failure
from kb.cli.session import Session
from kb.cli.terminal.output import console
from kb.cli.terminal.safe_text import one_line
from kb.cli.terminal.say import print_json, warn
from kb.client import EngineClient, EngineTooOld, Json, problem

Act = Callable[[EngineClient, Any], Awaitable[Json]]
Show = Callable[[list[Json]], object]
Tell = Callable[[str, float, float], None]

# What the engine says of one id: not there, not an id, in another state than it would have to be.
_OF_THIS_ONE = frozenset({404, 409, 422})


@dataclass
class Many:
    """The outcome for each of several things; `name` is what they are called in JSON."""

    name: str
    done: list[Json] = field(default_factory=list)
    failed: list[Json] = field(default_factory=list)

    def run(self, session: Session, references: Sequence[int | str], act: Act) -> None:
        """Do it to each, with a progress bar, and then report the failures."""
        told = len(self.failed)

        async def work(client: EngineClient) -> None:
            with bar_of(self.name) as bar:
                for reference in bar.track(list(dict.fromkeys(references))):
                    await self._one(client, reference, act)

        try:
            session.run(work)
        finally:
            for failure in self.failed[told:]:
                warn(failure["message"])

    async def _one(self, client: EngineClient, reference: int | str, act: Act) -> None:
        try:
            self.done.append(await act(client, reference))
        except Failure as failure:
            self._fail(reference, {"error": failure.error, "message": str(failure)})
        except httpx.HTTPStatusError as error:
            if isinstance(error, EngineTooOld) or error.response.status_code not in _OF_THIS_ONE:
                raise
            self._fail(reference, problem(error))

    def _fail(self, reference: int | str, said: Json) -> None:
        self.failed.append({"id": reference, **said})

    def finish(
        self, session: Session, references: Sequence[int | str], act: Act, show: Show
    ) -> int:
        """Do it to each and show what came of it, also where it was interrupted; the exit code."""
        try:
            self.run(session, references, act)
        except BaseException:
            if self.done or self.failed:
                self.show(session, show)
            raise
        return self.show(session, show)

    def show(self, session: Session, show: Show) -> int:
        """Print the outcome, for people or for programs; returns the exit code."""
        if session.as_json:
            print_json({self.name: self.done, "failed": self.failed})
        else:
            show(self.done)
        return FAILED if self.failed else OK


def one_or_many(
    session: Session, name: str, references: Sequence[int | str], act: Act, show: Show
) -> int:
    """One that was named answers with itself, several with what became of each; the exit code."""
    if len(references) != 1 or not isinstance(references[0], str):
        return Many(name).finish(session, references, act, show)
    answer = session.run(lambda client: act(client, references[0]))
    session.show(answer, lambda one: show([one]))
    return OK


async def every_page(
    page_of: Callable[..., Awaitable[Json]], name: str, most: int = 1000
) -> list[Json]:
    """All that a list of the engine has under a name, so many at a time."""
    found: list[Json] = []
    while True:
        page = (await page_of(limit=most, offset=len(found)))[name]
        found += page
        if len(page) < most:
            return found


def bar_of(name: str) -> Progress:
    done = TextColumn(f"{{task.completed:,.0f}} of {{task.total:,.0f}} {name}", markup=False)
    return bar_with(done, BarColumn(), TimeRemainingColumn())


@contextmanager
def bar_of_steps(*counted: ProgressColumn) -> Iterator[Tell]:
    """A bar that shows the current step and its progress."""
    about = TextColumn("{task.description}", markup=False)
    with bar_with(about, BarColumn(bar_width=24), *counted) as progress:
        task = progress.add_task("", total=1)

        def tell(step: str, done: float, total: float) -> None:
            progress.update(task, description=one_line(step), completed=done, total=max(1, total))

        yield tell


def bar_with(*columns: ProgressColumn) -> Progress:
    """A bar on standard error, and only on a terminal; gone when the work is done."""
    screen = console(err=True)
    return Progress(
        *columns,
        console=screen,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
        disable=not screen.is_terminal,
    )
