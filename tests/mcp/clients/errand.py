"""The same errand for every client: keep a note, hand over a file, find both.

A client's script gives `run` its way to call a tool; what came of it goes to standard output as
one line of JSON, for the test to judge. These scripts run in environments that have the client
and nothing of kb.
"""

import asyncio
import base64
import hashlib
import json
import os
import time
from importlib.metadata import version

URL = os.environ["CLIENT_URL"]
KEY = os.environ["CLIENT_KEY"]
HEADERS = {"Authorization": f"Bearer {KEY}"}
WAIT = 30.0


def start(main):
    """Run a client's `main`."""
    asyncio.run(main())


async def run(tools, call, package):
    """`call(name, arguments)` answers with the JSON that the tool answered."""
    word = os.environ["CLIENT_WORD"]
    note = await call("kb_addnote", {"text": f"A note about {word}.", "tags": [word]})
    file = await _upload(call, word)
    for job in (note, file):
        await _done(call, job["job_id"])
    found = await call("kb_search", {"query": word, "tags": [word], "fts_only": True})
    outcome = {"version": _version(package), "tools": sorted(tools), "note": note, "file": file}
    print(json.dumps(outcome | {"found": found["results"]}))


async def _upload(call, word):
    content = f"# Handed over\n\nA file about {word}.\n".encode()
    begun = await call(
        "kb_upload_start",
        {"filename": f"{word}.md", "total_size": len(content), "tags": [word]},
    )
    upload = {"upload_id": begun["upload_id"]}
    data = base64.b64encode(content).decode()
    piece = await call("kb_upload_chunk", {**upload, "data": data, "chunk_index": 0})
    assert piece["complete"], piece
    digest = hashlib.sha256(content).hexdigest()
    return await call("kb_upload_finish", {**upload, "sha256": digest})


async def _done(call, job_id):
    """Ask the way an agent has to: by the tool, again and again."""
    until = time.monotonic() + WAIT
    while time.monotonic() < until:
        (job,) = (await call("kb_jobs", {"job_id": job_id}))["jobs"]
        if job["status"] == "done":
            return
        assert job["status"] in ("queued", "running"), job
    raise TimeoutError(f"job {job_id} is not done after {WAIT:.0f} s")


def _version(package):
    """A package of Python's is asked for by name; of any other the caller knows the version."""
    return package["version"] if isinstance(package, dict) else version(package)
