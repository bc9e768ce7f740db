"""Finds what a forum says beside each post about its author.

Since when they are there, how often they have written and what for: it is the same at each of their
posts and about none. Their names stay. It is known by what its makers call it, or by its words.
"""

import re
from collections.abc import Iterator
from typing import Any

from kb.engine.ingest.extract.web.names import HEADINGS, words
from kb.engine.ingest.extract.web.weights import Weight

_LONGEST = 80  # characters
_OFTEN = 3  # times
_BOX = 200  # characters
_NAMES = frozenset(
    {"userextras", "usertitle", "userbanner", "userbanners", "userrank", "posterrank"}
)
_ABOUT = r"""
      (?:join(?:ed|\ date)?|member\ since|registered(?:\ on)?|last\ seen)\b\W{0,3}
        [\w,./ -]{0,20}\d[\w,./: -]{0,20}
    | (?:posts|messages|threads|topics|reaction\ score|likes(?:\ (?:received|given))?|points
        |trophy\ points|karma|reputation|rep\ power|solutions|best\ answers|post\ count
        |thanks(?:\ (?:given|received))?)\W{0,3}[\d.,]{1,9}\ ?[kKmM]?
    | \#\d{1,5}
"""
_REACTIONS = re.compile(r"(?i)reactions:.{1,120}")  # and the names of those who had them, as links
_IS_ABOUT = re.compile(_ABOUT, re.VERBOSE | re.IGNORECASE)


def pictures_at_posts(body: Any, weights: dict[Any, Weight]) -> Iterator[Any]:
    """The same picture several times, with nothing beside it: whoever writes, or a button."""
    same: dict[tuple[str, str], list[Any]] = {}
    for image in body.iter("img"):
        said = (image.get("alt") or "").strip()
        block = next((above for above in image.iterancestors() if above in weights), None)
        if said and block is not None and weights[block].text <= sum(map(len, said.split())):
            same.setdefault((image.get("src") or "", said), []).append(image)
    for images in same.values():
        if len(images) >= _OFTEN:
            yield from images


def about_writers(weights: dict[Any, Weight]) -> Iterator[Any]:
    for block, weight in weights.items():
        if not 0 < weight.text <= _BOX or block.tag == "h1":
            continue
        called = (block.get("class") or "").lower()
        if ("user" in called or "rank" in called) and not _NAMES.isdisjoint(words(block)):
            yield block
        elif weight.text <= _LONGEST and block.tag not in HEADINGS:
            said = " ".join(" ".join(block.itertext()).split())
            # A thing that is sold in a thread may have a location, too.
            is_placed = block.tag in ("dl", "dd") and said.lower().startswith("location")
            is_liked = weight.links > 0 and _REACTIONS.fullmatch(said)
            if is_placed or is_liked or _IS_ABOUT.fullmatch(said):
                yield block
