"""The name of a function in, what it gives in a process of its own out."""

import pkgutil
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any


def apart(name: str, *arguments: Any) -> Any:
    """Of `module:function`, which only the new process imports: nothing that was loaded or cached
    before has a part in the figures, and a data folder is locked no longer than that process lives.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(_called, name, *arguments).result()


def _called(name: str, *arguments: Any) -> Any:
    return pkgutil.resolve_name(name)(*arguments)
