"""Finds the part of a page that holds its content."""

from typing import Any

from kb.engine.ingest.extract.web import names
from kb.engine.ingest.extract.web.weights import Weight

_NEARLY_ALL = 0.8  # of the prose around it that the main part holds
_HALF = 0.5
_MOSTLY_LINKS = 0.5
_LEAST = 20  # characters
_SEVERAL = 3  # blocks of prose beside each other
_TEXT_TAGS = frozenset({"p", "pre", "blockquote", "dl", "ul", "ol", "dt", "dd"})
_WRAPPERS = frozenset(
    {"article", "center", "div", "fieldset", "main", "section", "table", "tbody", "td", "tr"}
)


def marked_main(body: Any, weights: dict[Any, Weight]) -> Any | None:
    """The part that the page marks as its main one; a mere name counts if it contains most of the
    prose."""
    whole = weights[body]
    for is_main, least in ((names.is_main, 0.0), (names.is_named_main, _HALF)):
        marked = [element for element in weights if is_main(element)]
        weight = weights[marked[0]] if len(marked) == 1 else Weight()
        if weight.text > max(_LEAST, least * whole.text):
            return marked[0]
        if weight.prose > max(_LEAST, least * whole.prose):
            return marked[0]
    return None


def part_of_most_prose(body: Any, weights: dict[Any, Weight]) -> Any:
    """The innermost element that holds nearly all prose and has no text beside it."""
    path = [body]
    while (inner := _inner(path[-1], weights)) is not None:
        path.append(inner)
    while path[-1].tag in ("table", "tbody", "tr"):  # of data, since no cell has all the text
        path.pop()
    return path[-1]


def _inner(element: Any, weights: dict[Any, Weight]) -> Any | None:
    """The child that holds nearly all of the prose, if no text stands beside it. Of a page that is
    mostly links it would be the footer."""
    if weights[element].link_share >= _MOSTLY_LINKS:
        return None
    best, most = None, 0
    for child in element:
        weight = weights.get(child)
        if weight is not None and weight.prose > most and not _is_site_part(child):
            best, most = child, weight.prose
    if best is None or best.tag not in _WRAPPERS:
        return None
    is_most = most >= _NEARLY_ALL * weights[element].prose
    return best if is_most and not _has_text_beside(element, best, weights) else None


def _is_site_part(element: Any) -> bool:
    is_named = element.tag in ("header", "footer", "aside") or names.is_named_footer(element)
    return is_named or names.is_around(element)


def _has_text_beside(element: Any, best: Any, weights: dict[Any, Weight]) -> bool:
    """Headings or paragraphs side by side with an element, or elements of the very same kind."""
    beside = 0
    for child in element:
        weight = weights.get(child)
        if child is best or weight is None or not weight.text:
            continue
        if child.tag in ("section", "article", *names.HEADINGS[1:]):
            return True
        if child.tag == "h1" and not weight.links:  # with a link it is the name of the site
            return True
        if weight.prose and weight.link_share < _MOSTLY_LINKS and child.tag in _TEXT_TAGS:
            return True
        if best.get("class") and child.get("class") == best.get("class") and best.tag != "td":
            return True
        beside += weight.prose > _LEAST and weight.link_share < _MOSTLY_LINKS
    return beside >= _SEVERAL
