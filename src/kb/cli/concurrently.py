"""Does several things at a time."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

import anyio

Item = TypeVar("Item")
Result = TypeVar("Result")

_AT_ONCE = 4  # enough to keep an engine busy, and few enough to leave it room for others


async def in_turns(
    items: Iterable[Item],
    work: Callable[[Item], Awaitable[object]],
    at_once: int,
    meanwhile: Callable[[], Awaitable[object]] = anyio.sleep_forever,
) -> Exception | None:
    """Begin the work on each in their order. The first error ends it all, that of `meanwhile` too,
    and is returned as it is: a task group would wrap it."""
    todo = iter(items)
    lost: list[Exception] = []

    async def take_turns() -> None:
        for item in todo:
            await work(item)

    async def guarded(task: Callable[[], Awaitable[object]]) -> None:
        try:
            await task()
        except Exception as error:
            lost.append(error)
            whole.cancel_scope.cancel()

    async with anyio.create_task_group() as whole:
        whole.start_soon(guarded, meanwhile)
        async with anyio.create_task_group() as group:
            for _ in range(at_once):
                group.start_soon(guarded, take_turns)
        whole.cancel_scope.cancel()
    return lost[0] if lost else None


async def concurrently(
    items: Sequence[Item], work: Callable[[Item], Awaitable[Result]]
) -> list[Result]:
    """The results for each item, in their order. The first error is raised as it is."""
    results: dict[int, Result] = {}

    async def one(numbered: tuple[int, Item]) -> None:
        number, item = numbered
        results[number] = await work(item)

    lost = await in_turns(enumerate(items), one, min(_AT_ONCE, len(items)))
    if lost is not None:
        raise lost
    return [results[number] for number in range(len(items))]
