"""What callers may do with models: list the installed ones, and choose one."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kb.engine.embed import Embedders, ModelsAtHand
from kb.engine.errors import ModelNotFound, ModelSet, StartupError, StorageFailed
from kb.engine.model_change.renewal import Renewal
from kb.engine.store import Store

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Model:
    """`state`: its vectors are searched, or are being made to be searched then, or neither."""

    name: str
    public_name: str
    state: Literal["active", "next", "available"]
    installed: bool
    origin: str
    dimensions: int | None
    max_tokens: int | None
    languages: str
    license: str
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Change:
    """How far the change to another model is: passages that have its vector, of all."""

    name: str
    done: int
    total: int
    state: Literal["loading", "running", "failed"]
    failure: str | None


@dataclass(frozen=True, slots=True)
class Models:
    """`set_by`: whether a setting names the model, or somebody chose it, or neither."""

    models: list[Model]
    active: str
    wanted: str
    set_by: Literal["setting", "choice", "default"]
    change: Change | None


class ModelChoice:
    """The choice of a model: of the settings, else of a person, else kb's own."""

    def __init__(
        self,
        store: Store,
        embedders: Embedders,
        at_hand: ModelsAtHand,
        renewal: Renewal,
    ) -> None:
        self._store = store
        self._embedders = embedders
        self._installed = at_hand.installed
        self._fixed = at_hand.fixed
        self._renewal = renewal

    @property
    def lacking(self) -> str | None:
        """The model that was chosen, if it is not installed any more."""
        chosen = self._store.models.chosen
        return chosen if not self._fixed and chosen and chosen not in self._installed else None

    def models(self) -> Models:
        store = self._store
        names = dict.fromkeys((*self._installed, store.models.searched))
        chosen = store.models.chosen is not None
        return Models(
            models=[self._model(name) for name in names],
            active=store.models.searched,
            wanted=store.models.wanted,
            set_by="setting" if self._fixed else "choice" if chosen else "default",
            change=self.change(),
        )

    def public_name(self, name: str) -> str:
        """What the world calls the model; of one that is not installed only our name is known."""
        about = self._installed.get(name)
        return about.public_name if about else name

    def change(self) -> Change | None:
        """The change that is under way, if there is one."""
        wanted = self._store.models.wanted
        if wanted == self._store.models.searched:
            return None
        try:
            totals = self._store.totals.current()
        except StorageFailed:  # a choice that was made is not to be told as one that failed
            totals = self._store.totals.last_read()
        made = totals.next_vectors if self._store.models.task() == "embed" else 0
        embedder = self._embedders.of(wanted)
        state: Literal["loading", "running", "failed"] = "running"
        if embedder.current() is None:
            state = "failed" if embedder.failure else "loading"
        return Change(wanted, made, totals.chunks, state, embedder.failure)

    def use(self, name: str) -> Models:
        """Have this model's vectors searched: made behind everything else, then exchanged."""
        if self._fixed:
            raise ModelSet(
                f"The setting KB_MODEL names {self._fixed}: change or remove it, then restart the "
                "engine"
            )
        if name not in self._installed:
            raise ModelNotFound(name, list(self._installed))
        self._store.models.choose(name)
        logger.info("model %s was chosen", name)
        self._embedders.of(name).start()
        self._renewal.wake()
        return self.models()

    def _model(self, name: str) -> Model:
        store, about = self._store, self._installed.get(name)
        state: Literal["active", "next", "available"] = "available"
        if name in (store.models.searched, store.models.wanted):
            state = "active" if name == store.models.searched else "next"
        return Model(
            name=name,
            public_name=self.public_name(name),
            state=state,
            installed=about is not None,
            origin=about.origin if about else "",
            dimensions=about.dimensions if about else None,
            max_tokens=about.max_tokens if about else None,
            languages=about.languages if about else "",
            license=about.license if about else "",
            size_bytes=about.size_bytes if about else 0,
        )


def settle(at_hand: ModelsAtHand, store: Store) -> ModelsAtHand:
    """Have the store want the right model at start; what is at hand, with what the store knows of.

    A model that was chosen but is gone is done without: what is there is used instead.
    """
    if store.models.folder is not None:
        try:
            at_hand = at_hand.with_folder(Path(store.models.folder))
        except StartupError as error:
            logger.info("the model that was used from a folder is gone: %s", error.message)
    if store.health.damage is not None:
        return at_hand
    if at_hand.fixed:
        origin = at_hand.installed[at_hand.fixed].origin
        if Path(origin).is_absolute() and origin != store.models.folder:
            store.models.remember_folder(origin)
    store.models.want(_wanted(at_hand, store))
    return at_hand


def _wanted(at_hand: ModelsAtHand, store: Store) -> str:
    chosen = at_hand.fixed or store.models.chosen or at_hand.default
    if chosen in at_hand.installed:
        return chosen
    instead = (
        store.models.searched if store.models.searched in at_hand.installed else at_hand.default
    )
    logger.warning("the chosen model %s is not installed: %s is used instead", chosen, instead)
    return instead
