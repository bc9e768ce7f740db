"""Finds what a forum says at each post about its author: member since when, how many posts, a
picture. Names stay. It is recognised by the names that forum software gives it, by a list named
after the author, or by its words."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from kb.engine.ingest.extract.web.names import HEADINGS, words
from kb.engine.ingest.extract.web.weights import Weight

_LONGEST = 80  # characters
_BOX = 200  # characters
_NAMES = frozenset(
    {"userextras", "usertitle", "userbanner", "userbanners", "userrank", "posterrank", "flair"}
)
_WRITERS = frozenset({"author", "member", "poster", "postprofile", "profile", "user", "userinfo"})
_FACTS = frozenset({"badge", "badges", "field", "fields", "group", "rank", "statistics", "stats"})
_PICTURES = frozenset({"avatar", "avatars", "gravatar", "userpic"})
_DRAWN = re.compile(r"(?i)avatar|\b(?:profile|user) (?:picture|photo|image)|['’]s picture$")
_NAMED = frozenset({"name", "username", "nickname"})
_NEAR = 3  # elements
_SAID = ("p", "blockquote", "pre")
_KEPT = (*HEADINGS, *_SAID, "time")
_LISTS = ("ul", "ol", "dl")
_ABOUT = r"""
      (?:join(?:ed|\ date)?|member\ since|registered(?:\ on)?|last\ seen)\b\W{0,3}
        [\w,./ -]{0,20}\d[\w,./: -]{0,20}
    | (?:posts|messages|threads|topics|reaction\ score|likes(?:\ (?:received|given))?|points
        |trophy\ points|karma|reputation|rep\ power|solutions|best\ answers|post\ count
        |thanks(?:\ (?:given|received))?)\W{0,3}[\d.,]{1,9}\ ?[kKmM]?
    | [\d.,]{1,9}\ ?[kKmM]?\ (?:posts?|solutions?|reputation|likes?|repl(?:y|ies)|views|watching
        |posters|participants|points)(?:\W{1,3}joined\ [\w,./ -]{1,20})?
    | discussion\ starter | \#\d{1,5}
"""
# And the names of those who had them, as links.
_REACTIONS = re.compile(r"(?i)(?:likes )?reactions:.{1,120}")
_IS_ABOUT = re.compile(_ABOUT, re.VERBOSE | re.IGNORECASE)


def pictures_of_writers(body: Any) -> Iterator[Any]:
    """Beside their names, which they say once more."""
    for image in body.iter("img"):
        said = image.get("alt")
        if said:
            near = (image, *islice(image.iterancestors(), _NEAR))
            is_called_so = any(not _PICTURES.isdisjoint(words(each)) for each in near)
            if is_called_so or _DRAWN.search(said):
                yield image


def about_writers(weights: dict[Any, Weight]) -> Iterator[Any]:
    for block, weight in weights.items():
        if not 0 < weight.text <= _BOX or block.tag == "h1":
            continue
        called = words(block)
        if not _NAMES.isdisjoint(called) or _is_fact(block, called):
            yield block
        elif weight.text <= _LONGEST and block.tag not in (*HEADINGS, *_SAID):
            said = " ".join(" ".join(block.itertext()).split())
            # A thing that is sold in a thread may have a location, too.
            is_placed = block.tag in ("dl", "dd") and said.lower().startswith("location")
            is_liked = weight.links > 0 and _REACTIONS.fullmatch(said)
            if is_placed or is_liked or _IS_ABOUT.fullmatch(said):
                yield block


def _is_fact(block: Any, called: frozenset[str]) -> bool:
    """By its name, or its list's; not if it has a heading, a date or a paragraph."""
    is_named = not _WRITERS.isdisjoint(called) and not _FACTS.isdisjoint(called)
    if not (is_named and "no" not in called) and not _is_listed(block):
        return False
    return _NAMED.isdisjoint(called) and next(block.iter(*_KEPT), None) is None


def _is_listed(block: Any) -> bool:
    """In a list named after the author, or inside something that is."""
    if block.tag not in ("li", "dd"):
        return False
    listed = block.getparent()
    if listed is None or listed.tag not in _LISTS:
        return False
    around = listed.getparent()
    return any(e is not None and not _WRITERS.isdisjoint(words(e)) for e in (listed, around))
