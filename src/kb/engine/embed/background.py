"""Loads embedding models while the engine already answers by words."""

import logging
import threading
import time
from collections.abc import Callable, Mapping

from kb.engine.errors import EmbeddingFailed, ModelLoading
from kb.engine.values import Embedder

logger = logging.getLogger(__name__)


class BackgroundEmbedder:
    """An embedder that loads in a thread of its own."""

    def __init__(self, load: Callable[[], Embedder]) -> None:
        self._load = load
        self._embedder: Embedder | None = None
        self._started = threading.Lock()
        self._ended = threading.Event()
        self.failure: str | None = None

    def start(self) -> None:
        """Load, if nobody has said so before. A daemon thread: a shutdown does not wait for it."""
        if self._started.acquire(blocking=False):
            threading.Thread(target=self._run, name="load-model", daemon=True).start()

    def current(self) -> Embedder | None:
        """The embedder, or None while it loads and after it failed to."""
        return self._embedder

    def wait(self, timeout: float | None = None) -> Embedder:
        """The embedder as soon as it is there."""
        if not self._ended.wait(timeout):
            raise ModelLoading("The model is still loading; try again in a few seconds")
        if self._embedder is None:
            raise EmbeddingFailed(f"The model could not be loaded: {self.failure}")
        return self._embedder

    def _run(self) -> None:
        started = time.perf_counter()
        try:
            self._embedder = self._load()
            seconds = time.perf_counter() - started
            logger.info("model %s loaded in %.2f s", self._embedder.name, seconds)
        except Exception as error:
            self.failure = f"{type(error).__name__}: {error}"
            logger.exception("the model could not be loaded")
        finally:
            self._ended.set()


class Embedders:
    """The installed models. Each is loaded once, when its turn comes, and can be let go again."""

    def __init__(self, models: Mapping[str, Callable[[], Embedder]]) -> None:
        self._models = models
        self._lock = threading.Lock()
        self._made: dict[str, BackgroundEmbedder] = {}

    @classmethod
    def ready(cls, embedder: Embedder) -> "Embedders":
        """Around one that is loaded already."""
        embedders = cls({embedder.name: lambda: embedder})
        embedders.of(embedder.name).start()
        embedders.of(embedder.name).wait()
        return embedders

    def of(self, model: str) -> BackgroundEmbedder:
        """The model's embedder, whether or not it has started to load; always the same one."""
        with self._lock:
            if model not in self._made:
                self._made[model] = self._make(model)
            return self._made[model]

    def let_go(self, model: str) -> None:
        """Give the model's memory back as soon as nobody uses it any more."""
        with self._lock:
            self._made.pop(model, None)

    def _make(self, model: str) -> BackgroundEmbedder:
        if model in self._models:
            return BackgroundEmbedder(self._models[model])
        missing = BackgroundEmbedder(lambda: _not_installed(model))
        missing.failure = f"{model} is not installed"
        missing._ended.set()
        return missing


def _not_installed(model: str) -> Embedder:
    raise EmbeddingFailed(f"{model} is not installed")
