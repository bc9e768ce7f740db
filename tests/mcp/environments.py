"""A list of packages in, a folder that has them out: made once, kept for the next run."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

WAIT = 150.0
OLDEST_NODE = (22, 19)


def python_with(*packages):
    """The Python of an environment with these packages."""

    def fill(folder):
        # Our own pip fills it, and nothing is compiled ahead: either would take long.
        _fetch(sys.executable, "-m", "venv", "--without-pip", str(folder))
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin/python")]
        patience = ["--retries", "1", "--timeout", "30", "--disable-pip-version-check"]
        _fetch(*pip, "install", "--quiet", "--no-compile", *patience, *packages)

    return _kept([sys.version, *packages], fill) / "bin/python"


def node_with(*packages):
    """A node, and the folder above the modules. An old node is sent to fetch a newer one."""
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("npm and node are not installed here")
    found = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
    old = tuple(map(int, re.findall(r"\d+", found)[:2])) < OLDEST_NODE
    wanted = [*packages, *([f"node@{OLDEST_NODE[0]}"] if old else [])]

    def fill(folder):
        quiet = ["--no-audit", "--no-fund", "--fetch-retries", "1"]
        _fetch(npm, "install", "--prefix", str(folder), *quiet, *wanted)

    folder = _kept([found, *wanted], fill)
    return (folder / "node_modules/node/bin/node" if old else Path(node)), folder


def _kept(what, fill):
    """The folder for `what`. It gets its name when it is whole: a half one is never used."""
    above = Path(tempfile.gettempdir()) / f"kb-mcp-clients-{os.getuid()}"
    above.mkdir(mode=0o700, exist_ok=True)
    # Programs are run from here, and anyone can make a folder of this name.
    assert above.stat().st_uid == os.getuid(), f"{above} belongs to someone else"
    folder = above / hashlib.sha256("\n".join(what).encode()).hexdigest()[:16]
    if not folder.exists():
        with tempfile.TemporaryDirectory(dir=above, ignore_cleanup_errors=True) as unfinished:
            fill(Path(unfinished) / "new")
            if not folder.exists():
                (Path(unfinished) / "new").rename(folder)
    return folder


def _fetch(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{command[0]} could not fetch its packages within {WAIT:.0f} s")
    if done.returncode != 0:
        pytest.skip(f"{command[0]} could not fetch its packages: {done.stderr[-300:]}")
