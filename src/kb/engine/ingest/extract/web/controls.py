"""A forum's page in, what can be done with each of its posts out: `Reply`, `Quote`, `Report`.

They are known by saying the same at every post and leading elsewhere each time. The name of a
person who has written several leads to the same place, and stays.
"""

from typing import Any

from kb.engine.ingest.extract.web.names import HEADINGS
from kb.engine.ingest.extract.web.weights import Weight

_LONGEST = 30  # characters
_OFTEN = 3  # times
_NOWHERE = ("#", "javascript:")  # where a script takes over


def controls(body: Any, weights: dict[Any, Weight]) -> list[Any]:
    """Buttons, and links that no sentence is around."""
    found: dict[str, list[Any]] = {}
    for element in body.iter("a", "button"):
        said = " ".join("".join(element.itertext()).split())
        is_label = 0 < len(said) <= _LONGEST and not any(map(str.isdigit, said))
        if is_label and _stands_alone(element, weights):
            found.setdefault(said, []).append(element)
    return [each for same in found.values() if _lead_elsewhere(same) for each in same]


def _stands_alone(element: Any, weights: dict[Any, Weight]) -> bool:
    block = next((above for above in element.iterancestors() if above in weights), None)
    if block is None or block.tag in HEADINGS:
        return False
    return element.tag == "button" or weights[block].prose <= weights[block].linked


def _lead_elsewhere(same: list[Any]) -> bool:
    if len(same) < _OFTEN:
        return False
    places = [each.get("href") or "" for each in same]
    if all(not place or place.startswith(_NOWHERE) for place in places):
        return True
    return len(set(places)) == len(places)
