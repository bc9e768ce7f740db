"""The protocol's own conformance suite against the real server, where npm can fetch it."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from programs import engine, mcp_server

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

SUITE = "@modelcontextprotocol/conformance@0.2.0-alpha.12"
BASELINE = Path(__file__).parent / "conformance" / "expected-failures.yml"
OLDEST_NODE = 22


@pytest.fixture(scope="module")
def suite(request):
    """The suite's command. It is fetched once and kept in pytest's own cache."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("npm and node are not installed here")
    folder = request.config.cache.mkdir("mcp-conformance")
    entry = folder / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
    newer = folder / "node_modules/node/bin/node"
    version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
    old = int(re.match(r"v(\d+)", version)[1]) < OLDEST_NODE
    if not entry.exists() or (old and not newer.exists()):
        wanted = [SUITE, *([f"node@{OLDEST_NODE}"] if old else [])]
        command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", *wanted]
        try:
            fetched = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            pytest.skip("npm could not fetch the suite within five minutes")
        if fetched.returncode != 0 or not entry.exists():
            pytest.skip(f"npm could not fetch the suite: {fetched.stderr[-300:]}")
    return [str(newer) if old else node, str(entry)]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    beside = engine(tmp_path_factory.mktemp("kb") / "data").start()
    started = mcp_server(beside.url).start()
    yield started
    started.stop()
    beside.stop()


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_only_what_needs_the_suites_own_tools_fails(suite, server, revision):
    """The suite also fails if something in the baseline works after all."""
    done = subprocess.run(
        [
            *suite,
            "server",
            "--url",
            f"{server.url}/mcp",
            "--requirements",
            revision,
            "--expected-failures",
            str(BASELINE),
        ],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "Baseline check passed" in done.stdout
