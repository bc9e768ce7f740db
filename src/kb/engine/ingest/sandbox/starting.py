"""The command that starts a reader process, and its environment, without secrets."""

import json
import os
import sys
from typing import Any

_PASSED_ON = ("LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TESSDATA_PREFIX")


def command(settings: dict[str, Any]) -> list[str]:
    module = "kb.engine.ingest.sandbox"
    return [sys.executable, "-P", "-W", "ignore", "-m", module, json.dumps(settings)]


def environment() -> dict[str, str]:
    """Nothing of the engine's own, which holds its key: only how to find the same programs."""
    kept = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path if entry)
    one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "OMP_THREAD_LIMIT": "1"}
    return {"PYTHONPATH": path, "PYTHONUTF8": "1", "TZ": "UTC", **one_thread, **kept}
