"""Removes what is surely not content: hidden elements, menus, banners, footers, questions about
cookies, and lists of links outside the part that has nearly all of the text. If almost nothing
would be left, the page consists of its links, and everything stays."""

from itertools import islice, takewhile
from typing import Any

from kb.engine.ingest.extract.web import names, pictures, unseen
from kb.engine.ingest.extract.web.actions import actions, links_that_ask
from kb.engine.ingest.extract.web.article import article_body
from kb.engine.ingest.extract.web.contents import own_contents
from kb.engine.ingest.extract.web.controls import controls
from kb.engine.ingest.extract.web.extras import (
    asks_who_you_are,
    goes_on,
    is_for_readers,
    is_never_part,
    is_no_part,
    is_technical,
    lone_headings,
    other_posts,
)
from kb.engine.ingest.extract.web.kinds import is_forum, is_shop, names_one_thing, sells_one_thing
from kb.engine.ingest.extract.web.main_part import marked_main, part_of_most_prose
from kb.engine.ingest.extract.web.names import HEADINGS, is_named_frame
from kb.engine.ingest.extract.web.offers import has_price_above, is_end, is_offer, rows_of_others
from kb.engine.ingest.extract.web.pagers import is_pager, is_trail, leads_to_languages
from kb.engine.ingest.extract.web.people import about_writers, pictures_of_writers
from kb.engine.ingest.extract.web.weights import Weight, text_of, weigh

_LEAST_SHARE = 0.05  # of the page's text that is left at least
_ENOUGH_PROSE = 1000  # characters that are left; then they are the page
_MOSTLY_LINKS = 0.5
_HALF = 0.5
_LITTLE_PROSE = 0.25  # of the page; what holds more is not around it, whatever it is called
_LITTLE_TEXT = 1000  # characters
_MOST_EXTRAS = 0.3  # of an article's text
_MOST_OTHERS = 0.5  # of the main part of a page that says that it sells one thing
_SHORT = 100  # characters
_FIELDS = 150  # characters that name the fields of a form
_SHORT_BOX = 150  # characters
_PROSE_PER_LINK = 150  # characters; teasers have less
_HEADLINE = 20  # characters of a link that is one
_FEW = 3  # links
_MENU = 8  # links
_FRAME = 1200  # characters above or below the main part; more may be about the thing that is sold
_NEAR = 4  # elements around an article in which it may go on
_LONGEST_TITLE = 300  # characters
_LONGEST_BAR = 600  # characters of links in a row above everything else
_MOST_COMPARED = 1_000_000  # characters
_OF_TABLES = ("tr", "th", "td")
_WITHIN_CONTENT = ("article", "main", "section", "blockquote", "li", "td", "figure", "details")


def removed(tree: Any) -> None:
    """Empty what is around the content. Changes the tree."""
    body = tree.find("body")
    body = tree if body is None else body
    _empty(list(unseen.permalinks(body)))
    _empty(unseen.labels(body))
    _empty(list(unseen.names_of_icons(body)))
    _empty(list(unseen.skips(body)))
    _empty(list(unseen.doubled_image_texts(body)))
    weights = _without_hidden(body)
    is_one = sells_one_thing(tree)
    article = None if is_one else article_body(tree, body, weights)
    is_talk = article is None and is_forum(tree)
    is_sold = article is None and not is_talk and (is_one or is_shop(tree))
    if is_talk or is_sold:
        _empty(list(unseen.unshown(body, weights)))
        _empty(
            [*controls(body, weights, is_talk=is_talk), *actions(body, weights, is_talk=is_talk)]
        )
    if article is not None and not is_technical(article):
        _empty(list(links_that_ask(weights)))
    if is_talk:
        _empty([*about_writers(weights), *pictures_of_writers(body)])
    around = _Around(body, weights, article, is_talk=is_talk, is_sold=is_sold)
    if is_talk or is_one or (is_sold and names_one_thing(tree)):
        around.leave_out_others()
    found = around.found()
    is_known = article is not None or around.is_main_headed()
    if is_known or _is_enough_left(weights[body], [weights[e] for e in found]):
        _empty(found)
    if is_talk or is_sold:
        _empty(list(pictures.said_before(body, weights, is_talk=is_talk)))


def _without_hidden(body: Any) -> dict[Any, Weight]:
    """Empty hidden elements, unless they are most of the page: a script would show those in the
    end."""
    hidden = set(unseen.hidden(body))
    weights = weigh(body, hidden)
    if hidden and weights[body].prose < _LITTLE_TEXT:
        everything = weigh(body)
        if weights[body].prose < _HALF * everything[body].prose:
            return everything
    _empty(list(hidden))
    return weights


def _is_enough_left(whole: Weight, around: list[Weight]) -> bool:
    text = whole.text - sum(weight.text for weight in around)
    prose = whole.prose - sum(weight.prose for weight in around)
    if prose >= _ENOUGH_PROSE:
        return True
    return text >= _LEAST_SHARE * whole.text or prose > _HALF * whole.prose


def _empty(elements: list[Any]) -> None:
    """The elements stay as empty ones, so that what stood before them and after stays apart."""
    for element in elements:
        element.clear(keep_tail=True)


class _Doubles:
    """Recognises text that is repeated word for word, for screens of another width."""

    def __init__(self) -> None:
        self._first: dict[tuple[int, int, int], Any] = {}
        self._left = _MOST_COMPARED

    def is_said_before(self, element: Any, weight: Weight) -> bool:
        if weight.prose < _SHORT:
            return False
        before = self._first.setdefault((weight.text, weight.linked, weight.prose), element)
        if before is element or before in element.iterancestors():
            return False
        self._left -= weight.text
        return self._left > 0 and _letters(before) == _letters(element)


class _Around:
    """Finds the outermost elements that are around the content of a body."""

    def __init__(
        self,
        body: Any,
        weights: dict[Any, Weight],
        article: Any | None,
        *,
        is_talk: bool,
        is_sold: bool,
    ) -> None:
        self._body = body
        self._is_talk, self._is_sold = is_talk, is_sold
        self._is_forum_or_shop = is_talk or is_sold
        self._sells_one = False
        self._weights = weights
        self._prose = weights[body].prose
        self._article = article
        marked = marked_main(body, weights)
        self._is_marked = marked is not None
        chosen = marked if article is None else article
        self._main = part_of_most_prose(body, weights) if chosen is None else chosen
        self._path = {self._main, *self._main.iterancestors()}
        self._near = set(islice(self._main.iterancestors(), _NEAR))
        self._is_news = article is not None and not is_technical(article)
        self._doubles = _Doubles()
        self._titles = sum(1 for _ in body.iter("h1"))
        self._posts = other_posts(article, weights) if self._is_news else []
        self._sure = {*own_contents(body, weights), *self._bars(), *self._posts}
        self._kept = {*self._path, *self._title()}
        self._above = self._title_of_article()

    def is_main_headed(self) -> bool:
        """Whether the page calls a part its main one, which has a heading and something to say:
        a short page of a manual may have the contents of all of it beside that."""
        if not self._is_marked or not names.has_heading(self._main):
            return False
        return self._weights[self._main].prose > _SHORT

    def leave_out_others(self) -> None:
        """On a page about one thing: rows of others. If they are much of it, it is a shelf and
        about them, unless a price stands above them: that of the thing itself."""
        self._sells_one = self._is_sold
        rows = set(rows_of_others(self._body, self._weights, is_talk=self._is_talk))
        text = sum(self._weights[row].text for row in rows)
        share = text / max(self._weights[self._main].text, 1)
        is_below = _LITTLE_PROSE < share <= _MOST_OTHERS and has_price_above(self._main, rows)
        if share <= _LITTLE_PROSE or is_below:
            self._sure |= rows

    def found(self) -> list[Any]:
        found: list[Any] = []
        named: list[Any] = []
        others: list[Any] = []
        waiting = [(self._body, False)]
        while waiting:
            element, is_inside = waiting.pop()
            is_inside = is_inside or element is self._main
            is_behind = False
            is_before = not is_inside and element in self._above and element.tag != "h1"
            for child in element:
                is_before = is_before and child not in self._above
                weight = self._weights.get(child)
                if child in self._kept:
                    is_behind = is_behind or (self._article is not None and child in self._path)
                    waiting.append((child, is_inside))
                elif weight is None:
                    if (is_behind or is_before) and len(_letters(child)) < _LITTLE_TEXT:
                        found.append(child)
                    elif len(child):
                        waiting.append((child, is_inside))
                elif (is_behind and not self._goes_on(child, weight)) or (
                    is_before and self._is_little(weight) and not is_technical(child)
                ):
                    found.append(child)
                elif self._is_around(child, weight, is_inside):
                    is_sure = is_never_part(child) or child in self._posts
                    if not (is_inside and self._is_news) or is_sure:
                        found.append(child)
                    else:
                        (named if names.leads_away(child) else others).append(child)
                elif (self._is_news or self._is_sold) and self._doubles.is_said_before(
                    child, weight
                ):
                    found.append(child)
                else:
                    waiting.append((child, is_inside))
        extras = [*self._unless_most(named), *self._unless_most(others)]
        left_out = found if self._is_forum_or_shop else extras
        return [*found, *extras, *lone_headings(left_out, self._weights)]

    def _unless_most(self, extras: list[Any]) -> list[Any]:
        """More of an article is no box between its paragraphs: it is what the article is about."""
        text = sum(self._weights[each].text for each in extras)
        most = max(_MOST_EXTRAS * self._weights[self._main].text, _LITTLE_TEXT)
        return extras if text <= most else []

    def _goes_on(self, element: Any, weight: Weight) -> bool:
        """Whether what follows the article is more of it: near it, or just like it."""
        parent = element.getparent()
        if parent not in self._near:
            return False
        before = next(child for child in parent if child in self._path)
        is_like = (element.tag, element.get("class")) == (before.tag, before.get("class"))
        return goes_on(element, weight, is_like=is_like)

    def _is_little(self, weight: Weight) -> bool:
        return weight.prose <= max(_LITTLE_PROSE * self._prose, _SHORT)

    def _is_small(self, weight: Weight) -> bool:
        return weight.text <= _LITTLE_PROSE * self._weights[self._body].text

    def _title_of_article(self) -> set[Any]:
        """The title of an article, if it stands above it, and what that is in: what comes before
        is the top of the site."""
        if self._article is None:
            return set()
        for title in self._body.iter("h1", self._article.tag):
            if title is self._article:
                return self._path if next(title.iter("h1"), None) is not None else set()
            if title.tag == "h1" and (self._titles == 1 or _is_named_after(title)):
                return {title, *title.iterancestors()}
        return set()

    def _title(self) -> list[Any]:
        """Where no heading says what the page is called: the block that does, and those around."""
        if self._titles:
            return []
        called = (e for e in self._weights if names.is_named_title(e) and self._weights[e].text)
        first = next((e for e in called if not any(map(names.is_around, e.iterancestors()))), None)
        if first is not None and self._weights[first].text < _LONGEST_TITLE:
            return [first, *first.iterancestors()]
        named = self._body.getroottree().find("head/title")
        title = _letters(named) if named is not None else ""
        best, most = None, len(title) // 2
        for element, weight in self._weights.items() if 0 < len(title) < _LONGEST_TITLE else ():
            if most < weight.text <= len(title) and not weight.links:
                letters = _letters(element)
                is_said = len(letters) > most and letters in title
                if is_said and not any(map(is_named_frame, element.iterancestors())):
                    best, most = element, len(letters)
        return [] if best is None else [best, *best.iterancestors()]

    def _bars(self) -> set[Any]:
        """Rows of links above everything else in the main part, and the same ones below it."""
        found: dict[str, Any] = {}
        blocks = [child for child in self._main if self._weights.get(child, Weight()).text]
        for block in blocks:
            weight = self._weights[block]
            is_bar = weight.links >= _FEW and weight.link_share >= _MOSTLY_LINKS
            if not is_bar or weight.text > _LONGEST_BAR or names.has_heading(block):
                break
            if all("#" in (link.get("href") or "#") for link in block.iter("a")):  # of this page
                break
            found[_letters(block)] = block
        below = {block for block in blocks[-_FEW:] if _letters(block) in found}
        return {*found.values(), *below}

    def _is_around(self, element: Any, weight: Weight, is_inside: bool) -> bool:
        if element in self._sure:
            return True
        is_part = element.tag in ("header", "footer") and _is_of_the_site(element)
        if names.is_around(element) or (is_part and element.tag == "footer"):
            if self._is_marked and not is_inside:
                return True
            return weight.prose <= _HALF * self._prose or weight.link_share >= _MOSTLY_LINKS
        if self._article is not None and is_for_readers(element):
            return names.is_remark(element) or weight.prose <= _HALF * self._prose
        if weight.links > 0 and weight.text <= _LONGEST_BAR and is_named_frame(element):
            return not self._has_only_title(element)
        is_little = self._is_little(weight)
        if is_part and (is_little or weight.link_share >= _MOSTLY_LINKS):
            return not self._has_only_title(element)
        if not is_little:
            return False
        if names.is_named_footer(element) and _is_of_the_site(element):
            return True
        if names.is_named_site_footer(element):
            return True
        if is_pager(element, weight) or leads_to_languages(element, weight):
            return True
        if element.tag == "form" and self._is_form_around(element, weight):
            return True
        if self._is_forum_or_shop and not is_inside and self._is_of_the_frame(element, weight):
            return True
        if self._is_forum_or_shop and element.tag in ("header", "footer"):
            return weight.links >= _MENU and not self._has_only_title(element)
        if self._is_forum_or_shop and (is_end(element, weight) or is_trail(element, weight)):
            return True
        is_outside = not is_inside or self._main is self._body
        if self._is_forum_or_shop and is_outside and self._is_about_cookies(element, weight):
            return True
        is_list = weight.links >= _MENU and weight.link_share >= _MOSTLY_LINKS
        if self._sells_one and not self._is_marked and is_list and not names.has_heading(element):
            return True
        if self._is_forum_or_shop and is_offer(element, weight, is_talk=self._is_talk):
            return True
        if self._is_talk and weight.links >= _FEW and names.is_other_talk(element):
            return True
        is_help = names.is_named_help(element) or (element.tag == "aside" and weight.links >= _FEW)
        if is_help and weight.link_share >= _MOSTLY_LINKS:
            return True
        if self._article is not None and is_inside:
            is_box = names.is_named_around(element) and weight.prose <= _SHORT_BOX
            is_box = is_box and element.tag not in HEADINGS
            return is_box or is_no_part(element, weight, is_news=self._is_news)
        return not is_inside and self._is_beside(element, weight)

    def _is_of_the_frame(self, element: Any, weight: Weight) -> bool:
        """Beside what the page calls its main part: a line or a box, which says little."""
        if not self._is_marked or weight.prose > _FRAME:
            return False
        if element.getparent() not in self._path and not self._is_in_header(element):
            return False
        if element.tag in HEADINGS or next(element.iter("time"), None) is not None:
            return False
        return not self._has_only_title(element)

    def _is_in_header(self, element: Any) -> bool:
        """Within the header of all, which may say more than that as a whole."""
        outside = takewhile(lambda above: above not in self._path, element.iterancestors())
        return any(map(names.is_named_header, outside))

    def _is_about_cookies(self, element: Any, weight: Weight) -> bool:
        """A box beside the main part, or at the very outside of the page."""
        if weight.prose > _FRAME or self._path.isdisjoint(islice(element.iterancestors(), 2)):
            return False
        if names.is_about_cookies(element):
            return True
        return text_of(element).lower().count("cookie") > 1

    def _is_form_around(self, form: Any, weight: Weight) -> bool:
        """Whether it is a login form. In a manual a form may describe what to fill in, and a page
        that says hardly anything else is there for its form."""
        if not asks_who_you_are(form) or not self._is_small(weight):
            return False
        if self._is_forum_or_shop:
            return True
        return weight.text - weight.linked <= _FIELDS and weight.prose < _HALF * self._prose

    def _is_beside(self, element: Any, weight: Weight) -> bool:
        """Outside of the main part: links for the most part, or called a part of the site."""
        if element.tag in HEADINGS or self._has_only_title(element):
            return False
        if element.tag in _OF_TABLES and weight.links < _FEW:  # a value that is explained elsewhere
            return False
        if weight.links and weight.link_share >= _MOSTLY_LINKS:
            return True
        if weight.links >= _FEW and weight.prose < _PROSE_PER_LINK * weight.links:
            return weight.linked >= _HEADLINE * weight.links
        is_named = names.is_named_around(element) or element.tag == "aside"
        is_plain = not weight.links and weight.text > _SHORT  # a footnote, or a word of caution
        return is_named and not is_plain

    def _has_only_title(self, element: Any) -> bool:
        """Whether the title of the page is in there, and nowhere else."""
        inside = sum(1 for _ in element.iter("h1"))
        return bool(inside) and inside == self._titles


def _letters(element: Any) -> str:
    return "".join(filter(str.isalnum, "".join(element.itertext()))).lower()


def _is_named_after(title: Any) -> bool:
    """Whether the head says that the page is called so; the site's name may be a heading, too."""
    letters = _letters(title)
    named = title.getroottree().find("head/title")
    return bool(letters) and named is not None and letters[:_LONGEST_TITLE] in _letters(named)


def _is_of_the_site(element: Any) -> bool:
    """Whether a header or footer is that of the page, and not of a part of its content."""
    return not any(above.tag in _WITHIN_CONTENT for above in element.iterancestors())
