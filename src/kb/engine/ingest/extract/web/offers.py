"""Finds other threads and products on the pages of forums and shops, and boxes for the account, the
cart, sharing and answering. Boxes have known names and little prose. Products stand in a row, each
with a link, a name, and a picture or a price."""

from collections.abc import Callable, Collection, Iterator
from functools import partial
from itertools import takewhile
from typing import Any

from kb.engine.ingest.extract.web import names
from kb.engine.ingest.extract.web.actions import names_others
from kb.engine.ingest.extract.web.kinds import has_price, is_price, other_threads, own_paths
from kb.engine.ingest.extract.web.names import HEADINGS
from kb.engine.ingest.extract.web.weights import Weight, text_of

_BOX = 600  # characters of prose; more is worth reading, whatever it is called
_NOTICE = 150  # characters
_SEVERAL = 3
_MENU = 8  # links
_SAID = 100  # characters of prose; more says something about what is shown
_CARD = 300  # characters
_NAME = 8  # characters; less is a size or a colour
_TEASER = 600  # characters
_AROUND_ROW = 100  # characters
_HALF = 0.5
_SOME = 0.3
_MOST = 0.7  # of what stands side by side
_NEVER_ROWS = ("body", "dl", "table", "tbody", "tr")
_PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".avif")
_NOT_FILLED_IN = ("hidden", "submit", "button", "image")
_KEPT_IN_TALK = ("h1", "pre")
_KEPT = (*_KEPT_IN_TALK, "table", "dl")
_CHOSEN = frozenset({"a", "button", "label", "option"})
_IsOther = Callable[[Any, Weight | None], bool]


def is_offer(element: Any, weight: Weight, *, is_talk: bool) -> bool:
    if is_talk and names.is_named_side(element) and not _is_post(element):
        return not _has_content(element, is_talk)
    if not is_talk and names.is_named_filter(element) and _is_filled_in(element):
        return not _has_content(element, is_talk)
    if element.tag in HEADINGS or weight.prose > _BOX or (is_talk and _is_post(element)):
        return element.tag in HEADINGS[1:] and names_others(text_of(element))
    if weight.links > 1 and _is_headed_by_others(element):
        return not _has_content(element, is_talk)
    if element.get("role") in ("menu", "alert"):
        return True
    if names.is_named_offer(element, is_talk=is_talk):
        is_said = not weight.links and weight.prose > _SAID  # of this thing: its suggested use
        return not is_said and not _has_content(element, is_talk)
    if names.is_shown_later(element) and (
        is_talk
        or weight.link_share >= _HALF
        or _is_filled_in(element)
        or element.getparent().tag == "body"
    ):
        return not _has_content(element, is_talk)
    if element.tag in ("form", "aside") and next(element.iter("textarea"), None) is not None:
        return True
    return element.tag == "form" and weight.prose <= _NOTICE and is_talk and _is_filled_in(element)


def is_end(element: Any, weight: Weight) -> bool:
    """The links below everything, by their name, and not those below each post."""
    if weight.links < _MENU or weight.link_share < _SOME or element.tag not in ("div", "section"):
        return False
    return names.is_named_below(element) and not _is_post(element)


def _is_headed_by_others(element: Any) -> bool:
    """By what it begins with, or by the heading before it."""
    first = next((part for part in element.itertext() if part.strip()), "")
    if names_others(first):
        return True
    before = element.getprevious()
    return before is not None and before.tag in HEADINGS and names_others(text_of(before))


def _is_post(element: Any) -> bool:
    """Whether siblings have the same name, whatever that name is."""
    if element.tag == "article":
        return True
    said = names.words(element)
    beside = (element.getprevious(), element.getnext())
    return any(e is not None and e.tag == element.tag and names.words(e) == said for e in beside)


def _has_content(element: Any, is_talk: bool) -> bool:
    kept = _KEPT_IN_TALK if is_talk else _KEPT
    return next(element.iter(*kept), None) is not None


def _is_filled_in(element: Any) -> bool:
    """Rather than read: a box that a click opens may describe a product."""
    fields = element.iter("input", "select")
    return any(field.get("type") not in _NOT_FILLED_IN for field in fields)


def rows_of_others(body: Any, weights: dict[Any, Weight], *, is_talk: bool) -> list[Any]:
    """Items side by side, each with a link to a thread or another page, a name, and a picture or a
    price; and whatever surrounds such a row and says hardly more."""
    own = own_paths(body.getroottree().getroot()) if is_talk else frozenset()
    if is_talk and not own:
        return []
    is_other = partial(_is_thread, own=own) if is_talk else _is_card
    inside: dict[Any, int] = {}
    found: list[Any] = []
    for element, weight in weights.items():
        if (
            weight.links >= _SEVERAL
            and len(element) >= _SEVERAL
            and _is_row(element, weights, is_other)
            and not (is_talk and any(map(_is_of_writer, _with_those_above(element))))
        ):
            found.append(element)
            for above in _with_those_above(element):
                inside[above] = inside.get(above, 0) + weight.text
    return [_with_heading(row, body, weights, inside) for row in found]


def _is_of_writer(element: Any) -> bool:
    """A post, or what it quotes, in which somebody may have put a row of threads."""
    return element.tag in ("article", "blockquote") or names.is_post(element)


def has_price_above(main: Any, rows: Collection[Any]) -> bool:
    """Whether there is a price before all of the rows, as for the product itself. A price that can
    be chosen is a filter."""
    before = takewhile(lambda element: element not in rows, main.iter())
    prices = (element for element in before if is_price(element.text))
    return any(_CHOSEN.isdisjoint(e.tag for e in _with_those_above(each)) for each in prices)


def _with_those_above(element: Any) -> Iterator[Any]:
    yield element
    yield from element.iterancestors()


def _is_row(element: Any, weights: dict[Any, Weight], is_other: _IsOther) -> bool:
    beside = [child for child in element if isinstance(child.tag, str) and len(child)]
    if len(beside) < _SEVERAL or element.tag in _NEVER_ROWS:
        return False
    least = max(_SEVERAL, _MOST * len(beside))
    others = 0
    for left, child in zip(range(len(beside), 0, -1), beside, strict=True):
        others += is_other(child, weights.get(child))
        if others + left <= least:
            return False
    return True


def _with_heading(row: Any, body: Any, weights: dict[Any, Weight], inside: dict[Any, int]) -> Any:
    for above in row.iterancestors():
        weight = weights.get(above)
        if weight is None:
            continue
        if above is body or weight.text - inside[above] > _AROUND_ROW:
            break
        if next(above.iter("h1"), None) is not None:
            break
        row = above
    return row


def _is_card(element: Any, weight: Weight | None) -> bool:
    if weight is not None and not (weight.links and 0 < weight.text <= _CARD):
        return False
    if weight is None and element.tag != "a":
        return False
    if next(element.iter(*_KEPT), None) is not None:
        return False
    links = [element] if element.tag == "a" else element.iter("a")
    if not any(map(_leads_away, links)):
        return False
    is_said = weight is not None and weight.prose > _SAID
    is_shown = has_price(element) or (not is_said and _has_picture(element))
    return is_shown and _has_name(element)


def _is_thread(element: Any, weight: Weight | None, own: frozenset[str]) -> bool:
    """With a heading or a date, which a list within a post has not."""
    if weight is None or element.tag == "article" or not 0 < weight.text <= _TEASER:
        return False
    if not weight.links or next(element.iter("time", *HEADINGS), None) is None:
        return False
    return any(len(text_of(e).strip()) >= _NAME for e in other_threads(element, own))


def _has_name(element: Any) -> bool:
    named = element.iter("a", *HEADINGS)
    return any(len(text_of(each).strip()) >= _NAME for each in named)


def _has_picture(element: Any) -> bool:
    """With a name: others are icons."""
    return any((image.get("alt") or "").strip() for image in element.iter("img"))


def _leads_away(link: Any) -> bool:
    place = (link.get("href") or "#").partition("?")[0].lower()
    return not place.startswith(("#", "javascript:")) and not place.endswith(_PICTURES)
