"""Tells whether a page is a forum, where people talk, or a shop."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from lxml import etree

_TALK = re.compile(r"DiscussionForumPosting|QAPage")
_FORUMS = re.compile(r"(?i)vBulletin|phpBB|XenForo|^XF$|Discourse|MyBB|Flarum|NodeBB|bbPress")
_THREADS = re.compile(
    r"//(?:forums?|boards?|discuss)\.[^/]+/.|/threads?[/-]|/topic/|/t/\d+/|/forums?/[^/]+/."
    r"|showthread\.php|viewtopic\.php|[?;&]topic=\d|/comments/\w+/|/discussions?/(?:[a-z]+/)?\d"
)
_LONGEST_ADDRESS = 500  # characters
_PRODUCT = re.compile(r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"Product(?:Group)?"')
_PRODUCT_ITEM = re.compile(r"schema\.org/Product$")
_TYPES = frozenset({"product", "product.item", "og:product"})
_LONGEST_PRICE = 30  # characters
_PRICE = re.compile(
    r"[$€£¥₹₽]\s?\d|\d\s?(?:€|£|zł|Kč|kr\b|₽|лв|грн|(?:USD|EUR|GBP|CHF)\b)|(?:USD|EUR|GBP|CHF)\s?\d"
)
_RANGE = re.compile(r"\d\W{0,3}[-–—]\W{0,3}\d")
_OF_ONE_THING = re.compile(
    r"/(?:products?|items?|itm|pdp|dp|produkte?|produits?|productos?)/[^/?#]"
)
_TO_CART = re.compile(
    r"(?i)add[-_ ]?(?:item[-_ ]?)?to[-_ ]?(?:cart|basket|bag)|in den warenkorb|ajouter au panier"
)
_MAY_ADD = etree.XPath(
    "descendant::*[self::form or self::button or self::input][@class or @id or @name]"
)
_SAID_OF_PRODUCTS = etree.XPath("body/@class | body/*/@class | body/*/*/@class | .//main/@class")
_OF_PRODUCTS = """
    catalog-product-view product-detail product-details product-page product-view productpage
    single-product template-product
"""
_PAGES_OF_ONE = frozenset(_OF_PRODUCTS.split())
_WITH_KIND = etree.XPath("descendant-or-self::*/@itemtype")


def is_forum(tree: Any) -> bool:
    """Whether people talk there, by what its maker or the page for search engines says, or by the
    page's own address."""
    whole = list(tree.iter("html", "body"))
    named = (each.get(name) for each in whole for name in ("id", "class"))
    if any(_FORUMS.search(maker or "") for maker in chain(_makers(tree), named)):
        return True
    data = (script.text for script in linked_data(tree))
    if any(_TALK.search(said or "") for said in chain(_WITH_KIND(tree), data)):
        return True
    return any(map(_THREADS.search, addresses(tree)))


def sells_one_thing(tree: Any) -> bool:
    """By what it says of itself when it is shared, or by its address; not a whole shelf of them."""
    for element in tree.iter("meta"):
        name = element.get("property") or element.get("name") or ""
        if name == "og:type" and (element.get("content") or "").strip().lower() in _TYPES:
            return True
        if name.startswith("product:price"):
            return True
    is_called_so = any(map(_OF_ONE_THING.search, addresses(tree))) or any(
        not _PAGES_OF_ONE.isdisjoint(said.lower().split()) for said in _SAID_OF_PRODUCTS(tree)
    )
    return is_called_so and has_price(tree)


def names_one_thing(tree: Any) -> bool:
    """To search engines, which an article about it may do, too."""
    return sum(len(_PRODUCT.findall(script.text or "")) for script in linked_data(tree)) == 1


def has_price(element: Any) -> bool:
    return any(map(is_price, element.itertext()))


def is_price(text: str | None) -> bool:
    """Not from one to another, which is a choice."""
    if not text or len(text) > _LONGEST_PRICE or not _PRICE.search(text):
        return False
    return not _RANGE.search(text)


def is_shop(tree: Any) -> bool:
    """Whether something is sold there: it says so, or has what puts a thing into a cart."""
    if sells_one_thing(tree) or any(_PRODUCT.search(e.text or "") for e in linked_data(tree)):
        return True
    if any(map(_PRODUCT_ITEM.search, _WITH_KIND(tree))):
        return True
    if any(
        _TO_CART.search(f"{each.get('class')} {each.get('id')} {each.get('name')}")
        for each in _MAY_ADD(tree)
    ):
        return True
    return any(_TO_CART.match("".join(each.itertext()).strip()) for each in tree.iter("button"))


def other_threads(element: Any, own: frozenset[str]) -> Iterator[Any]:
    """The links that lead to threads, and neither to this one nor to a post in it."""
    for link in element.iter("a"):
        place = (link.get("href") or "")[:_LONGEST_ADDRESS]
        is_thread = "#" not in place and _THREADS.search(place) is not None
        if is_thread and not any(each in place for each in own):
            yield link


def own_paths(tree: Any) -> frozenset[str]:
    """`/threads/how-we-moved.12` of where the page says that it is."""
    paths = (
        place.partition("//")[2].partition("/")[2].partition("?")[0] for place in addresses(tree)
    )
    return frozenset(path.strip("/") for path in paths if path)


def is_wiki(tree: Any) -> bool:
    return any("MediaWiki" in (maker or "") for maker in _makers(tree))


def addresses(tree: Any) -> Iterator[str]:
    """The addresses that the page states for itself."""
    links = (e.get("href") for e in tree.iter("link") if e.get("rel") == "canonical")
    shared = (e.get("content") for e in tree.iter("meta") if e.get("property") == "og:url")
    return ((address or "")[:_LONGEST_ADDRESS] for address in chain(links, shared))


def linked_data(tree: Any) -> Iterator[Any]:
    return (each for each in tree.iter("script") if each.get("type") == "application/ld+json")


def _makers(tree: Any) -> Iterator[str | None]:
    return (each.get("content") for each in tree.iter("meta") if each.get("name") == "generator")
