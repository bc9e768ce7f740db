"""Reports steps and the end of the work as lines of JSON on standard output."""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

from kb.engine.backup.steps import Step
from kb.engine.errors import KbError

_EVERY = 0.1  # seconds


class Lines:
    def __init__(self) -> None:
        self._told_at = 0.0
        self._told = ""

    def tell(self, step: Step) -> None:
        """Not each of them: some steps take microseconds."""
        at = time.monotonic()
        if step.step != self._told or at - self._told_at > _EVERY or step.done == step.total:
            self._told, self._told_at = step.step, at
            self._print({"step": step.step, "done": step.done, "total": step.total})

    def end(self, answer: Any) -> None:
        self._print({"answer": answer})

    def fail(self, code: str, message: str) -> None:
        self._print({"error": code, "message": message})

    @staticmethod
    def _print(line: dict[str, Any]) -> None:
        print(json.dumps(line, ensure_ascii=False), flush=True)


def running(work: Callable[[Lines], None]) -> int:
    """Do the work; the exit code. What goes wrong is the last line."""
    lines = Lines()
    try:
        work(lines)
    except KbError as error:
        lines.fail(error.code, error.message)
        return 1
    except OSError as error:
        why = f"{error.filename or 'this machine'}: {error.strerror or error}"
        lines.fail(KbError.code, why)
        return 1
    except KeyboardInterrupt:
        return 130
    finally:
        sys.stdout.flush()
    return 0
