"""Four clients who add, cancel, ask, remove and clear at once: nothing sticks, nothing is left."""

import random
import re
import sys
import time
import uuid
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest
from knowledge_world import ENDED, raw, socket

sys.path.append(str(Path(__file__).parents[2]))
from reliability.store_check import check_store

pytestmark = [pytest.mark.long, pytest.mark.timeout(3600)]

ROUNDS = 500
CLIENTS = 4
STEPS = 6  # of each client in a round
BATCH = 25  # rounds between two looks into the folder
CLEAR = {"confirm": True, "confirmation_phrase": "DELETE ALL"}


class Round:
    """One seeded interleaving. Every file holds a word of its own, by which it would be found."""

    def __init__(self, seed, library):
        self.seed = seed
        self.library = library
        self.words = {}  # by task
        self.documents = set()

    async def client(self, door, number):
        choose = random.Random(f"{self.seed}/{number}")
        steps = (self.add, self.add_and_wait, self.cancel, self.status, self.remove, self.clear)
        for _ in range(STEPS):
            # Where in the others' work this step falls is up to the seed, too.
            await anyio.sleep(choose.random() * 0.03)
            [step] = choose.choices(steps, (5, 2, 4, 2, 2, 0.4))
            await step(door, choose)

    def file(self, choose):
        word = f"wort{uuid.UUID(int=choose.getrandbits(128)).hex[:12]}"
        path = self.library / f"{word}.html"
        text = f"<p>{word} and what else there is to say about it.</p>" * choose.choice((1, 40))
        path.write_text(f"<html><body>{text}</body></html>")
        return path, word

    async def add(self, door, choose):
        path, word = self.file(choose)
        added = await door("knowledge-add", file_path=str(path))
        self.words[added["task_id"]] = word

    async def add_and_wait(self, door, choose):
        """And perhaps not to the end."""
        path, _ = self.file(choose)
        with anyio.move_on_after(choose.choice((0.01, 0.05, 60))):
            answer = await door.result("knowledge-add", {"file_path": str(path), "async": False})
            if answer.content["success"]:
                self.documents.add(answer.content["document_id"])
            else:
                assert answer.content["error"] == "cancelled", answer

    async def cancel(self, door, choose):
        if self.words:
            answer = await door.cancel(choose.choice(sorted(self.words)))
            assert answer["success"] or answer["error"] == "task_not_found", answer
            assert answer.get("status", "cancelled") in ENDED

    async def status(self, door, choose):
        if self.words:
            task_id = choose.choice(sorted(self.words))
            answer = (await door.result("knowledge-task-status", {"task_id": task_id})).content
            if answer.get("status") == "completed":
                self.documents.add(answer["result"]["document_id"])
            else:
                assert answer["success"] or answer["error"] in ("cancelled", "task_not_found")

    async def remove(self, door, choose):
        if self.documents:
            uid = choose.choice(sorted(self.documents))
            answer = await door.result("knowledge-remove", {"document_id": uid, "confirm": True})
            assert answer.content["success"] or answer.content["error"] == "document_not_found"

    async def clear(self, door, _choose):
        await door("knowledge-clear", **CLEAR)

    async def check(self, door):
        """Every task has ended or is gone with everything; what was cancelled is not found."""
        for task_id, word in self.words.items():
            told = await door.finished(task_id)
            if told.get("status") == "completed":
                continue
            found = await door.result("knowledge-search", {"query": word, "top_k": 50})
            for hit in found.content.get("results", ()):
                assert word not in hit["chunk_text"], (self.seed, told)


async def cancel_by_http(door, task_id):
    return (await door.ask("tools/cancel", {"taskId": task_id})).json()["result"]


async def cancel_by_socket(door, task_id):
    return await door.ask("tools/cancel", {"taskId": task_id})


async def open_doors(stack, url):
    """Two clients cancel by HTTP and two over a WebSocket beside it."""
    doors = []
    for number in range(CLIENTS):
        door = await stack.enter_async_context(raw(url))
        door.cancel = cancel_by_http.__get__(door)
        if number % 2:
            door.cancel = cancel_by_socket.__get__(await stack.enter_async_context(socket(url)))
        doors.append(door)
    return doors


# What is said of stores that hold texts alone, of which none was cancelled.
ELSEWHERE = re.compile(
    r"document \d+(?: size:| text has the hash|: its file and its text)|job \d+ is cancelled$"
)


def violations(folder):
    """Where tables and files disagree."""
    return [told for told in check_store(folder).violations if not ELSEWHERE.match(told)]


async def settled(engine, folder):
    """Nothing is under way any more, and everything in the folder agrees with everything else, as
    soon as the worker has tidied up: no row without the one it belongs to, no file without its
    document, no word of what is gone."""
    until = time.monotonic() + 90
    while True:
        queue = (await engine.status())["queue"]
        wrong = queue["queued"] + queue["running"] or violations(folder)
        if not wrong:
            return
        assert time.monotonic() < until, wrong
        await anyio.sleep(0.1)


async def test_nothing_sticks_and_nothing_is_left_over(
    knowledge_server, kept, library, knowledge_engine
):
    async with AsyncExitStack() as stack:
        doors = await open_doors(stack, knowledge_server.url)
        for seed in range(ROUNDS):
            interleaving = Round(seed, library)
            async with anyio.create_task_group() as group:
                for number, door in enumerate(doors):
                    group.start_soon(interleaving.client, door, number)
            await interleaving.check(doors[0])
            if seed % BATCH == BATCH - 1:
                await settled(kept, knowledge_engine.folder)
                for path in library.glob("wort*.html"):
                    path.unlink()
