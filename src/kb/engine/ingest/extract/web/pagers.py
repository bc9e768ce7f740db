"""Finds links to the next, previous and parent pages, and to translations of the page."""

from itertools import pairwise
from typing import Any

from kb.engine.ingest.extract.web.names import HEADINGS, has_heading, is_named_pager
from kb.engine.ingest.extract.web.weights import Weight, text_of

_MOST_LINKS = 14
_FEW = 3  # links
_SHORT = 100  # characters
_LONGEST = 400  # characters
_ONLY_LINKS = 0.8
_LABEL = 10  # characters of words beside each link
_TEXTS = """
    next previous prev up home top contents index back forward weiter zurück inhalt suivant
    précédent sommaire siguiente anterior avanti indietro
"""
_PAGES = {"home page", "main page", "site map", "sitemap", "contacts", "table of contents"}
_KNOWN_TEXTS = frozenset(_TEXTS.split()) | _PAGES
_RELATIONS = frozenset({"next", "prev", "previous", "up", "home", "index", "contents", "start"})
_SIGNS = " \n\t\xa0[]<>«»←→‹›|"


def leads_to_languages(element: Any, weight: Weight) -> bool:
    """Links to the same page in other languages, as their attributes say, and nothing else."""
    if weight.links < _FEW or weight.link_share < _ONLY_LINKS:
        return False
    return all(link.get("hreflang") for link in element.iter("a") if link.get("href") is not None)


def is_trail(element: Any, weight: Weight) -> bool:
    """Nothing but links, where each leads to a place below the one before it."""
    if weight.links < _FEW or weight.text > _LONGEST or weight.prose or not weight.linked:
        return False
    places = [(link.get("href") or "").partition("?")[0].rstrip("/") for link in element.iter("a")]
    return all(
        len(before) < len(place) and place.startswith(f"{before}/")
        for before, place in pairwise(places)
    )


def is_pager(element: Any, weight: Weight) -> bool:
    """A few links, two of them known ones, and almost nothing else; or what has such a name."""
    if weight.links and weight.text <= _SHORT and is_named_pager(element):
        return True
    if not 0 < weight.links <= _MOST_LINKS or weight.text > _LONGEST:
        return False
    if element.tag in ("li", "dd", "dt", "p", *HEADINGS) and weight.link_share < _ONLY_LINKS:
        return False
    links = (link for link in element.iter("a") if link.get("href") is not None)
    known = sum(_leads_around(link) for link in links)
    if known < 2 or weight.prose > _LABEL * known or has_heading(element):
        return False
    return not any(map(_says_something, element.iter("p", "pre")))


def _says_something(paragraph: Any) -> bool:
    """Without leading anywhere: it stands beside the pager."""
    is_linked = next(paragraph.iter("a"), None) is not None
    return not is_linked and any(letter.isalnum() for letter in "".join(paragraph.itertext()))


def _leads_around(link: Any) -> bool:
    if (link.get("rel") or "").lower() in _RELATIONS:
        return True
    text = text_of(link).strip() or " ".join(img.get("alt") or "" for img in link.iter("img"))
    return text.strip(_SIGNS).lower() in _KNOWN_TEXTS
