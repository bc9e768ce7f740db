"""Finds a page's table of its own contents, which only repeats its headings."""

import re
from typing import Any

from kb.engine.ingest.extract.web.names import is_named_contents
from kb.engine.ingest.extract.web.weights import Weight

_LISTS = ("ul", "ol", "dl", "div", "p", "aside", "section")
_ENTRIES = ("li", "dd", "dt")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6", "dt", "th", "caption", "summary", "legend", "b")
_NUMBER = re.compile(r"^[\W\d]+(?:[A-Z]\.[\d.]*\s)?")
_MOST_LINKS = 100_000  # that are looked at
_FEWEST = 3  # links that are a list, if nothing calls it so
_LABEL = 20  # characters
_MOSTLY = 0.85  # of the text of a list that is in its links
_FOUND = 0.8  # of the links whose words stand at a place of this page that they lead to


def own_contents(tree: Any, weights: dict[Any, Weight]) -> list[Any]:
    """The outermost ones. A list with an entry that is said nowhere else is not among them."""
    targets = {element.get("id") for element in tree.iter("*") if element.get("id")}
    targets |= {element.get("name") for element in tree.iter("a") if element.get("name")}
    if not targets:
        return []
    said = {_plain(element) for element in tree.iter(*_HEADINGS)}
    found: list[Any] = []
    left = _MOST_LINKS
    for listed in tree.iter(*_LISTS):
        weight = weights.get(listed)
        if weight is None or not _may_be_contents(listed, weight):
            continue
        if not weight.links and weight.text <= _LABEL:  # a button that shows the list
            found.append(listed)
            continue
        if found and any(above is found[-1] for above in listed.iterancestors()):
            continue
        left -= weight.links
        if left < 0:  # lists in lists in lists, each with all of the links
            break
        if _is_contents(listed, targets, said):
            found.append(listed)
    return found


def _may_be_contents(listed: Any, weight: Weight) -> bool:
    """Whether it is a list of links, or a button that shows one and is called so."""
    is_label = not weight.links and 0 < weight.text <= _LABEL
    is_list = weight.link_share >= _MOSTLY
    return (is_label or is_list) and (weight.links >= _FEWEST or is_named_contents(listed))


def _is_contents(listed: Any, targets: set[str], said: set[str]) -> bool:
    links = [link for link in listed.iter("a") if link.get("href") is not None]
    if not all(_is_entry(link, listed) for link in links):
        return False
    inside = [link for link in links if link.get("href").partition("#")[2] in targets]
    if len(inside) < len(links):
        return False
    return sum(_plain(link) in said for link in links) >= _FOUND * len(links)


def _is_entry(link: Any, listed: Any) -> bool:
    """Whether a link is a list item or, inside a table of contents, a whole block. A table row has
    more to it."""
    for above in link.iterancestors():
        if above.tag in _ENTRIES:
            return True
        if above is listed:
            return False
        if above.tag == "div" and is_named_contents(listed):
            return "".join(above.itertext()).strip() == "".join(link.itertext()).strip()
    return False


def _plain(element: Any) -> str:
    """The words of a heading or link, without a number before them."""
    text = " ".join("".join(element.itertext()).split())
    return "".join(filter(str.isalnum, _NUMBER.sub("", text))).lower()
