"""What the tests of this folder share."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .engine_process import Zygote


def pytest_itemcollected(item: pytest.Item) -> None:
    """A client that fails by itself writes nothing more, and is to be seen."""
    if Path(__file__).parent in item.path.parents:
        unseen = "error::pytest.PytestUnhandledThreadExceptionWarning"
        item.add_marker(pytest.mark.filterwarnings(unseen))


@pytest.fixture(scope="session")
def zygote() -> Iterator[Zygote]:
    zygote = Zygote()
    yield zygote
    zygote.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder that does not exist yet."""
    return tmp_path / "data"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB."""
    folder = tmp_path / "small"
    folder.mkdir()
    is_root = os.geteuid() == 0 and sys.platform == "linux"
    command = ["mount", "-t", "tmpfs", "-o", "size=12m,mode=700", "tmpfs", str(folder)]
    if not is_root or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root may mount a small file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)
