"""Finds the hidden parts of a page, which nobody sees."""

import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any

from lxml import etree

from kb.engine.ingest.extract.web.names import HEADINGS, is_unshown, words
from kb.engine.ingest.extract.web.weights import Weight, text_of, weigh

_UNSEEN_STYLE = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# Nor can a script that only folds and unfolds show this.
_NEVER_SEEN = re.compile(r"display\s*:\s*none\s*!\s*important", re.IGNORECASE)
_MAY_BE_HIDDEN = etree.XPath(
    "descendant-or-self::*[@hidden or @aria-hidden or @style or self::dialog]"
)
_MAY_BE_UNSHOWN = etree.XPath(
    "descendant::*[contains(@class, 'hid') or contains(@class, 'Hid') or contains(@class, 'none') "
    "or @popover]"
)
_OPENERS = etree.XPath(
    "descendant-or-self::*[@aria-controls or @data-target or @data-bs-target or "
    "self::a[starts-with(@href, '#')]]"
)
_SIGNS = re.compile(r"[^\w]{0,3}")
_HELPERS = frozenset({"jump", "skip", "top"})
_FOLDED = frozenset({"accordion", "collapse", "collapsible", "expandable", "faq", "tabs"})
_LABELS = frozenset({"source", "src", "edit", "view source", "edit source"})
_PLEA = 500  # characters; more is no plea to turn scripts on
_MESSAGE = 400  # characters
_OFTEN = 3  # times that a label stands on a page
_FEW_SKIPS = 3
_FEW_ABOVE = 4  # elements
_MOST_CAPTIONS = 1_000_000  # characters that are compared


def shown_without_scripts(tree: Any) -> None:
    """Let what is for readers without scripts be seen, where it is most of the page: there forums
    say what a script would bring. Elsewhere it asks for scripts. Changes the tree."""
    replacements = list(tree.iter("noscript"))
    inside = sum(len("".join(each.itertext())) for each in replacements)
    if inside > _PLEA and inside > weigh(tree)[tree].text:
        for each in replacements:
            each.tag = "div"


def hidden(body: Any) -> Iterator[Any]:
    """Elements that a reader of the page cannot see. Text that a click opens is only folded."""
    opened = _Openable(body)
    for element in _MAY_BE_HIDDEN(body):
        is_never_seen = _NEVER_SEEN.search(element.get("style") or "") is not None
        if is_never_seen or (_is_hidden(element) and not _is_folded(element, opened)):
            yield element


def unshown(body: Any, weights: dict[Any, Weight]) -> Iterator[Any]:
    """What a class hides until something happens: `Added to your cart`. Tabs are only folded, and
    part of a line may be the colour that is chosen."""
    opened = _Openable(body)
    for element in _MAY_BE_UNSHOWN(body):
        weight = weights.get(element)
        if weight is None or not weight.text:
            continue
        is_message = weight.prose <= _MESSAGE or _is_for_programs(element, weight)
        is_message = is_message and is_unshown(element)
        if element.get("popover") is not None or (is_message and not _is_folded(element, opened)):
            yield element


def _is_for_programs(element: Any, weight: Weight) -> bool:
    """Whether half of it is addresses and names with a `_` in them."""
    written = (word for word in text_of(element).split() if "/" in word or "_" in word)
    return 2 * sum(map(len, written)) > weight.text


def _is_hidden(element: Any) -> bool:
    if element.get("hidden") is not None or element.get("aria-hidden") == "true":
        return True
    if element.tag == "dialog" and element.get("open") is None:
        return True
    return bool(_UNSEEN_STYLE.search(element.get("style") or ""))


class _Openable:
    """Knows the names of what something on the page opens, once somebody asks for one."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def __contains__(self, name: str) -> bool:
        return name in self._names

    @cached_property
    def _names(self) -> set[str]:
        found: set[str] = set()
        for element in _OPENERS(self._body):
            for name in ("aria-controls", "data-target", "data-bs-target"):
                found.update(each.lstrip("#") for each in (element.get(name) or "").split())
            if element.tag == "a" and (element.get("href") or "").startswith("#"):
                found.add(element.get("href")[1:])
        return found


def _is_folded(element: Any, opened: _Openable) -> bool:
    name = element.get("id") or ""
    if element.tag in ("body", "tr") or name.startswith("S:"):  # React puts it into its place
        return True
    if name and name in opened:
        return True
    if element.get("role") == "tabpanel" or element.get("hidden") == "until-found":
        return True
    if any(
        not _FOLDED.isdisjoint(said) and "no" not in said for said in map(words, _near(element))
    ):
        return True
    return any(above.tag == "details" for above in element.iterancestors())


def _near(element: Any) -> Iterator[Any]:
    yield element
    yield from islice(element.iterancestors(), _FEW_ABOVE)


def permalinks(body: Any) -> Iterator[Any]:
    """Signs such as `¶` behind a heading, whose place becomes its own; links that only skip."""
    for link in body.iter("a"):
        page, _, place = (link.get("href") or "").partition("#")
        text = text_of(link).strip("\u200b \n\t")
        is_sign = _SIGNS.fullmatch(text) and link.find(".//img") is None
        leads_up = place == "top" or not _HELPERS.isdisjoint(words(link))
        is_helper = leads_up and not page and _stands_alone(link)
        if not place or not (is_sign or is_helper):
            continue
        heading = link.getparent()
        if heading is not None and heading.tag in HEADINGS:
            heading.set("id", place)
        yield link


def skips(body: Any) -> Iterator[Any]:
    """Links to places of this page before all others: they lead past the menus."""
    for link in islice(body.iter("a", "p", *HEADINGS), _FEW_SKIPS):
        if link.tag != "a" or not (link.get("href") or "").startswith("#"):
            return
        yield link


def names_of_icons(body: Any) -> Iterator[Any]:
    """The alternative text of an icon: `Arrow, to the left`."""
    for name in body.iter("title", "desc"):
        if name.getparent().tag in ("svg", "symbol") and not len(name):
            yield name


def labels(body: Any) -> list[Any]:
    """Links to the source of each function, to change each section, or to change the page."""
    found, editors = [], []
    for link in body.iter("a"):
        if "/edit/" in (link.get("href") or "") and _stands_alone(link):
            editors.append(link)
        elif _label(link) in _LABELS:
            found.append(link)
    return [*editors, *(found if len(found) >= _OFTEN else [])]


def _stands_alone(link: Any) -> bool:
    """Whether no sentence goes on around a link, which would miss its words."""
    previous, parent = link.getprevious(), link.getparent()
    before = previous.tail if previous is not None else parent.text
    return not any(letter.isalnum() for letter in (before or "") + (link.tail or ""))


def _label(link: Any) -> str:
    return text_of(link).strip(" \n\t\xa0[]").lower()


def doubled_image_texts(body: Any) -> Iterator[Any]:
    """Pictures of which only their caption is said once more."""
    left = _MOST_CAPTIONS
    for caption in body.iter("figcaption"):
        said = _letters("".join(caption.itertext()))
        left -= len(said)
        figure = caption.getparent()
        if left < 0 or figure is None:
            return
        yield from (e for e in figure.iter("img") if _letters(e.get("alt") or "") in said)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()
