"""Reads and checks a model's own description, its model.toml."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from kb.engine.errors import StartupError
from kb.engine.values import Cosines

FILE = "model.toml"
DIMENSIONS = 384  # of every vector that the store takes
LONGEST_PREFIX = 500
Pooling = Literal["inside", "mean", "cls"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PUBLIC_NAME = re.compile(rf"{_NAME.pattern}(/{_NAME.pattern})*")
_CURVES = ("hybrid", "vectors")


@dataclass(frozen=True, slots=True)
class Description:
    """A model: its files, how it is to be run, and what its cosines count.

    `pooling` says how one vector is made of the last layer: `mean` of all tokens, `cls` for the
    first one's, or `inside` where the graph does that itself. `query_prefix` stands before a
    question, `passage_prefix` before a passage, as the model was trained. `public_name` is what
    the world calls the model; `name` is ours, and vectors carry it.
    """

    folder: Path
    name: str
    public_name: str
    file: Path
    vocabulary: Path
    dimensions: int
    max_tokens: int
    pooling: Pooling
    query_prefix: str
    passage_prefix: str
    cosines: Cosines
    languages: str
    license: str

    @property
    def size_bytes(self) -> int:
        return self.file.stat().st_size + self.vocabulary.stat().st_size

    @classmethod
    def read(cls, folder: Path) -> "Description":
        """Raises a StartupError that says what to fix."""
        path = folder / FILE
        try:
            table = tomllib.loads(path.read_text("utf-8"))
        except OSError as error:
            raise StartupError(
                f"{folder} is not a model: its {FILE} cannot be read ({error.strerror}). "
                "docs/models.md says what belongs into such a folder"
            ) from error
        except ValueError as error:  # of TOML or of UTF-8
            raise StartupError(f"{path}: not valid TOML: {error}") from error
        return _Reader(path, table).description()


class _Reader:
    """Takes one key after the other out of the table; what is left at the end is a mistake."""

    def __init__(self, path: Path, table: dict[str, Any]) -> None:
        self._path = path
        self._table = table

    def description(self) -> Description:
        name = self._name()
        found = Description(
            folder=self._path.parent,
            name=name,
            public_name=self._public_name(name),
            file=self._file("file"),
            vocabulary=self._file("vocabulary", "vocab.txt"),
            dimensions=self._dimensions(),
            max_tokens=int(self._number("max_tokens", 512, least=16, most=8192)),
            pooling=self._pooling(),
            query_prefix=self._text("query_prefix", "", LONGEST_PREFIX),
            passage_prefix=self._text("passage_prefix", "", LONGEST_PREFIX),
            cosines=Cosines(
                weight=self._number("weight", 0.8, least=0, most=10),
                shift=self._number("shift", 0.0, least=-0.99, most=0.99),
                curves=self._curves(),
            ),
            languages=self._text("languages", "", 200),
            license=self._text("license", "", 200),
        )
        if self._table:
            raise self._wrong(min(self._table), "there is no such key")
        return found

    def _wrong(self, key: str, what: str) -> StartupError:
        return StartupError(f"{self._path}: {key}: {what}")

    def _text(self, key: str, default: str | None, most: int = 100) -> str:
        value = self._table.pop(key, default)
        if not isinstance(value, str) or len(value) > most:
            raise self._wrong(key, f"must be a text of at most {most} characters")
        return value

    def _number(self, key: str, default: float, least: float, most: float) -> float:
        value = self._table.pop(key, default)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not least <= value <= most:
            raise self._wrong(key, f"must be a number from {least} to {most}")
        return float(value)

    def _name(self) -> str:
        name = self._text("name", None)
        if not _NAME.fullmatch(name):
            raise self._wrong("name", "must be letters, digits, dots and hyphens")
        return name

    def _public_name(self, name: str) -> str:
        public_name = self._text("public_name", name, 200)
        if not _PUBLIC_NAME.fullmatch(public_name):
            raise self._wrong(
                "public_name", "must be letters, digits, dots, hyphens and slashes between them"
            )
        return public_name

    def _file(self, key: str, default: str | None = None) -> Path:
        name = self._text(key, default)
        path = self._path.parent / name
        if not name or Path(name).name != name:
            raise self._wrong(key, f"must be the name of a file beside {FILE}")
        if not path.is_file():
            raise self._wrong(key, f"there is no file {name} in {self._path.parent}")
        return path

    def _dimensions(self) -> int:
        dimensions = int(self._number("dimensions", DIMENSIONS, least=1, most=100_000))
        if dimensions != DIMENSIONS:
            raise self._wrong(
                "dimensions",
                f"kb keeps vectors of {DIMENSIONS} numbers, this model makes {dimensions}: "
                "use a model of that size",
            )
        return dimensions

    def _pooling(self) -> Pooling:
        value = self._text("pooling", None)
        known: dict[str, Pooling] = {each: each for each in get_args(Pooling)}
        if value not in known:
            raise self._wrong("pooling", "must be mean, cls or inside")
        return known[value]

    def _curves(self) -> Mapping[str, tuple[float, float]]:
        table = self._table.pop("curves", {})
        found: dict[str, tuple[float, float]] = {}
        for mode, values in table.items() if isinstance(table, dict) else [("", None)]:
            numbers = values if isinstance(values, list) else []
            if mode not in _CURVES or [type(number) in (int, float) for number in numbers] != [
                True,
                True,
            ]:
                raise self._wrong(
                    "curves", "must hold steepness and middle for hybrid, vectors or both"
                )
            found[mode] = float(numbers[0]), float(numbers[1])
        return found
