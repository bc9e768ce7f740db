"""A filled data folder in, questions about it out. Light, so that measuring memory stays honest:
a library that this process has loaded too would count only half in the engine."""

import json
from pathlib import Path

FILE = "questions.json"
# Each of a hundred tags is on one document in a hundred.
TAGS = 100
TAG = "shelf:7"


def asked(folder: Path, count: int, skip: int = 0) -> list[str]:
    """Some of the folder's questions; who skips what others asked gets new ones."""
    found: list[str] = json.loads((folder / FILE).read_text("utf-8"))
    return [found[number % len(found)] for number in range(skip, skip + count)]
