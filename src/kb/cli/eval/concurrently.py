"""Does several things at a time and returns their results in order."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import anyio

Item = TypeVar("Item")
Result = TypeVar("Result")

_AT_ONCE = 4  # enough to keep an engine busy, and few enough to leave it room for others


async def concurrently(
    items: Sequence[Item], work: Callable[[Item], Awaitable[Result]]
) -> list[Result]:
    """The work on each item. The first that fails ends it all, and its error is raised as it is."""
    results: dict[int, Result] = {}
    failed: list[Exception] = []
    todo = iter(enumerate(items))

    async def take_turns(scope: anyio.CancelScope) -> None:
        for number, item in todo:
            try:
                results[number] = await work(item)
            except Exception as error:  # kept, or the task group would wrap it
                failed.append(error)
                scope.cancel()
                return

    async with anyio.create_task_group() as group:
        for _ in range(min(_AT_ONCE, len(items))):
            group.start_soon(take_turns, group.cancel_scope)
    if failed:
        raise failed[0]
    return [results[number] for number in range(len(items))]
