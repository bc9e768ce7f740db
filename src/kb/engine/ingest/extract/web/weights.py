"""Counts the text and the links in each block of a page."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from lxml import etree

# Elements that hold others side by side; what is within a line is no block.
_BLOCK_TAGS = """
    address article aside blockquote body center dd details div dl dt fieldset figure footer form
    h1 h2 h3 h4 h5 h6 header li main menu nav ol p pre section table tbody td tfoot th thead tr ul
"""
BLOCKS = frozenset(_BLOCK_TAGS.split())
_LONG_WORD = 20  # characters; more are a sentence of a language without spaces
NO_TEXT = frozenset({"script", "style", "template", "noscript", "head", "select", "datalist"})


@dataclass(slots=True)
class Weight:
    """In characters that are no space. `linked` is the part of `text` that is in links, `prose`
    what is neither in links nor a lone word: that may be the number of a chapter, or a bar. `own`
    is the part of `prose` that stands in no block within this one."""

    text: int = 0
    linked: int = 0
    prose: int = 0
    own: int = 0
    links: int = 0

    @property
    def link_share(self) -> float:
        return self.linked / self.text if self.text else 0.0


def text_of(element: Any) -> str:
    """All of the text of an element, which lxml puts together faster than `itertext`."""
    if not len(element):
        return element.text or ""
    text: str = etree.tostring(element, method="text", encoding="unicode", with_tail=False)
    return text


def weigh(tree: Any, without: Collection[Any] = ()) -> dict[Any, Weight]:
    """The weight of each block of the tree, and of the tree itself; less some elements."""
    weights: dict[Any, Weight] = {}
    open_blocks = [Weight()]
    links = code = 0  # that are open
    walker = etree.iterwalk(tree, events=("start", "end"))
    for event, element in walker:
        tag = element.tag
        if element in without:
            if event == "start":
                walker.skip_subtree()
            else:
                _add(open_blocks[-1], element.tail, links, code)
            continue
        if event == "start":
            if tag in NO_TEXT:
                walker.skip_subtree()
                continue
            if tag in BLOCKS or "-" in tag:
                open_blocks.append(Weight())
                weights[element] = open_blocks[-1]
            if tag == "a" and element.get("href") is not None:
                links += 1
                open_blocks[-1].links += 1
            code += tag == "pre"
            _add(open_blocks[-1], element.text, links, code)
            if tag == "img":
                _add(open_blocks[-1], element.get("alt"), links, code)
            continue
        code -= tag == "pre"
        if tag == "a" and element.get("href") is not None:
            links -= 1
        if tag in BLOCKS or "-" in tag:
            inner, outer = open_blocks.pop(), open_blocks[-1]
            outer.text += inner.text
            outer.linked += inner.linked
            outer.prose += inner.prose
            outer.links += inner.links
        if element is not tree:
            _add(open_blocks[-1], element.tail, links, code)
    weights[tree] = open_blocks[0]
    return weights


def _add(weight: Weight, text: str | None, links: int, code: int) -> None:
    if text:
        words = text.split()
        characters = sum(map(len, words))
        weight.text += characters
        if links:
            weight.linked += characters
        elif len(words) > 1 or code or characters > _LONG_WORD:
            weight.prose += characters
            weight.own += characters
