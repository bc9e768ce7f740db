"""What all tests share: nothing of this machine's own settings gets into them."""

import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# Who is started in the background ignores Ctrl-C, and so would all that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_configure(config):
    """How long an example takes says how busy the machine is. Which ones are tried is the same in
    every run, unless somebody who has the time to look at what others find gives a seed."""
    settings.register_profile(
        "kb",
        deadline=None,
        derandomize=config.option.hypothesis_seed is None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("kb")


@pytest.fixture
def anyio_backend():
    return "asyncio"


_UMASK = os.umask(0)
os.umask(_UMASK)


@pytest.fixture(autouse=True)
def own_environment(monkeypatch, tmp_path_factory):
    """No `KB_` variable and no config file of whoever runs the tests."""
    for name in [name for name in os.environ if name.startswith("KB_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path_factory.getbasetemp() / "no-config"))


@pytest.fixture(autouse=True)
def own_umask():
    """An engine in this process narrows it for good; what later tests install, others may read."""
    yield
    os.umask(_UMASK)
