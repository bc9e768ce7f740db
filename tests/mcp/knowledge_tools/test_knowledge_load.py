"""Two hundred WebSockets at once, half of them cut off: nothing of them stays."""

import random

import anyio
import pytest
from knowledge_world import answered, socket

from programs import megabytes, settled

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

CONNECTIONS = 200
FEW = 4
MOST_MEGABYTES = 10.0
LONGEST = 4.0  # seconds until a client is cut off
STATUSES = ("done", "cancelled")


@pytest.fixture
def server(start_server, knowledge_engine, library):
    """One that nobody else has used before."""
    return start_server(
        KB_MCP_TOOLS="knowledge",
        KB_MCP_FILE_ROOTS=str(library),
        KB_ENGINE_URL=knowledge_engine.url,
    )


async def client(url, path, leaves_after):
    """Adds a file and waits for it; or is cut off while it does."""
    async with socket(url) as door:
        request = await door.send(
            "tools/call",
            {"name": "knowledge-add", "arguments": {"file_path": str(path), "async": False}},
        )
        if leaves_after is not None:
            await anyio.sleep(leaves_after)
            door.socket.transport.abort()
            return
        with anyio.fail_after(300):
            message = await door.socket.recv()
        assert f'"id":{request}' in message
        assert answered(await door.ask("tools/call", {"name": "knowledge-show"})).content["success"]


async def crowd(url, library, name, count):
    """So many clients at once; every second one is cut off somewhere in the middle."""
    choose = random.Random(name)
    async with anyio.create_task_group() as group:
        for number in range(count):
            path = library / f"{name}-{number}.html"
            path.write_text(f"<html><body>{f'<p>{name} {number} wort.</p>' * 50}</body></html>")
            leaves_after = choose.random() * LONGEST if number % 2 else None
            group.start_soon(client, url, path, leaves_after)


async def at_rest(kept):
    """Once no task is under way any more."""
    with anyio.fail_after(300):
        while True:
            queue = (await kept.status())["queue"]
            if not queue["queued"] + queue["running"]:
                return
            await anyio.sleep(0.05)


async def test_a_crowd_leaves_neither_memory_nor_tasks_behind(server, kept, library):
    """A few clients show what the server takes to serve any; then come two crowds."""
    await crowd(server.url, library, "few", FEW)
    await at_rest(kept)
    most = megabytes(server.pid) + MOST_MEGABYTES
    for name in ("first", "second"):
        await crowd(server.url, library, name, CONNECTIONS)
        await at_rest(kept)
        assert settled(server.pid, most) <= most
    jobs = (await kept.jobs(limit=1000))["jobs"]
    ended = {status: [job for job in jobs if job["status"] == status] for status in STATUSES}
    assert len(ended["done"]) + len(ended["cancelled"]) == len(jobs)
    assert len(ended["done"]) >= CONNECTIONS  # all of those who waited, of both crowds
    assert ended["cancelled"]
    assert (await kept.documents())["total"] == len(ended["done"])
    async with socket(server.url) as door:
        assert (await door("knowledge-status"))["health"]["status"] == "healthy"
