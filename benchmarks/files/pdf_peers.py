"""PDFs in, the processor time that other readers take for their text out.

pypdf is a dependency of kb; pdfminer.six gets an environment of its own.
"""

import json
import shutil
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from pypdf import PdfReader

from benchmarks.peer_environments import environment, prepare

_SECONDS = 60
_SCRIPT = """
import json, sys, time
from importlib.metadata import version
from pdfminer.high_level import extract_text
busy = time.process_time()
for path in sys.argv[1:]:
    extract_text(path)
print(json.dumps([time.process_time() - busy, version("pdfminer.six")]))
"""


def pdftotext(file: Path) -> str | None:
    """Poppler's text; None where it takes longer than a minute."""
    if shutil.which("pdftotext") is None:
        raise SystemExit("PDFs are held against pdftotext: install poppler-utils")
    command = ["pdftotext", "-enc", "UTF-8", file, "-"]
    with suppress(subprocess.TimeoutExpired):
        told = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)
        return told.stdout.decode("utf-8", "replace")
    return None


def pypdf_seconds(files: Sequence[Path]) -> float:
    busy = time.process_time()
    for file in files:
        for page in PdfReader(file).pages:
            page.extract_text()
    return time.process_time() - busy


def pdfminer_seconds(files: Sequence[Path]) -> tuple[float, str]:
    """Seconds, and its version."""
    prepare("pdfminer", "pdfminer.six")
    command = [environment("pdfminer") / "bin" / "python", "-c", _SCRIPT, *files]
    answer = subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    seconds, version = json.loads(answer.stdout)
    return float(seconds), str(version)
