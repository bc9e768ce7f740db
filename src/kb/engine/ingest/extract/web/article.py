"""Finds the body of the article on a page that says, for search engines and shared links, that it
is one. Teasers and comments around it are whole sentences: only their position tells them from
it."""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from kb.engine.ingest.extract.web.kinds import addresses, is_forum, is_wiki, linked_data
from kb.engine.ingest.extract.web.names import is_around, is_named_around, is_post, is_remark, words
from kb.engine.ingest.extract.web.weights import Weight

_TYPES = frozenset({"article", "blog", "news", "newsarticle", "blogposting"})
_LINKED_DATA = re.compile(
    r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"(?:[A-Za-z]{0,30}Article|BlogPosting)"'
)
# `article` alone AsciiDoc says of each page.
_SAID_OF_BODIES = (
    {"type", "article"},
    {"template", "article"},
    {"single", "post"},
    {"blog", "post"},
)
_SAID_IN_ADDRESSES = frozenset(
    {"article", "articles", "blog", "blogs", "insights", "news", "post", "posts", "stories"}
)
_MONTH = re.compile(r"/(?:19|20)\d\d/[01]\d/")
_NAME_OF_ARTICLE = 8  # characters
_SENTENCE = 25  # characters; a paragraph has more
_BODY = 200  # characters
_SHARES = (1.0, 0.5, 0.25)  # of a paragraph that count for what it is in, and what that is in
_MOSTLY_LINKS = 0.5
_TEXTS = frozenset({"p", "div", "td", "section", "article", "main"})
_BESIDE = ("aside", "footer", "form", "figure", "blockquote")
_ENOUGH = 0.4  # of the prose that is not around it
_LONG = 1000  # characters; the beginning of an article has less
_PROSE_PER_LINK = 300  # characters; lists have less
_OF_LONGEST = 4  # times the beginning of another article
_MOST = 0.5  # of the paragraphs of a page that its article has


def article_body(tree: Any, body: Any, weights: dict[Any, Weight]) -> Any | None:
    """The element that holds the article; None where the page does not say that it is one."""
    if not (_is_article(tree) or _is_post(body) or _is_called_so(tree, body)):
        return None
    if is_forum(tree) or is_wiki(tree):  # they call all of their pages so
        return None
    marked = [e for e in weights if "articleBody" in (e.get("itemprop") or "").split()]
    if len(marked) == 1 and weights[marked[0]].prose > _BODY:
        return marked[0]
    parts = set(_parts_around(body, weights))
    paragraphs = _paragraphs(body, weights, parts)
    scores: dict[Any, float] = {}
    for paragraph, prose in paragraphs.items():
        holders = _and_above(paragraph) if paragraph.tag != "p" else paragraph.iterancestors()
        for above, share in zip(holders, _SHARES, strict=False):
            if above in weights:
                scores[above] = scores.get(above, 0.0) + share * prose
    best = max(scores, key=lambda element: scores[element], default=None)
    if best is None:
        return None
    elsewhere = sum(weights[part].prose for part in parts)
    least = max(_BODY, _ENOUGH * (weights[body].prose - elsewhere))
    return _widened(best, body, paragraphs, weights, least)


def _paragraphs(body: Any, weights: dict[Any, Weight], parts: set[Any]) -> dict[Any, int]:
    """How much prose each paragraph of the article has, or the parent of broken lines."""
    found = {}
    for element, weight in weights.items():
        prose = weight.prose if element.tag == "p" else weight.own
        if prose < _SENTENCE or element.tag not in _TEXTS or weight.link_share > _MOSTLY_LINKS:
            continue
        if element is not body and not any(above in parts for above in _and_above(element)):
            found[element] = prose
    return found


def _and_above(element: Any) -> Iterator[Any]:
    yield element
    yield from element.iterancestors()


def _widened(
    best: Any, body: Any, paragraphs: dict[Any, int], weights: dict[Any, Weight], least: float
) -> Any | None:
    """The element, or the first one around it that holds most of the page's paragraphs."""
    inside = dict.fromkeys([best, *best.iterancestors()], 0)
    for paragraph, prose in paragraphs.items():
        for above in _and_above(paragraph):
            if above in inside:
                inside[above] += prose
    for element, prose in inside.items():
        if element is body:
            break
        if prose >= _MOST * inside[body] and weights[element].prose >= least:
            return element
    return None


def _parts_around(body: Any, weights: dict[Any, Weight]) -> Iterator[Any]:
    """Footers, boxes, remarks of readers, and the beginnings of other articles."""
    others = set(_beginnings(body, weights))
    waiting = [body]
    while waiting:
        for child in waiting.pop():
            if child not in weights:
                continue
            is_part = child.tag in _BESIDE or is_around(child)
            is_part = is_part or is_remark(child) or is_named_around(child)
            if (is_part or child in others) and weights[child].prose <= _MOST * weights[body].prose:
                yield child
            else:
                waiting.append(child)


def _beginnings(body: Any, weights: dict[Any, Weight]) -> list[Any]:
    """Those of other articles beside a long one that is mostly text; what holds them is a list."""
    articles = [each for each in body.iter("article") if each in weights]
    longest = max(articles, key=lambda each: weights[each].prose, default=body)
    most = weights[longest].prose
    if most < max(_LONG, _PROSE_PER_LINK * weights[longest].links):
        return []
    found = [e for e in articles if weights[e].links and _OF_LONGEST * weights[e].prose < most]
    return [] if any(longest in each.iterancestors() for each in found) else found


def _is_post(body: Any) -> bool:
    """By its only article, if named a blog's entry: manuals have articles, and lists several."""
    articles = list(islice(body.iter("article"), 2))
    return len(articles) == 1 and is_post(articles[0])


def _is_called_so(tree: Any, body: Any) -> bool:
    """By the page's own address, or by the classes that its maker gives to all of it."""
    said = words(body)
    if any(each <= said for each in _SAID_OF_BODIES):
        return True
    return any(map(_is_address_of_article, addresses(tree)))


def _is_address_of_article(address: str) -> bool:
    """`/blog/how-we-moved`, `/news-and-views/a/how-we-moved/`, `/2019/11/how-we-moved.html`."""
    path = address.partition("?")[0].partition("//")[2].partition("/")[2]
    above, _, name = path.strip("/").rpartition("/")
    if len(name) < _NAME_OF_ARTICLE:
        return False
    said = above.lower().replace("-", "/").split("/")
    return not _SAID_IN_ADDRESSES.isdisjoint(said) or bool(_MONTH.search(f"/{above}/"))


def _is_article(tree: Any) -> bool:
    for element in tree.iter("meta"):
        name = (element.get("property") or element.get("name") or "").strip().lower()
        if name == "article:published_time":
            return True
        if name == "og:type" and (element.get("content") or "").strip().lower() in _TYPES:
            return True
    return any(_LINKED_DATA.search(script.text or "") for script in linked_data(tree))
