"""A picture in, the text on it out: as somebody has put it beside it, or as Tesseract reads it."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from benchmarks.reading.reference import Reference, labelled

_SECONDS = 120
_TO_PNG = {
    **dict.fromkeys(("heic", "heif", "hif"), "heif-convert"),
    "avif": "avifdec",
    **dict.fromkeys(("jp2", "j2k"), "opj_decompress"),
}


def read(path: Path) -> Reference | None:
    text = labelled(path)
    if text is not None:
        return Reference(text)
    if shutil.which("tesseract") is None:
        raise SystemExit("pictures are held against Tesseract: install tesseract-ocr")
    with tempfile.TemporaryDirectory() as folder:
        png = Path(folder, "picture.png")
        converter = _TO_PNG.get(path.suffix[1:].lower())
        try:
            if converter == "opj_decompress":
                _run([converter, "-i", path, "-o", png])
            elif converter is not None:
                _run([converter, path, png])
            text = _run(["tesseract", png if converter else path, "-", "--psm", "3"])
        except (OSError, subprocess.SubprocessError):
            return None
    return Reference(text)


def _run(command: list[str | Path]) -> str:
    done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=True)
    return done.stdout.decode("utf-8", "replace")
