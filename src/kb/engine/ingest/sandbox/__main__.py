"""The process that forks readers; the engine starts it with its first file (`process.py`)."""

import codecs
import importlib
import json
import os
import socket
import sys
from pathlib import Path
from typing import Any

from kb.engine.ingest import ocr
from kb.engine.ingest.sandbox.child import DESCRIPTORS, Extractor, read_here
from kb.engine.ingest.sandbox.confinement.locks import Locks, die_with
from kb.engine.ingest.sandbox.request import Request
from kb.platform import go_behind_others

_NICENESS = 10  # searches go first
# Python imports these when it first meets them, which would be once for every document.
_CHARACTER_SETS = (
    *("ascii", "cp1252", "latin-1", "utf-16", "utf-16-be", "utf-16-le", "utf-32"),
    *("utf-32-be", "utf-32-le", "utf-8-sig", "iso2022_kr", "iso2022_jp_2"),
)


def main() -> None:
    settings = json.loads(sys.argv[1])
    if "control" in settings:
        _serve(settings)
    else:
        _read_one(settings)


def _serve(settings: dict[str, Any]) -> None:
    if sys.platform != "win32":
        import resource

        from kb.engine.ingest.sandbox.server import Server

        die_with(settings["engine"])
        go_behind_others(_NICENESS)
        resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))
        control = socket.socket(fileno=settings["control"])
        extract = _extractor(settings["reader"])
        locks = Locks(_load_ocr(settings["ocr"]), attachments=settings["attachments"])
        Server(control, extract, locks).serve(settings["idle_seconds"])


def _read_one(settings: dict[str, Any]) -> None:
    """Windows has no fork: this process reads one document, within its user's rights."""
    channel = os.dup(1)
    os.dup2(2, 1)  # a library may print
    _load_ocr(settings["ocr"])
    read_here(Request.from_json(settings["request"]), channel, _extractor(settings["reader"]))


def _load_ocr(chosen: list[Any] | None) -> tuple[Path, ...]:
    """Load a reader of pictures, if one was chosen; the program that it runs, if it does."""
    if chosen is None:
        return ()
    wanted = ocr.Ocr(*chosen)
    ocr.hold(ocr.load(wanted))
    return ocr.needs(wanted)


def _extractor(module: str) -> Extractor:
    for name in _CHARACTER_SETS:
        codecs.lookup(name)
    extract: Extractor = importlib.import_module(module).extract
    return extract


if __name__ == "__main__":
    main()
