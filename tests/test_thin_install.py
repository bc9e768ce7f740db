"""The command line and the client start where the engine's packages are not installed."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import distribution

import pytest

from programs import ended

HEAVY = (
    "apsw",
    "chardet",
    "fastapi",
    "kb.engine",
    "kb.mcp",
    "mcp",
    "mcp_types",
    "numkong",
    "numpy",
    "onnxruntime",
    "prometheus_client",
    "pydantic",
    "python_multipart",
    "starlette",
    "Stemmer",
    "uvicorn",
)

# Every finder passes over the packages, as if they were not there at all.
PRELUDE = f"""
import json, sys

HEAVY = {HEAVY!r}

class Without:
    def __init__(self, finder):
        self.finder = finder

    def find_spec(self, name, path=None, target=None):
        if not any(name == heavy or name.startswith(heavy + ".") for heavy in HEAVY):
            return self.finder.find_spec(name, path, target)

    def __getattr__(self, name):  # what is not hidden may still look up its own version
        return getattr(self.finder, name)

sys.meta_path[:] = map(Without, sys.meta_path)

def run(*arguments):
    from kb.cli.main import main
    try:
        main(arguments)
    except SystemExit as end:
        return end.code
"""


def run(code: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, "KB_CONFIG": os.devnull, "KB_ENGINE_URL": "http://127.0.0.1:9"}
    return ended(sys.executable, "-c", PRELUDE + code, env=environ)


def loaded_after(code: str) -> set[str]:
    done = run(code + "\nprint('\\n' + json.dumps(sorted(sys.modules)))")
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import kb.cli.main, kb.client",
        "assert run('--help') == 0",
        "assert run('config') == 0",
        "assert run('keygen') == 0",
        "assert run('search', 'words') == 1",
        "from kb.cli.main import COMMANDS, cli\nfor row in COMMANDS: cli.get_command(None, row[1])",
    ],
)
def test_nothing_heavy_is_needed_or_loaded(code):
    assert not loaded_after(code) & set(HEAVY)


@pytest.mark.parametrize(
    "code", ["run('--help')", "run('up', '--help')", "import kb.cli.commands.up"]
)
def test_the_help_and_kb_up_load_neither_the_http_client_nor_the_terminal_library(code):
    assert not loaded_after(code) & {"httpx", "rich", "anyio", "asyncio", "ssl", "pathspec"}


@pytest.mark.parametrize("command", ["up", "engine"])
def test_without_the_engine_its_commands_say_how_to_install_it(command):
    done = run(f"sys.exit(run({command!r}))")
    assert done.returncode == 1
    assert done.stderr == ('kb: the engine is not installed here; run: pip install "kb[engine]"\n')


def test_without_the_mcp_server_its_command_says_how_to_install_it():
    done = run("sys.exit(run('mcp'))")
    assert done.returncode == 1
    assert done.stderr == 'kb: the MCP server is not installed here; run: pip install "kb[mcp]"\n'


ENGINE_ONLY = {
    "apsw",
    "chardet",
    "fastapi",
    "lxml",
    "msoffcrypto-tool",
    "numkong",
    "numpy",
    "onnxruntime",
    "pillow",
    "prometheus-client",
    "pypdf",
    "pypdfium2",
    "pystemmer",
    "rapidocr",
}


def requirements(name: str, extra: str) -> set[str]:
    """Everything that an extra installs, by what the installed packages say they need."""
    found: set[str] = set()
    wanted = [(name, extra)]
    while wanted:
        package, chosen = wanted.pop()
        for line in distribution(package).requires or []:
            requirement, _, marker = line.partition(";")
            of_extra = re.search(r"extra == [\"'](.+?)[\"']", marker)
            if (of_extra and of_extra[1] != chosen) or "win32" in marker.replace("!= 'win32'", ""):
                continue
            needed = re.match(r"[\w.-]+", requirement)[0].lower().replace("_", "-")
            if needed not in found and not re.search("python_version|platform", marker):
                found.add(needed)
                extras = re.search(r"\[(.+?)\]", requirement)
                wanted.append((needed, extras[1] if extras else ""))
    return found


def test_the_mcp_server_installs_no_package_of_the_engine():
    assert {"mcp", "httpx", "uvicorn"} <= requirements("kb", "mcp")
    assert not requirements("kb", "mcp") & ENGINE_ONLY
    assert requirements("kb", "engine") >= ENGINE_ONLY


def test_the_mcp_server_starts_without_anything_of_the_engine():
    """Everything that it imports before it listens, and both transports."""
    only_mcp = PRELUDE.replace(
        f"HEAVY = {HEAVY!r}",
        "HEAVY = ('kb.engine', 'kb.cli', 'apsw', 'chardet', 'fastapi', 'lxml', 'numkong', 'numpy',"
        " 'onnxruntime', 'PIL', 'prometheus_client', 'pypdf', 'rapidocr', 'Stemmer')",
    )
    code = """
import kb.mcp.__main__, kb.mcp.transport.stdio, kb.serving.server
from kb.mcp.app import build_app
from kb.mcp.settings import McpSettings

for tools in ("kb", "collections"):
    build_app(McpSettings(mcp_tools=tools))
"""
    done = ended(sys.executable, "-c", only_mcp + code)
    assert done.returncode == 0, done.stderr
