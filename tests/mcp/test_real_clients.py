"""Clients that people use, each in an environment of its own, against the real programs."""

import json
import os
import sys
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from environments import node_with, python_with

from conftest import MCP_KEY
from programs import ended

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

SCRIPTS = Path(__file__).parent / "clients"

NEEDED = {"kb_search", "kb_addnote", "kb_upload_start", "kb_upload_chunk", "kb_upload_finish"}

# Two Python environments, since the frameworks are divided over the client's two versions.
FIRST = ["mcp==1.30.0", "langchain-mcp-adapters==0.3.2"]
SECOND = ["mcp==2.3.0", "pydantic-ai-slim[mcp]==2.66.0", "openai-agents==0.24.0"]
NODE = [
    "@modelcontextprotocol/sdk@1.32.2",
    "@modelcontextprotocol/inspector@2.12.0",
    "mcp-remote@0.15.1",
]


@pytest.fixture(scope="module")
def own():
    """The client that kb itself is tested with needs no environment."""
    return [sys.executable], {}


@pytest.fixture(scope="module")
def fetched():
    """All environments, made side by side: most of that is waiting for the network."""
    with ThreadPoolExecutor() as threads:
        yield {
            "first": threads.submit(python_with, *FIRST),
            "second": threads.submit(python_with, *SECOND),
            "node": threads.submit(node_with, *NODE),
        }


@pytest.fixture(scope="module")
def first(fetched):
    return [str(fetched["first"].result())], {}


@pytest.fixture(scope="module")
def second(fetched):
    return [str(fetched["second"].result())], {}


@pytest.fixture(scope="module")
def node(fetched):
    program, folder = fetched["node"].result()
    return [str(program)], {"CLIENT_MODULES": str(folder)}


@pytest.fixture(scope="module")
def driven_node(node):
    """Programs for node that a script in Python drives."""
    (program,), settings = node
    return [sys.executable], settings | {"CLIENT_NODE": program}


CLIENTS = {
    "mcp_2.py": ("own", "2.3."),
    "mcp_1.py": ("first", "1.30.0"),
    "langchain_adapters.py": ("first", "0.3.2"),
    "pydantic_ai_toolset.py": ("second", "2.66.0"),
    "openai_agents.py": ("second", "0.24.0"),
    "typescript_sdk.mjs": ("node", "1.32.2"),
    "inspector.py": ("driven_node", "2.12.0"),
    "mcp_remote.py": ("driven_node", "0.15.1"),
}
# These two answer a refusal by asking their user to log in with a browser.
ASKING = {"inspector.py", "mcp_remote.py"}


@pytest.fixture
def errand(request, kb_server, tmp_path):
    """To send a client on its errand: how it ended, and the word that was its own."""

    def send(script, key):
        command, settings = request.getfixturevalue(CLIENTS[script][0])
        word = f"word{uuid.uuid4().hex[:8]}"
        given = {"CLIENT_URL": kb_server.url, "CLIENT_KEY": key, "CLIENT_WORD": word}
        # Some keep things in the home folder of whoever runs them.
        environ = os.environ | settings | given | {"HOME": str(tmp_path)}
        return ended(*command, SCRIPTS / script, env=environ), word

    return send


@pytest.fixture
def kept(engine_process):
    """What the engine itself says it has with a tag."""

    def documents(tag):
        answer = httpx.get(
            f"{engine_process.url}/api/v1/documents",
            params={"tag": tag},
            headers={"Authorization": "Bearer engine-key"},
        )
        return answer.raise_for_status().json()["documents"]

    return documents


@pytest.mark.parametrize("script", CLIENTS)
def test_a_client_keeps_a_note_hands_over_a_file_and_finds_both(script, errand, kept):
    ended, word = errand(script, MCP_KEY)
    assert ended.returncode == 0, ended.stderr[-3000:]
    outcome = json.loads(ended.stdout)
    assert outcome["version"].startswith(CLIENTS[script][1])
    assert set(outcome["tools"]) >= NEEDED
    assert {(hit["doc_type"], hit["text"]) for hit in outcome["found"]} == {
        ("note", f"A note about {word}."),
        ("markdown", f"# Handed over\n\nA file about {word}."),
    }
    assert {(document["doc_type"], document["filename"]) for document in kept(word)} == {
        ("note", None),
        ("markdown", f"{word}.md"),
    }


@pytest.mark.parametrize("script", [script for script in CLIENTS if script not in ASKING])
def test_a_client_with_another_key_is_turned_away(script, errand, kept):
    ended, word = errand(script, "another-key")
    assert ended.returncode != 0
    # Some pass on what the server says, some only its status.
    said = ended.stderr
    assert "A valid token is needed" in said or "401" in said, said[-3000:]
    assert kept(word) == []
