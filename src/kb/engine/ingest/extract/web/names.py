"""What an element's tag, role, class and id say about it."""

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_PARTS = re.compile(r"[^\W_]+")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SLUG = 4  # hyphens; an id with as many is a whole heading
_NONE: frozenset[str] = frozenset()
_LONGEST = 300  # characters of classes that are looked at
_ROLES_AROUND = frozenset(
    {"navigation", "banner", "contentinfo", "search", "menubar", "dialog", "alertdialog"}
)
# Beside the content these are said of what is around it; within it, of too much else.
_AROUND = """
    ad ads advert advertisement advertising aside banner bottombar login mainmenu masthead menu
    menubar newsletter promo recommendations recommended related share sharing signin signup social
    sponsor sponsored submenu subscribe subscription toc toolbar topbar topmenu
"""
# Within an article these are said of what leads away from it, or asks for something.
_LEADING_AWAY = """
    addthis advert advertisement breadcrumb breadcrumbs comment commentlist comments cta disclaimer
    disclosure disqus donate donation newsletter newsletters outbrain popular promo promos promoted
    readmore recirc recirculation recommendations recommended related replies respond share
    sharedaddy shares sharethis sharing signup social sponsor sponsored subscribe subscription
    taboola taglist tags teaser teasers testimonial testimonials toc toolbar trending yarpp
"""
_AUTHORS = frozenset({"author", "authors", "contributor"})
_BOXES = frozenset(
    {"about", "bio", "block", "box", "card", "description", "details", "info", "profile", "section"}
)
_UNSHOWN = re.compile(r"(?!xs|sm|md|lg|xl)(?:[a-z]{1,3}-?)?[Hh]id(?:e|den)|d-none")
_SHOWN_ON_SOME = re.compile(r".*:|d-(?!none$|flex$|print-)|visible")
# On pages of forums and shops these are said of what is neither a post nor the thing sold.
_OFFERS = """
    copyright crosssell login minicart newsletter recommendations recommended recs related share
    sharing signin signup similar social sponsored suggest suggested upsell upsells wishlist
"""
# In a shop these are said of what is around the thing that is sold; in a forum, of parts of posts.
_OF_SHOPS = frozenset({"footer", "filter", "filters", "megamenu", "sidemenu", "toast"})
_FOR_SCREEN_READERS = frozenset(
    {"visuallyhidden", "sronly", "clipped", "screenreadertext", "ipsinvisible", "vvisiblesr"}
)
_SITE_FOOTERS = frozenset({"site-footer", "page-footer", "main-footer", "global-footer"})
_FOOTERS = _SITE_FOOTERS | {"footer"}
_HEADERS = frozenset({"header", "site-header", "page-header", "main-header", "global-header"})
_DIALOGS = frozenset({"modal", "modals", "offcanvas", "popover", "popup"})
_SHOWN_LATER = _DIALOGS | {"drawer", "flyout", "slideout"}
_OVER_ALL = frozenset({"fixed", "inset-0"})
_OF_TALK = frozenset(
    {"announcement", "announcements", "jump", "menu", "notice", "notices", "quickreply", "sidebar"}
)
_PAIRS_OF_OFFERS = (
    ("recently", "viewed"),
    ("cross", "sell"),
    ("also", "like"),
    ("guest", "teaser"),
    ("quick", "reply"),
    ("mini", "cart"),
    ("video", "js"),
)
_OFFER_PAIRS = tuple(map(frozenset, _PAIRS_OF_OFFERS))
_PAIRS = tuple(map(frozenset, (("read", "more"), ("most", "read"), ("next", "prev"))))
# These are said of nothing but help for finding one's way.
_ANYWHERE = """
    breadcrumb breadcrumbs consent cookie cookies gdpr lineno linenos nav navbar navfooter navheader
    navigation navpath pager pagination popupbody sidebar skip skiplink subnav
"""
# So are these, if what is called so is mostly links; else they are said of too much.
_OF_LINKS = "buttons icons jump noprint portlet printfooter"
_CONTENTS = frozenset({"table", "contents"})
_SIDES = frozenset({"left", "right"})
_COLUMNS = frozenset({"col", "column", "rail", "pane", "bar"})
_MAIN = frozenset({"main", "content", "maincontent", "bodycontent", "mwcontenttext"})
_POSTS = frozenset({"hentry", "h-entry", "post", "type-post", "blog-post", "single-post"})
_TITLES = frozenset({"title", "headertitle", "headline", "pagetitle"})
_NAMES_AROUND = frozenset(_AROUND.split()) | frozenset(_ANYWHERE.split())
_NAMES_ANYWHERE = frozenset(_ANYWHERE.split()) | frozenset(_OF_LINKS.split())
_NAMES_LEADING_AWAY = frozenset(_LEADING_AWAY.split())
_NAMES_OF_OFFERS = frozenset(_OFFERS.split())


def words(element: Any) -> frozenset[str]:
    """The words of an element's classes and id: `topNav` and `top-nav` are `top` and `nav`. With
    digits in it, a program has made it."""
    called, name = element.get("class"), element.get("id")
    return _words_in(called or "", name or "") if called or name else _NONE


@lru_cache(4_000)  # a page says the same of many elements
def _words_in(called: str, name: str) -> frozenset[str]:
    said = f"{called} {name if name.count('-') < _SLUG else ''}"[:_LONGEST]
    parts = (part for part in _PARTS.findall(said) if part.isalpha())
    return frozenset(word.lower() for part in parts for word in (part, *_WORDS.findall(part)))


def _named(said: Iterable[str]) -> Callable[[Any], bool]:
    """Whether an element is called by one of these words."""
    wanted = frozenset(said)
    return lambda element: not wanted.isdisjoint(words(element))


is_named_around = _named(_NAMES_AROUND)
is_named_below = _named(["footer"])
is_named_filter = _named(["filter", "filters"])
is_named_dialog = _named(_DIALOGS)
is_named_button = _named(["btn", "button", "cta"])
is_named_action = _named(
    {"addtocart", "basket", "cart", "close", "compare", "favorite", "follow", "login", "report"}
    | {"share", "signup", "subscribe", "wishlist"}
)
is_named_pager = _named(["pagenav", "pager", "pagination"])
# As DocBook calls what it puts above and below each page, with the titles of the others.
is_named_frame = _named(["navfooter", "navheader"])
is_about_cookies = _named(["consent", "cookie", "cookies", "gdpr"])
is_other_talk = _named(["related", "similar", "suggested"])  # below the posts of a forum
# Comments of readers below an article.
is_remark = _named(["comment", "comments", "commentlist", "disqus", "respond", "replies"])


def leads_away(element: Any) -> bool:
    said = words(element)
    return not _NAMES_LEADING_AWAY.isdisjoint(said) or any(pair <= said for pair in _PAIRS)


def is_named_side(element: Any) -> bool:
    said = words(element)
    return "sidebar" in said or "side" in (element.get("class") or "").split()


def is_named_header(element: Any) -> bool:
    """By exactly that name: a category may have one, too."""
    called = (element.tag, element.get("id"), *(element.get("class") or "").split())
    return not _HEADERS.isdisjoint(called)


def is_named_offer(element: Any, *, is_talk: bool) -> bool:
    said = words(element)
    if not _NAMES_OF_OFFERS.isdisjoint(said):
        return True
    if not (_OF_TALK if is_talk else _OF_SHOPS).isdisjoint(said):
        return True
    return any(pair <= said for pair in _OFFER_PAIRS)


def is_for_screen_readers(element: Any) -> bool:
    """`Opens in a new window`, `Image 3 of 7`: what others see for themselves."""
    classes = (element.get("class") or "").lower()
    return any(
        each.replace("-", "").replace("_", "") in _FOR_SCREEN_READERS for each in classes.split()
    )


def is_shown_later(element: Any) -> bool:
    """When something is clicked: over everything else."""
    if not _SHOWN_LATER.isdisjoint(words(element)):
        return True
    return set((element.get("class") or "").split()) >= _OVER_ALL


def is_about_author(element: Any) -> bool:
    """`author-box`; `author` alone may be said of what that person has written."""
    said = words(element)
    return not _AUTHORS.isdisjoint(said) and not _BOXES.isdisjoint(said)


def is_unshown(element: Any) -> bool:
    """By a class that hides it on screens of every width: `hidden`, but not `hidden md:block`."""
    classes = (element.get("class") or "").split()
    if not any(map(_UNSHOWN.fullmatch, classes)):
        return False
    return not any(map(_SHOWN_ON_SOME.match, classes))


def is_named_help(element: Any) -> bool:
    if element.get("role") == "note":  # Wikipedia names those after what they do not help with
        return False
    said = words(element)
    is_side = not _SIDES.isdisjoint(said) and not _COLUMNS.isdisjoint(said)
    return is_side or not _NAMES_ANYWHERE.isdisjoint(said)


def is_named_contents(element: Any) -> bool:
    said = words(element)
    return "toc" in said or "tableofcontents" in said or said >= _CONTENTS


def is_named_footer(element: Any) -> bool:
    """By exactly that name: a card or a dialog may have a footer, too."""
    return not _FOOTERS.isdisjoint((element.get("id"), *(element.get("class") or "").split()))


def is_named_site_footer(element: Any) -> bool:
    """By a name that only the footer of all has, though it be within the main part."""
    called = (element.get("id"), *(element.get("class") or "").split())
    return not _SITE_FOOTERS.isdisjoint(called)


def is_named_title(element: Any) -> bool:
    said = words(element)
    return not _TITLES.isdisjoint(said) and _NAMES_AROUND.isdisjoint(said)


def is_post(element: Any) -> bool:
    """An entry of a blog, by the names that their makers agree on."""
    return not _POSTS.isdisjoint((element.get("class") or "").split())


def is_main(element: Any) -> bool:
    return "main" in (element.tag, element.get("role"))


def is_named_main(element: Any) -> bool:
    return (element.get("id") or "").lower().replace("-", "") in _MAIN


def is_around(element: Any) -> bool:
    """By tag or role: menus, banners, the site's footer, questions about cookies."""
    role = (element.get("role") or "").strip().lower()
    return element.tag == "nav" or role in _ROLES_AROUND


def has_heading(element: Any) -> bool:
    return element.tag in HEADINGS or next(element.iter(*HEADINGS), None) is not None
