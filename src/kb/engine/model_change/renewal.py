"""Replaces all vectors by those of another model, bit by bit, in the background.

Searches use the old vectors until all new ones are there. Each piece is a transaction of its own,
so after any end of the process the next start continues where it was.
"""

import logging
import threading
import time
from collections.abc import Callable

from kb.engine.embed import Embedders
from kb.engine.errors import EmbeddingFailed, StorageFailed, StorageFull
from kb.engine.ingest.pipeline import Pipeline
from kb.engine.store import Store
from kb.serving.memory import give_back

logger = logging.getLogger(__name__)

_BATCH = 16
_IDLE = 5.0
_AFTER_TROUBLE = 2.0
# While jobs run they have three quarters of the time: somebody waits for them.
_PATIENCE = 3.0


class Renewal:
    """Gives chunks the vectors they lack: after a change of models all of them, else those that
    came from an older store. `busy` says whether jobs are running."""

    def __init__(
        self, store: Store, pipeline: Pipeline, embedders: Embedders, busy: Callable[[], bool]
    ) -> None:
        self._store = store
        self._pipeline = pipeline
        self._embedders = embedders
        self._busy = busy
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="renewal", daemon=True)

    def start(self) -> None:
        if not self._stop.is_set():
            self._thread.start()

    def wake(self) -> None:
        """Another model is wanted."""
        self._wake.set()

    def let_go(self) -> None:
        self._stop.set()
        self._wake.set()

    def stop(self, timeout: float) -> None:
        self.let_go()
        if self._thread.is_alive():
            self._thread.join(timeout)

    def finish(self) -> None:
        """Work until nothing is left, in the caller's thread."""
        while self.step():
            pass

    def step(self) -> bool:
        """Do one small piece of the work; whether there was any that could be done."""
        task = self._store.models.task()
        if task == "begin":
            self._store.models.begin()
            logger.info("making vectors of %s for all passages", self._store.models.wanted)
            return True
        if task == "clear":
            self._store.models.clear()
            return True
        if task == "embed" and not self._is_loaded():
            return False
        if self._embedders.of(self._store.models.wanted).failure:
            return False
        return self._pipeline.embed_missing(_BATCH) > 0 or (task == "embed" and self._switch())

    def _is_loaded(self) -> bool:
        """Wait for the wanted model: queries need it as soon as its vectors are searched."""
        embedder = self._embedders.of(self._store.models.wanted)
        embedder.start()
        try:
            embedder.wait()
        except EmbeddingFailed:
            return False
        return True

    def _switch(self) -> bool:
        old = self._store.models.searched
        if not self._store.models.switch():
            return False
        self._embedders.let_go(old)
        logger.info("vectors of %s are searched from now on", self._store.models.searched)
        return True

    def _run(self) -> None:
        has_worked, waits_for = False, ""
        while not self._stop.is_set():
            self._wake.clear()
            began = time.monotonic()
            try:
                worked = self.step()
            except (StorageFull, StorageFailed) as error:
                if error.message != waits_for:  # said once, not every two seconds
                    logger.error("making vectors waits: %s", error.message)
                waits_for = error.message
                self._stop.wait(_AFTER_TROUBLE)
                continue
            except Exception:
                logger.exception("making vectors failed once and goes on")
                self._stop.wait(_AFTER_TROUBLE)
                continue
            waits_for = ""
            if worked and self._busy():
                self._stop.wait(_PATIENCE * (time.monotonic() - began))
            if not worked:
                if has_worked:
                    give_back()
                self._wake.wait(_IDLE)
            has_worked = worked
