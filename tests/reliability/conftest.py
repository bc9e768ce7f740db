"""What the tests of this folder share."""

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
