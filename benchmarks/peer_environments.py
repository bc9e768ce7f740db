"""Packages in, an environment that has them out: made once, beside the repository's own."""

import subprocess
import sys
import venv
from pathlib import Path


def environment(name: str) -> Path:
    return Path(__file__).parents[1] / f".venv-{name}"


def prepare(name: str, *packages: str) -> None:
    """Make the environment if it is not there."""
    folder = environment(name)
    if (folder / "ready").exists():
        return
    print(f"making {folder.name} with {', '.join(packages)}, once …", file=sys.stderr)
    venv.create(folder, with_pip=True, clear=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "--quiet", "install", *packages], check=True)
    (folder / "ready").touch()
