"""Commands on stdin, engine processes out: imports the engine once and forks it at every start.

A start costs a fork instead of two seconds of imports, so a test can afford many. The parent runs
no thread of its own, and what a child changes (a planted bug, its environment) ends with it.
"""

import importlib
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any, NoReturn

import kb.cli.export.command
import kb.cli.importing.command
import kb.engine.app
import kb.serving.server  # noqa: F401 - the engine imports these when it starts
from kb.cli import main as command
from kb.engine import __main__ as engine

Command = dict[str, Any]


def main() -> None:
    """Answer each line with one line; when the test goes away, so do the engines it left.

    An answer has the number of its command: a test that ran out of time has not read its last one.
    """
    codes: dict[int, int | None] = {}  # of each child; None while it runs
    print("ready", flush=True)
    for line in sys.stdin:
        command: Command = json.loads(line)
        if "wait" in command:
            answer = _wait(command["wait"], command["seconds"], codes)
        else:
            answer = os.fork()
            if answer == 0:
                _child(command)
            codes[answer] = None
        print(json.dumps([command["number"], answer]), flush=True)
    for child, code in codes.items():
        if code is None:
            os.kill(child, signal.SIGKILL)


def _wait(pid: int, seconds: float, codes: dict[int, int | None]) -> int | None:
    """The exit code, negative for a signal; None if it still runs after this time."""
    deadline = time.monotonic() + seconds
    while codes[pid] is None and time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            codes[pid] = os.waitstatus_to_exitcode(status)
        else:
            time.sleep(0.002)
    return codes[pid]


def _child(command: Command) -> NoReturn:
    """Never returns into the parent's loop, whatever happens."""
    code = 1
    try:
        _redirect(command["log"])
        os.environ.update(command["environment"])
        for name in command["plants"]:
            _named(name)()
        _named(command["run"])(*command["arguments"])
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _redirect(log: str) -> None:
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(target, 1)
    os.dup2(target, 2)


def _named(name: str) -> Callable[..., None]:
    module, _, function = name.rpartition(":")
    return getattr(importlib.import_module(module), function)  # type: ignore[no-any-return]


def run_engine() -> None:
    """What `python -m kb.engine` runs."""
    engine.main()


def run_kb(arguments: list[str]) -> None:
    """What `kb` runs."""
    command.main(arguments)


if __name__ == "__main__":
    main()
