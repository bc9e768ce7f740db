"""Finds pictures in forums and shops that repeat another's description: the sides of a product."""

from collections.abc import Iterator
from typing import Any

from kb.engine.ingest.extract.web.weights import NO_TEXT, Weight

_OFTEN = 3  # times


def said_before(body: Any, weights: dict[Any, Weight], *, is_talk: bool) -> Iterator[Any]:
    """Those with nothing but pictures beside them: a face within a sentence is part of it. What
    stands at several posts of a forum goes altogether: whoever writes there, or a button."""
    same: dict[tuple[str, str], list[Any]] = {}
    for image in body.iter("img"):
        name = " ".join((image.get("alt") or "").split())
        block = _block(image, weights) if name else None
        if block is not None and weights[block].text <= _drawn(block):
            drawn = image.get("src") or "" if is_talk else ""
            same.setdefault((drawn, name), []).append(image)
    for images in same.values():
        yield from images if is_talk and len(images) >= _OFTEN else images[1:]


def _block(image: Any, weights: dict[Any, Weight]) -> Any | None:
    for above in image.iterancestors():
        if above in weights:
            return above
        if above.tag in NO_TEXT:  # for those without scripts: it stands there once more
            return None
    return None


def _drawn(block: Any) -> int:
    return sum(len("".join((each.get("alt") or "").split())) for each in block.iter("img"))
