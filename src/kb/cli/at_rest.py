"""Runs a module of the engine on a data folder that no engine is using.

It runs as a process of its own and says how far it is in lines of JSON.
"""

import json
import subprocess
from collections.abc import Callable
from typing import Any

from kb.cli.commands.up import ENGINE_PACKAGES, is_installed, python_module
from kb.cli.failure import Failure

Json = dict[str, Any]


def run_at_rest(module: str, options: list[str], told: Callable[[Json], object]) -> Any:
    """What the process answers; `told` gets each of its steps. Raises Failure with its words."""
    if not is_installed(ENGINE_PACKAGES):
        raise Failure('the engine is not installed here; run: pip install "kb[engine]"')
    answer: Any = None
    failed: str | None = None
    with subprocess.Popen(  # noqa: S603 (our own interpreter and module)
        [*python_module(module), *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        for written in process.stdout:
            line = json.loads(written)
            if "step" in line:
                told(line)
            elif "answer" in line:
                answer = line["answer"]
            else:
                failed = line["message"]
    if process.returncode and failed is None:
        failed = f"{module} ended with exit code {process.returncode}"
    if failed is not None and answer is None:
        raise Failure(failed)
    return answer
