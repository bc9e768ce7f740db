"""What the server leaves out is still looked for by its libraries, and they do without it."""

import json
import subprocess
import sys

import pytest

from kb.mcp.__main__ import UNUSED

# Tells which of the modules named in its arguments were looked for; `left out` has them be missing,
# as in the server.
PROGRAM = """
import asyncio, json, sys
names = sys.argv[2:]
looked_for = set()

class Finder:
    def find_spec(self, name, path=None, target=None):
        looked_for.update({name} & set(names))

if sys.argv[1] == "left out":
    sys.modules.update(dict.fromkeys(names))
else:
    sys.meta_path.insert(0, Finder())

import httpx

async def answer(reader, writer):
    await reader.readuntil(b"\\r\\n\\r\\n")
    writer.write(b"HTTP/1.1 200 OK\\r\\ncontent-length: 2\\r\\n\\r\\nok")
    await writer.drain()
    writer.close()

async def main():
    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with httpx.AsyncClient(trust_env=False) as client:
            return (await client.get(f"http://127.0.0.1:{port}/")).text

print(json.dumps([asyncio.run(main()), sorted(looked_for)]))
"""


@pytest.mark.parametrize(
    ("how", "looked_for"), [("as it is", sorted(UNUSED)), ("left out", [])], ids=lambda value: value
)
def test_a_request_is_answered(how, looked_for):
    command = [sys.executable, "-c", PROGRAM, how, *UNUSED]
    assert json.loads(subprocess.check_output(command)) == ["ok", looked_for]
