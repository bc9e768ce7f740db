"""A page's tree in, the body of its article out, if the page says that it is one.

News and blogs say so, for search engines and for links that people share. Around an article stand
the beginnings of others, remarks of readers and much else in whole sentences, which only its place
tells from the article.
"""

import re
from collections.abc import Iterator
from typing import Any

from kb.engine.ingest.extract.web.names import is_around, is_named_around, is_remark
from kb.engine.ingest.extract.web.weights import Weight

_TYPES = frozenset({"article", "blog", "news", "newsarticle", "blogposting"})
_LINKED_DATA = re.compile(
    r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"(?:[A-Za-z]{0,30}Article|BlogPosting)"'
)
_SENTENCE = 25  # characters; a paragraph has more
_BODY = 200  # characters
_SHARES = (1.0, 0.5, 0.25)  # of a paragraph that count for what it is in, and what that is in
_MOSTLY_LINKS = 0.5
_BESIDE = ("aside", "footer", "form", "figure", "blockquote")
_ENOUGH = 0.6  # of the prose that is not around it
_MOST = 0.5  # of the paragraphs of a page that its article has


def article_body(tree: Any, body: Any, weights: dict[Any, Weight]) -> Any | None:
    """The element that holds the article; None where the page does not say that it is one."""
    if not _is_article(tree):
        return None
    marked = [e for e in weights if "articleBody" in (e.get("itemprop") or "").split()]
    if len(marked) == 1 and weights[marked[0]].prose > _BODY:
        return marked[0]
    parts = set(_parts_around(body, weights))
    paragraphs = [each for each in body.iter("p") if _is_prose(each, weights, parts)]
    scores: dict[Any, float] = {}
    for paragraph in paragraphs:
        for above, share in zip(paragraph.iterancestors(), _SHARES, strict=False):
            if above in weights:
                scores[above] = scores.get(above, 0.0) + share * weights[paragraph].prose
    best = max(scores, key=lambda element: scores[element], default=None)
    if best is None:
        return None
    elsewhere = sum(weights[part].prose for part in parts)
    least = max(_BODY, _ENOUGH * (weights[body].prose - elsewhere))
    return _widened(best, body, paragraphs, weights, least)


def _is_prose(paragraph: Any, weights: dict[Any, Weight], parts: set[Any]) -> bool:
    """Whether it is a paragraph of the article, and none of a box beside it or of a remark."""
    weight = weights.get(paragraph, Weight())
    if weight.prose < _SENTENCE or weight.link_share > _MOSTLY_LINKS:
        return False
    return not any(above in parts for above in paragraph.iterancestors())


def _widened(
    best: Any, body: Any, paragraphs: list[Any], weights: dict[Any, Weight], least: float
) -> Any | None:
    """The element, or the first one around it that holds most of the page's paragraphs."""
    inside = dict.fromkeys([best, *best.iterancestors()], 0)
    for paragraph in paragraphs:
        for above in paragraph.iterancestors():
            if above in inside:
                inside[above] += weights[paragraph].prose
    for element, prose in inside.items():
        if element is body:
            break
        if prose >= _MOST * inside[body] and weights[element].prose >= least:
            return element
    return None


def _parts_around(body: Any, weights: dict[Any, Weight]) -> Iterator[Any]:
    """Footers, boxes and remarks of readers, which no article can be expected to hold."""
    waiting = [body]
    while waiting:
        for child in waiting.pop():
            if child not in weights:
                continue
            is_part = child.tag in _BESIDE or is_around(child)
            is_part = is_part or is_remark(child) or is_named_around(child)
            if is_part and weights[child].prose <= _MOST * weights[body].prose:
                yield child
            else:
                waiting.append(child)


def _is_article(tree: Any) -> bool:
    for element in tree.iter("meta"):
        name = (element.get("property") or element.get("name") or "").strip().lower()
        if name == "article:published_time":
            return True
        if name == "og:type" and (element.get("content") or "").strip().lower() in _TYPES:
            return True
    return any(
        script.get("type") == "application/ld+json" and _LINKED_DATA.search(script.text or "")
        for script in tree.iter("script")
    )
