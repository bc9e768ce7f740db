"""Files in, the texts that other readers make of them out."""

import json
import subprocess
import sys
import venv
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".venv-reading"

_SCRIPT = """
import json, sys, time

reader = sys.argv[1]
if reader == "markitdown":
    from markitdown import MarkItDown
    converter = MarkItDown()
    read = lambda path: converter.convert(path).text_content
else:
    from trafilatura import extract
    read = lambda path: extract(open(path, "rb").read(), include_tables=True) or ""
for line in sys.stdin:
    path = json.loads(line)
    busy = time.process_time()
    try:
        text = read(path)
    except Exception as error:
        text = None
    print(json.dumps([text, time.process_time() - busy]), flush=True)
"""
PEERS = {
    "trafilatura": ("trafilatura==2.3.1", "lxml_html_clean"),
    "markitdown": ("markitdown[all]",),
}


def prepare() -> None:
    """Make the environment if it is not there."""
    if (FOLDER / "ready").exists():
        return
    print(f"making {FOLDER.name} with {', '.join(PEERS)}, once …", file=sys.stderr)
    venv.create(FOLDER, with_pip=True, clear=True)
    needed = [package for packages in PEERS.values() for package in packages]
    python = FOLDER / "bin" / "python"
    subprocess.run([python, "-m", "pip", "--quiet", "install", *needed], check=True)
    (FOLDER / "ready").touch()


class Peer:
    """A process that reads one file after the other with another reader."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._process = subprocess.Popen(
            [str(FOLDER / "bin" / "python"), "-c", _SCRIPT, name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def read(self, path: Path) -> tuple[str | None, float]:
        """The text, None where it refuses, and its seconds of processor time."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(str(path)) + "\n")
        self._process.stdin.flush()
        text, seconds = json.loads(self._process.stdout.readline())
        return text, seconds

    def stop(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()
