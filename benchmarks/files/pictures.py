"""Pages in, pictures of them out as scanners and telephones make them; texts in, pages out."""

import io
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image as Images
from PIL import ImageDraw, ImageFilter, ImageFont
from PIL.Image import Image, Resampling, Transform, Transpose

_FOLDERS = (Path("/usr/share/fonts"), Path("/Library/Fonts"), Path("C:/Windows/Fonts"))
_SEED = 20231114


def font_file(*names: str) -> Path | None:
    """The first of the fonts that is installed; DejaVu and Noto are packages of most systems."""
    for name in names:
        for folder in _FOLDERS:
            for found in folder.rglob(name):
                return found
    return None


def noisy(page: Image) -> Image:
    """A bad scan: blurred, grainy, compressed hard."""
    grain = np.random.default_rng(_SEED).normal(0, 22, (page.height, page.width))
    blurred = np.asarray(page.convert("L").filter(ImageFilter.GaussianBlur(0.8)), dtype=np.float32)
    return compressed(_picture(blurred * 0.85 + 20 + grain), 35)


def skewed(page: Image, degrees: float = 2.0) -> Image:
    return page.convert("L").rotate(degrees, Resampling.BICUBIC, expand=True, fillcolor=255)


def photographed(page: Image) -> Image:
    """A bent page under a lamp, taken from one side."""
    width, height = page.size
    bent = page.convert("L").transform(
        page.size, Transform.MESH, _waves(width, height), Resampling.BICUBIC, fillcolor=255
    )
    corners = (0, 0, -0.02 * width, height, 1.03 * width, 1.02 * height, width, -0.03 * height)
    seen = bent.transform(page.size, Transform.QUAD, corners, Resampling.BICUBIC, fillcolor=120)
    down, across = np.mgrid[0:height, 0:width]
    light = 0.55 + 0.45 * np.exp(
        -(((across / width - 0.3) / 0.6) ** 2) - ((down / height - 0.3) / 0.7) ** 2
    )
    soft = np.asarray(seen.filter(ImageFilter.GaussianBlur(0.7)), dtype=np.float32) * light
    return compressed(_picture(soft + np.random.default_rng(_SEED).normal(0, 6, soft.shape)), 70)


def _waves(width: int, height: int) -> list[tuple[tuple[int, ...], tuple[float, ...]]]:
    """Upright strips, each moved up or down a little: as a page bends near the spine of a book."""

    def rise(x: float) -> float:
        return 0.008 * height * math.sin(2.5 * x / width)

    strips = []
    for left in range(0, width, 16):
        right = min(left + 16, width)
        a, b = rise(left), rise(right)
        target = (left, 0, right, height)
        strips.append((target, (left, a, left, height + a, right, height + b, right, b)))
    return strips


def compressed(picture: Image, quality: int) -> Image:
    data = io.BytesIO()
    picture.save(data, "JPEG", quality=quality)
    return Images.open(data).convert("L")


def _picture(values: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> Image:
    return Images.fromarray(np.clip(values, 0, 255).astype(np.uint8))


CONDITIONS: dict[str, Callable[[Image], Image]] = {
    "clean": lambda page: page,
    "noisy": noisy,
    "skewed by 2°": skewed,
    "turned by 90°": lambda page: page.transpose(Transpose.ROTATE_90),
    "turned by 180°": lambda page: page.transpose(Transpose.ROTATE_180),
    "turned by 270°": lambda page: page.transpose(Transpose.ROTATE_270),
    "photographed": photographed,
}


def drawn(text: str, font: Path, size: int, index: int = 0) -> Image:
    """The lines of a text, black on white."""
    face = ImageFont.truetype(font, size, index=index)
    rows = text.strip().splitlines()
    width = int(max(face.getlength(row) for row in rows)) + 4 * size
    page = Images.new("L", (width, int(1.5 * size * len(rows)) + 4 * size), 255)
    draw = ImageDraw.Draw(page)
    for number, row in enumerate(rows):
        draw.text((2 * size, 2 * size + int(1.5 * size * number)), row, fill=0, font=face)
    return page


def diagram(font: Path) -> tuple[Image, str]:
    """Boxes with labels and arrows, in colours; and the words in it."""
    labels = [
        ("Harbour office", (60, 60), (214, 232, 250)),
        ("Ledger of boats", (520, 60), (252, 228, 214)),
        ("Carrier", (980, 60), (226, 239, 218)),
        ("Music school", (60, 420), (255, 242, 204)),
        ("Quay 14 / Crane B", (520, 420), (60, 60, 90)),
        ("Letter, 2 weeks later", (980, 420), (237, 237, 237)),
    ]
    picture = Images.new("RGB", (1400, 640), "white")
    draw = ImageDraw.Draw(picture)
    face, small = ImageFont.truetype(font, 26), ImageFont.truetype(font, 18)
    for text, (x, y), colour in labels:
        draw.rounded_rectangle((x, y, x + 340, y + 130), 18, fill=colour, outline=(90, 90, 90))
        ink = "white" if sum(colour) < 300 else "black"
        draw.text((x + 170, y + 65), text, fill=ink, font=face, anchor="mm")
    arrows = [("reports", (400, 125)), ("notifies", (860, 125)), ("unpaid", (400, 485))]
    for text, (x, y) in arrows:
        draw.line((x, y, x + 120, y), fill=(40, 40, 40), width=3)
        draw.text((x + 60, y - 14), text, fill=(120, 20, 20), font=small, anchor="ms")
    return picture, " ".join([*(label[0] for label in labels), *(arrow[0] for arrow in arrows)])
