"""Runs a module of the engine on a data folder that no engine is using.

It runs as a separate process and reports its progress as lines of JSON.
"""

import json
import subprocess
from pathlib import Path
from typing import Any

from rich.progress import TextColumn

from kb.cli.commands.up import python_module, refuse_without_engine
from kb.cli.failure import Failure
from kb.cli.many import bar_of_steps
from kb.settings import read_settings


def run_at_rest(module: str, options: list[str], doing: str = "") -> Any:
    """The answer of the process, with a bar for its steps. Raises Failure with its message."""
    refuse_without_engine()
    answer: Any = None
    failed: str | None = None
    with (
        bar_of_steps(TextColumn("{task.percentage:.0f} %")) as tell,
        subprocess.Popen(  # noqa: S603 (our own interpreter and module)
            [*python_module(module), *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
        ) as process,
    ):
        assert process.stdout is not None
        for written in process.stdout:
            line = json.loads(written)
            if "step" in line:
                tell(doing + line["step"], line["done"], line["total"])
            elif "answer" in line:
                answer = line["answer"]
            else:
                failed = line["message"]
    if process.returncode and failed is None:
        failed = f"{module} ended with exit code {process.returncode}"
    if failed is not None and answer is None:
        raise Failure(failed)
    return answer


def own_folder() -> Path:
    """The data folder of the engine that would run here."""
    folder: Path = read_settings(reader="engine")["KB_DATA_DIR"].value
    return folder
