"""Decides what inside an article is not part of it: links to other articles, share buttons, and
boxes that ask for an address. They are recognised by their names, or by being nothing but links."""

from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from kb.engine.ingest.extract.web import names
from kb.engine.ingest.extract.web.names import HEADINGS
from kb.engine.ingest.extract.web.weights import Weight

_ONLY_LINKS = 0.8
_MOSTLY_LINKS = 0.5
_LABEL = 25  # characters before a link: "Read more:"
_HEADLINE = 15  # characters of a link that is one
_BIO = 100  # characters; less is a name and a date
_LONG = 800  # characters
_PROSE_PER_LINK = 300  # characters; teasers have less
_SAID_OF_IT = 40  # characters of a sentence that says what is in the list behind it
_LISTS = ("ul", "ol")
_OF_LINKS = ("p", "div", "section", "aside", *_LISTS)


def is_technical(element: Any) -> bool:
    """Code and definitions are in no teaser; those of a header or footer are about the writer."""
    return any(not _is_in_frame(each, element) for each in element.iter("pre", "dl"))


def _is_in_frame(listed: Any, element: Any) -> bool:
    around = takewhile(lambda above: above is not element, listed.iterancestors())
    return listed.tag == "dl" and any(above.tag in ("header", "footer") for above in around)


def asks_who_you_are(form: Any) -> bool:
    """Whether one logs in there, or has letters sent."""
    return any(field.get("type") in ("email", "password") for field in form.iter("input"))


def is_for_readers(element: Any) -> bool:
    """What they have written, or are to fill in; however much it is, the article is another."""
    return element.tag == "form" or names.is_remark(element)


def is_never_part(element: Any) -> bool:
    """Nor are menus, though they be half of it."""
    return is_for_readers(element) or names.is_around(element)


def other_posts(article: Any, weights: dict[Any, Weight]) -> list[Any]:
    """Posts of a blog within one, which has articles but no posts in it: all but the longest."""
    above = (each for each in (article, *article.iterancestors()) if each.tag == "article")
    if not any(map(names.is_post, above)):
        return []
    inside = (each for each in article.iterdescendants("article") if names.is_post(each))
    posts = [each for each in inside if each in weights]
    left = weights[article].prose - sum(weights[each].prose for each in posts)
    return posts if left > max((weights[each].prose for each in posts), default=0) else []


def is_no_part(element: Any, weight: Weight, *, is_news: bool) -> bool:
    """`is_news` if the article is not a manual: in manuals, links to read on are wanted."""
    if element.tag in HEADINGS or is_technical(element):
        return False
    if names.leads_away(element):
        return True
    if not is_news:
        return False
    if (
        names.is_unshown(element)
        or names.is_named_dialog(element)
        or (weight.prose > _BIO and names.is_about_author(element))
    ):
        return True
    if not weight.links:
        return False
    return element.tag in ("aside", "footer", "article") or _only_leads_on(element, weight)


def _only_leads_on(element: Any, weight: Weight) -> bool:
    if element.tag not in _OF_LINKS or weight.linked < _HEADLINE * min(weight.links, 2):
        return False
    is_link = weight.link_share >= _ONLY_LINKS
    if not is_link and (weight.link_share < _MOSTLY_LINKS or weight.prose > _LABEL):
        return False
    return not _is_announced(element)


def _is_announced(element: Any) -> bool:
    """Whether the sentence before it announces it and ends with a colon."""
    before = element.getprevious()
    if before is None or before.tag != "p":
        return False
    said = " ".join("".join(before.itertext()).split())
    return len(said) >= _SAID_OF_IT and said.endswith((":", "："))


def goes_on(element: Any, weight: Weight, *, is_like: bool) -> bool:
    """Whether what follows an article is more of it, and not teasers or comments. With `is_like` it
    is named exactly like the article, and a little text is enough."""
    if is_technical(element):
        return not any(names.is_remark(each) for each in element.iter("*"))
    if names.is_named_around(element) or weight.prose < _PROSE_PER_LINK * weight.links:
        return False
    if weight.prose < (_BIO if is_like else _LONG):
        return False
    return not any(names.leads_away(each) for each in element.iter("*"))


def lone_headings(gone: list[Any], weights: dict[Any, Weight]) -> Iterator[Any]:
    """The headings of removed parts: another heading follows, or nothing."""
    left_out = set(gone)
    for parent in dict.fromkeys(element.getparent() for element in gone):
        heading, is_left = None, True
        for child in parent:
            if child in left_out:
                is_left = False
            elif weights.get(child, Weight()).text:
                if heading is not None and not is_left and child.tag in HEADINGS:
                    yield heading
                heading, is_left = (child if child.tag in HEADINGS[1:] else None), True
        if heading is not None and not is_left:
            yield heading
