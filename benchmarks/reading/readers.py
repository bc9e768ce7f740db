"""Files in, the texts that kb and other readers make of them out, each by a process of its own."""

import json
import subprocess
import sys
from pathlib import Path
from threading import Timer

from benchmarks.peer_environments import environment

FOLDER = environment("reading")

_SCRIPT = """
import json, sys, time

answers, sys.stdout = sys.stdout, sys.stderr  # before the readers are loaded, which may keep it
reader = sys.argv[1]
if reader == "kb":
    from benchmarks.reading.ours import read
elif reader == "markitdown":
    from markitdown import MarkItDown
    converter = MarkItDown()
    read = lambda path: (converter.convert(path).text_content, "")
else:
    from trafilatura import extract
    read = lambda path: (extract(open(path, "rb").read(), include_tables=True) or "", "")
for line in sys.stdin:
    path = json.loads(line)
    busy = time.process_time()
    try:
        text, refusal = read(path)
    except Exception as error:
        text, refusal = None, type(error).__name__
    print(json.dumps([text, time.process_time() - busy, refusal]), file=answers, flush=True)
"""
PEERS = ("trafilatura==2.3.1", "lxml_html_clean", "markitdown[all]")


class Reader:
    """A process that reads one file after the other, each in a time that is bounded."""

    def __init__(self, name: str, seconds: float) -> None:
        self.name = name
        self._seconds = seconds
        self._process = self._started()

    def _started(self) -> "subprocess.Popen[str]":
        python = sys.executable if self.name == "kb" else str(FOLDER / "bin" / "python")
        return subprocess.Popen(
            [python, "-c", _SCRIPT, self.name],
            cwd=FOLDER.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def read(self, path: Path) -> tuple[str | None, float, str]:
        """The text, None where it refuses; its seconds of processor time; why it refuses."""
        assert self._process.stdin
        assert self._process.stdout
        timer = Timer(self._seconds, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(json.dumps(str(path.absolute())) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        timer.cancel()
        if not answer:
            self.stop()
            self._process = self._started()
            return None, self._seconds, "its reader died, or took too long"
        text, seconds, refusal = json.loads(answer)
        return text, seconds, refusal

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()
