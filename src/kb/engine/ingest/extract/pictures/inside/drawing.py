"""Renders a drawing (SVG) as a picture, without fonts. Pictures in it are removed first, since
resvg would open files by name."""

import io
from typing import Any

import resvg_py
from lxml import etree
from PIL import Image as Images
from PIL.Image import Image

_SIDE = 2_000  # pixels of the longer side
_FETCHED = ("{*}image", "{*}feImage", "{*}script", "{*}foreignObject")


def picture_of(tree: Any) -> Image | None:
    """None for what cannot be drawn. The tree is changed."""
    for element in list(tree.iter(*_FETCHED)):
        parent = element.getparent()
        if parent is not None:
            parent.remove(element)
    width, height = _measures(tree)
    try:
        png = resvg_py.svg_to_bytes(
            svg_string=etree.tostring(tree, encoding="unicode"),
            background="#ffffff",
            skip_system_fonts=True,
            width=_SIDE if width >= height else None,
            height=None if width >= height else _SIDE,
        )
        return Images.open(io.BytesIO(png)).convert("RGB")
    except (ValueError, OSError):
        return None


def _measures(tree: Any) -> tuple[float, float]:
    """How wide and high a drawing is, to compare the two."""
    box = (tree.get("viewBox") or "").replace(",", " ").split()
    written = box[2:] if len(box) == 4 else [tree.get("width", ""), tree.get("height", "")]
    try:
        width, height = (float(each.rstrip("pxtemcin%")) for each in written)
    except ValueError:
        return 1.0, 1.0
    return width, height
