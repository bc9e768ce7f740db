"""The contract is what is public: a suite that looked behind it would hold for one store alone."""

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# What a store is made of may differ; these are its nouns and what makes one.
ALLOWED = (
    *("kb.engine.store", "kb.engine.store.rows.page_words", "kb.engine.store.leases"),
    "kb.engine.store.search.change_log",  # after what time a reader is gone
    "kb.engine.store.sweeping",
    "kb.engine.store.queue",  # what counts as small, and how many are in hand
)


@pytest.mark.parametrize("path", sorted(HERE.glob("*.py")), ids=lambda path: path.name)
def test_the_suite_knows_no_private_name_and_no_table(path):
    tree = ast.parse(path.read_text("utf-8"))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    private = {name for name in names if name.startswith("_") and not name.startswith("__")}
    assert private | (names & {"database", "rows"}) == set()
    modules = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    inner = [name for name in modules if name.startswith("kb.engine.store")]
    assert [name for name in inner if name not in ALLOWED] == []
