"""What all tests share: nothing of this machine's own settings gets into them."""

import os

import pytest


@pytest.fixture(autouse=True)
def own_environment(monkeypatch, tmp_path):
    """No `KB_` variable and no config file of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("KB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "no-config"))
