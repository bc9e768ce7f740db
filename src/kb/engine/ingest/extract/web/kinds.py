"""A page's tree in, of which kind the page is out: people talk there, or something is sold."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Any

from lxml import etree

_TALK = re.compile(r"DiscussionForumPosting|QAPage")
_FORUMS = re.compile(r"(?i)vBulletin|phpBB|XenForo|^XF$|Discourse|MyBB|Flarum|NodeBB|bbPress")
_THREADS = re.compile(r"/threads?/|/topic/|/t/\d+/|showthread\.php|viewtopic\.php")
_LONGEST_ADDRESS = 500  # characters
_PRODUCT = re.compile(r'"@type"\s{0,9}:\s{0,9}\[?\s{0,9}"Product(?:Group)?"')
_PRODUCT_ITEM = re.compile(r"schema\.org/Product$")
_TO_CART = re.compile(
    r"(?i)add[-_ ]?(?:item[-_ ]?)?to[-_ ]?(?:cart|basket|bag)|in den warenkorb|ajouter au panier"
)
_MAY_ADD = etree.XPath(
    "descendant::*[self::form or self::button or self::input][@class or @id or @name]"
)
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


def is_shop(tree: Any) -> bool:
    """Whether one thing is sold there: it says so, or has something that puts it into a cart."""
    for element in tree.iter("meta"):
        name = element.get("property") or element.get("name")
        if name == "og:type" and "product" in (element.get("content") or "").lower():
            return True
    if any(_PRODUCT.search(script.text or "") for script in linked_data(tree)):
        return True
    if any(map(_PRODUCT_ITEM.search, _WITH_KIND(tree))):
        return True
    if any(
        _TO_CART.search(f"{each.get('class')} {each.get('id')} {each.get('name')}")
        for each in _MAY_ADD(tree)
    ):
        return True
    return any(_TO_CART.match("".join(each.itertext()).strip()) for each in tree.iter("button"))


def is_wiki(tree: Any) -> bool:
    return any("MediaWiki" in (maker or "") for maker in _makers(tree))


def addresses(tree: Any) -> Iterator[str]:
    """Where the page says that it is."""
    links = (e.get("href") for e in tree.iter("link") if e.get("rel") == "canonical")
    shared = (e.get("content") for e in tree.iter("meta") if e.get("property") == "og:url")
    return ((address or "")[:_LONGEST_ADDRESS] for address in chain(links, shared))


def linked_data(tree: Any) -> Iterator[Any]:
    return (each for each in tree.iter("script") if each.get("type") == "application/ld+json")


def _makers(tree: Any) -> Iterator[str | None]:
    return (each.get("content") for each in tree.iter("meta") if each.get("name") == "generator")
