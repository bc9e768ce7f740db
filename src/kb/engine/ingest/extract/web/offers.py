"""An element of a forum's or a shop's page in, whether it offers something else out.

Around posts and products stand other threads and products, boxes for one's account or cart, for
sharing the page and for answering. They are known by their names if they hold little prose, and
other products by being a row of linked pictures.
"""

from typing import Any

from kb.engine.ingest.extract.web import names
from kb.engine.ingest.extract.web.actions import names_others
from kb.engine.ingest.extract.web.names import HEADINGS
from kb.engine.ingest.extract.web.weights import Weight

_BOX = 600  # characters of prose; more is worth reading, whatever it is called
_NOTICE = 150  # characters
_SEVERAL = 3
_CARD = 100  # characters of prose; more says something about what is shown
_PRICE = 60  # characters beside a name that is linked
_HALF = 0.5
_MOST = 0.7  # of what stands side by side
_LISTS = ("div", "ul", "ol", "section")
_PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif")
_KEPT_IN_TALK = ("h1", "pre")
_KEPT = (*_KEPT_IN_TALK, "table", "dl")


def is_offer(element: Any, weight: Weight, *, is_talk: bool) -> bool:
    if element.tag in HEADINGS or weight.prose > _BOX or (is_talk and _is_post(element)):
        return element.tag in HEADINGS[1:] and names_others("".join(element.itertext()))
    if weight.links >= _SEVERAL and _is_headed_by_others(element):
        return not _has_content(element, is_talk)
    if element.get("role") in ("menu", "alert") and weight.prose <= _NOTICE:
        return True
    if names.is_named_offer(element, is_talk=is_talk):
        is_said = not weight.links and weight.prose > _CARD  # of this thing: its suggested use
        return not is_said and not _has_content(element, is_talk)
    if names.is_shown_later(element) and (is_talk or _is_filled_in(element, weight)):
        return not _has_content(element, is_talk)
    if element.tag == "form" and next(element.iter("textarea"), None) is not None:
        return True
    return not is_talk and is_row_of_others(element, weight)


def _is_headed_by_others(element: Any) -> bool:
    """By what it begins with, or by the heading before it."""
    first = next((part for part in element.itertext() if part.strip()), "")
    if names_others(first):
        return True
    before = element.getprevious()
    return (
        before is not None and before.tag in HEADINGS and names_others("".join(before.itertext()))
    )


def _is_post(element: Any) -> bool:
    """Whether others that are called the same stand beside it, whatever that name is."""
    if element.tag == "article":
        return True
    said = names.words(element)
    beside = (element.getprevious(), element.getnext())
    return any(e is not None and e.tag == element.tag and names.words(e) == said for e in beside)


def _has_content(element: Any, is_talk: bool) -> bool:
    kept = _KEPT_IN_TALK if is_talk else _KEPT
    return next(element.iter(*kept), None) is not None


def is_row_of_others(element: Any, weight: Weight) -> bool:
    """Linked pictures side by side, each with hardly more than a name and a price."""
    if element.tag not in _LISTS or weight.links < _SEVERAL or len(element) < _SEVERAL:
        return False
    cards = sum(map(_is_card, element))
    return max(_SEVERAL, _MOST * len(element)) <= cards and weight.prose <= _PRICE * cards


def _is_filled_in(element: Any, weight: Weight) -> bool:
    """Rather than read: what is sold may be described in a box that a click opens."""
    return weight.link_share >= _HALF or next(element.iter("input", "select"), None) is not None


def _is_card(element: Any) -> bool:
    if not any((image.get("alt") or "").strip() for image in element.iter("img")):  # an icon
        return False
    text = sum(len(part.strip()) for part in element.itertext())
    return 0 < text <= 3 * _CARD and any(map(_leads_away, element.iter("a")))


def _leads_away(link: Any) -> bool:
    place = (link.get("href") or "#").partition("?")[0].lower()
    return not place.startswith(("#", "javascript:")) and not place.endswith(_PICTURES)
