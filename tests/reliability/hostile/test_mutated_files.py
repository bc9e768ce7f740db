"""Files of the formats that are bytes and no text, each changed at random, through the sandbox."""

import random
from pathlib import Path

import pytest

from kb.engine.errors import KbError
from kb.engine.ingest.extract.extraction import Ocr, Source
from kb.engine.ingest.sandbox import Sandbox

DOCUMENTS = Path(__file__).parents[2] / "fixtures" / "documents"
EACH = 50


def mutated(data: bytes, chance: random.Random) -> bytes:
    """A few bytes others, a piece gone, or the end."""
    changed = bytearray(data)
    for _ in range(chance.choice([1, 5, 50])):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    if chance.random() < 0.2:
        del changed[chance.randrange(len(changed)) :]
    return bytes(changed)


def outcome(sandbox: Sandbox, source: Source) -> str:
    try:
        pages = list(sandbox.extract(source, lambda: False).pages)
    except KbError as error:
        return error.message
    return f"{source.filename} was read" if pages else f"{source.filename} has no pages"


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["document.doc", "budget.xls", "sign.heic"])
def test_a_changed_file_is_read_or_refused_and_the_next_one_is_read(tmp_path, name):
    chance = random.Random(name)
    original = (DOCUMENTS / name).read_bytes()
    path = tmp_path / "stored"
    sandbox = Sandbox()
    try:
        for _ in range(EACH):
            path.write_bytes(mutated(original, chance))
            assert name in outcome(sandbox, Source(path, name, Ocr("off")))
        path.write_bytes(original)
        assert outcome(sandbox, Source(path, name, Ocr("off"))) == f"{name} was read"
    finally:
        sandbox.close()
