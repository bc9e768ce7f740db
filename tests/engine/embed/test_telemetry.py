"""onnxruntime tells its makers about every process that loads a model, unless it is told not to."""

import os
import subprocess
import sys

import pytest

MODELS = {
    "passages": "from kb.engine.embed import MiniLM; MiniLM().embed_one('some words')",
    "pictures": "from kb.engine.ingest import ocr; ocr.load(ocr.Ocr('rapidocr'))",
}


@pytest.mark.parametrize("model", MODELS)
def test_a_model_leaves_no_identifier_and_no_report_behind(model, tmp_path):
    """They are kept in the home folder until there is a way to send them."""
    environ = {**os.environ, "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    environ.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", MODELS[model]], env=environ, check=True)
    assert list(tmp_path.rglob("*")) == []
