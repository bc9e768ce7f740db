"""The table of formats, and that it is all there is to know about one."""

import json
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import kb
from kb.engine.ingest import extract
from kb.engine.ingest.extract.formats import BY_KIND, FORMATS, REFUSED
from kb.kinds import DOC_TYPES
from programs import ended

TABLE = "engine/ingest/extract/formats.py"
ROW = """
    Format(
        "tides",
        "tide tables",
        "tides",
        "text",
        _begins(b"TIDES\\0"),
        endings="tide",
        is_text=True,
    ),
"""
READER = """
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.pages import Page


def extract(source: Source) -> Extraction:
    return Extraction("text", "tide", iter([Page("High water at noon.")]))
"""
READ = """
import json, sys
from pathlib import Path
from kb.engine.errors import UnsupportedFormat
from kb.engine.ingest.extract import Source
from kb.engine.ingest.sandbox.light import extract

found = []
for name, content in [("harbour", b"TIDES\\0\\1"), ("harbour.tide", b"12:00 high")]:
    path = Path(sys.argv[1]) / name
    path.write_bytes(content)
    found += [page.text for page in extract(Source(path, name)).pages]
(Path(sys.argv[1]) / "program").write_bytes(b"\\x7fELF")
try:
    extract(Source(Path(sys.argv[1]) / "program", "program"))
except UnsupportedFormat as error:
    found += [error.message, error.details["supported"]]
print(json.dumps(found))
"""


def test_a_new_format_is_one_module_and_one_row(tmp_path):
    source = tmp_path / "src" / "kb"
    shutil.copytree(Path(kb.__file__).parent, source, ignore=shutil.ignore_patterns("__pycache__"))
    table = source / TABLE
    before, start, rows = table.read_text("utf-8").partition("FORMATS = (")
    table.write_text(before + start + ROW + rows, "utf-8")
    (table.parent / "tides.py").write_text(READER, "utf-8")
    environ = {"PYTHONPATH": str(source.parent)}
    run = ended(sys.executable, "-c", READ, tmp_path, env=environ, check=True)
    *texts, refusal, supported = json.loads(run.stdout)
    assert texts == ["High water at noon."] * 2
    assert "tide tables" in refusal
    assert "tides" in supported


@pytest.mark.parametrize("each", FORMATS, ids=lambda each: each.kind)
def test_all_that_a_row_names_is_there(each):
    package = extract.__name__
    for module in (
        each.reader.partition(":")[0],
        *(f"pictures.inside.{name}" for name in [each.pictures] if name),
        *(f"embedded.{name}" for name in [each.objects] if name),
    ):
        assert find_spec(f"{package}.{module}")
    assert (each.doc_type or each.kind) in DOC_TYPES


def test_a_kind_has_one_row():
    assert len(BY_KIND) == len(FORMATS)
    assert len({each.kind for each in (*FORMATS, *REFUSED)}) == len(FORMATS) + len(REFUSED)


def test_no_ending_stands_for_two_kinds():
    endings = [ending for each in FORMATS for ending in each.endings.split()]
    assert len(set(endings)) == len(endings)
