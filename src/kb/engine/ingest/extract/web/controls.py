"""Finds what can be clicked in forums and shops: `Reply`, `Report`, `Add to cart`. Such links say
the same at every post and lead elsewhere each time, unlike a person's name; in a shop, where a
maker's name leads to many places, they also look like buttons. Buttons submit something, repeat, or
have a known name. Those that unfold something are its headings, and those of a choice say what
there is."""

from collections.abc import Iterator
from typing import Any

from lxml import etree

from kb.engine.ingest.extract.web.names import HEADINGS, is_named_action, is_named_button
from kb.engine.ingest.extract.web.weights import Weight, text_of

_LONGEST = 30  # characters
_OFTEN = 3  # times
_NOWHERE = ("#", "javascript:")  # where a script takes over
_BUTTONS = etree.XPath("descendant::*[self::button or @role='button']")


def controls(body: Any, weights: dict[Any, Weight], *, is_talk: bool) -> list[Any]:
    """Buttons, and links that no sentence is around."""
    found: dict[str, list[Any]] = {}
    buttons = dict.fromkeys(_BUTTONS(body))
    links = (each for each in body.iter("a") if is_talk or is_named_button(each))
    for element in dict.fromkeys((*links, *buttons)):
        said = " ".join(text_of(element).split()) or _drawn(element)
        is_label = 0 < len(said) <= _LONGEST and not any(map(str.isdigit, said))
        if is_label and _stands_alone(element, weights, is_button=element in buttons):
            found.setdefault(said, []).append(element)
    return list(_known(found, buttons))


def _drawn(link: Any) -> str:
    """The alternative text of a picture that can be clicked."""
    return " ".join(image.get("alt") or "" for image in link.iter("img")).strip()


def _known(found: dict[str, list[Any]], buttons: dict[Any, None]) -> Iterator[Any]:
    for same in found.values():
        if _lead_elsewhere(same):
            yield from same
            continue
        pressed = [each for each in same if each in buttons and not _unfolds(each)]
        for each in pressed:
            if len(pressed) > 1 or each.get("type") == "submit" or is_named_action(each):
                yield each


def _unfolds(button: Any) -> bool:
    return button.get("aria-expanded") is not None or button.get("role") == "tab"


def _stands_alone(element: Any, weights: dict[Any, Weight], *, is_button: bool) -> bool:
    block = next((above for above in element.iterancestors() if above in weights), None)
    if block is None or block.tag in HEADINGS or element in weights:
        return False
    return is_button or weights[block].prose <= weights[block].linked


def _lead_elsewhere(same: list[Any]) -> bool:
    if len(same) < _OFTEN:
        return False
    places = [each.get("href") or "" for each in same]
    if all(not place or place.startswith(_NOWHERE) for place in places):
        return not any(map(_unfolds, same))
    return len(set(places)) == len(places)
