"""Finds the models that are installed: kb's own, those of packages, and a folder."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Self

from kb.engine.embed.description import DIMENSIONS, Description
from kb.engine.embed.hashing import HashEmbedder, OtherHashEmbedder
from kb.engine.embed.onnx import OnnxEmbedder
from kb.engine.errors import StartupError
from kb.engine.values import Embedder

DEFAULT_MODEL = "all-MiniLM-L6-v2"
MODEL_FOLDER = Path(__file__).parent.parent / "model"
# A package offers a model by naming its folder here, under the model's name.
GROUP = "kb.models"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class InstalledModel:
    """A model that can be used here, without being loaded. `origin` says where it is from."""

    name: str
    public_name: str
    origin: str
    dimensions: int
    max_tokens: int | None
    languages: str
    license: str
    size_bytes: int
    load: Callable[[], Embedder]

    @classmethod
    def described(cls, description: Description, origin: str) -> "InstalledModel":
        return cls(
            name=description.name,
            public_name=description.public_name,
            origin=origin,
            dimensions=description.dimensions,
            max_tokens=description.max_tokens,
            languages=description.languages,
            license=description.license,
            size_bytes=description.size_bytes,
            load=lambda: OnnxEmbedder(description),
        )


class MiniLM(OnnxEmbedder):
    """The model that comes with kb."""

    name = DEFAULT_MODEL

    def __init__(self, folder: Path = MODEL_FOLDER, workers: int | None = None) -> None:
        super().__init__(Description.read(folder), workers)


@dataclass(frozen=True, slots=True)
class ModelsAtHand:
    """The models that can be used here; `fixed` is the one that a setting names, if any."""

    installed: dict[str, InstalledModel]
    fixed: str | None
    default: str

    @classmethod
    def find(cls, setting: str = "", only_hashes: bool = False) -> Self:
        """`setting`: a name, a folder, or nothing; it has to be there. `only_hashes` is for tests.

        A package whose model is not as it should be is left out with a line in the log.
        """
        if only_hashes:
            hashes = (HashEmbedder, OtherHashEmbedder)
            made = [
                InstalledModel(each.name, each.name, "kb", DIMENSIONS, None, "", "", 0, each)
                for each in hashes
            ]
            at_hand = cls({each.name: each for each in made}, None, HashEmbedder.name)
        else:
            at_hand = cls({model.name: model for model in _installed()}, None, DEFAULT_MODEL)
        if not setting:
            return at_hand
        if Path(setting).is_absolute():
            return at_hand.with_folder(Path(setting), fixed=True)
        if setting not in at_hand.installed:
            raise StartupError(
                f"KB_MODEL={setting}: there is no such model here, use one of "
                f"{', '.join(at_hand.installed)}, or install it (docs/models.md)"
            )
        return replace(at_hand, fixed=setting)

    def with_folder(self, folder: Path, fixed: bool = False) -> Self:
        """Also the model in this folder; it wins over one of the same name in a package."""
        model = InstalledModel.described(Description.read(folder), str(folder))
        installed = {**self.installed, model.name: model}
        return replace(self, installed=installed, fixed=model.name if fixed else self.fixed)


def _installed() -> Iterator[InstalledModel]:
    yield InstalledModel.described(Description.read(MODEL_FOLDER), "kb")
    for entry in entry_points(group=GROUP):
        try:
            yield _of_package(entry)
        except Exception as error:  # whatever is wrong with a package, kb's own model works
            logger.warning("the model %s is left out: %s", entry.name, error)


def _of_package(entry: EntryPoint) -> InstalledModel:
    description = Description.read(Path(entry.load()))
    if description.name != entry.name:
        raise StartupError(f"its package says {entry.name}, its description {description.name}")
    package = f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value
    return InstalledModel.described(description, package)
