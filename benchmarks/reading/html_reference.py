"""A web page in, its text out: that of the plain DOM, less what its maker puts around it."""

import re
from pathlib import Path
from typing import Any

import lxml.html
from lxml import etree

from benchmarks.reading.html_rules import OTHER, RULES, Rule
from benchmarks.reading.reference import Reference, labelled
from benchmarks.reading.selectors import elements

_NEVER = "script style template noscript head select datalist iframe video audio canvas button"
_AROUND = (
    "nav [role=navigation] [role=banner] [role=contentinfo] [role=search] [role=dialog] [hidden] "
    "[aria-hidden=true] .skip-link .skip-nav .skipNav #footer div.footer address.footer "
    ".shareButtons .js-privacy-consent-banner__banner"
)
_OF_ARTICLE = (
    "h1 figcaption caption time [itemprop=author] [itemprop=datePublished] [itemprop=description] "
    ".byline .author .date .dateline .lead .dek .summary .subtitle .standfirst .caption "
    ".entry-meta .post-meta .published"
)
_SAID_OF_ARTICLE = """
    byline author authors date dateline published updated timestamp lead lede dek standfirst
    subtitle subhead subheadline caption credit credits photo
"""
_SAID_WORDS = frozenset(_SAID_OF_ARTICLE.split())
_CLASS_WORD = re.compile(r"[a-z]+")
_MOST_SAID = 60  # words
_LINE_TAGS = """
    address article aside blockquote body br caption center dd details div dl dt fieldset figcaption
    figure footer form h1 h2 h3 h4 h5 h6 header hr img legend li main menu nav ol p pre section
    summary table tbody td textarea tfoot th thead tr ul
"""
_LINES = frozenset(_LINE_TAGS.split())
_CHARSET = re.compile(rb"charset=[\"']?([\w-]{3,20})", re.IGNORECASE)
_NO_DISPLAY = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_PAGER_LINKS = 10
_PAGER_WORDS = 30
_PAGER_WORDING = ("previous", "prev", "next", "contents", "up", "home", "top", "index")
_PAGER_WORDING += ("home page", "site map")
_TITLE_WORDS = 4  # words above a list
_LISTS = ("ul", "ol", "dl", "menu", "dir")


def read(path: Path) -> Reference | None:
    try:
        tree = lxml.html.document_fromstring(
            _decoded(path.read_bytes()),
            parser=lxml.html.HTMLParser(remove_comments=True, remove_pis=True, huge_tree=True),
        )
    except (etree.ParserError, ValueError):
        return None
    written = labelled(path)
    if written is not None:
        return Reference(written, "labelled by people", allowed=_beside_article(tree))
    rule = _rule(tree)
    _drop(elements(tree, f"{_NEVER} {_AROUND}"))
    _drop([e for e in tree.iter("*") if _NO_DISPLAY.search(e.get("style") or "")])
    _drop(elements(tree, rule.around))
    _drop(_contents_of_this_page(tree))
    _drop([e for e in tree.iter("div", "p", "table", "ul") if _is_pager(e)])
    parts = _outermost(elements(tree, rule.content)) or [tree]
    inner = [e for part in parts for e in part.iter("*")]
    return Reference(
        "\n".join(_text(part) for part in parts),
        rule.maker,
        tuple(_text(e) for e in inner if e.tag in _HEADINGS),
        tuple(
            _text(e, without=(*_LISTS, "table", "section")) for e in inner if e.tag in ("li", "dt")
        ),
    )


def _beside_article(tree: Any) -> str:
    """What people leave out who write down an article: its title, lead, author and date, and what
    is said about its pictures."""
    named = [e for e in tree.iter("*") if _is_said_of_article(e)]
    said = [_text(e) for e in _outermost([*elements(tree, _OF_ARTICLE), *named])]
    return "\n".join([*said, *(e.get("alt") or "" for e in tree.iter("img"))])


def _is_said_of_article(element: Any) -> bool:
    """By a word of its classes, as `article-byline__date`, if it is short."""
    called = _CLASS_WORD.findall((element.get("class") or "").lower())
    return not _SAID_WORDS.isdisjoint(called) and len(_text(element).split()) <= _MOST_SAID


def _decoded(data: bytes) -> str:
    said = _CHARSET.search(data[:4096])
    for charset in ("utf-8", said[1].decode() if said else "cp1252"):
        try:
            text = data.decode(charset)
            break
        except (UnicodeDecodeError, LookupError):
            text = data.decode("cp1252", "replace")
    return re.sub(r"^\s*<\?xml[^>]*\?>", "", text.lstrip("\ufeff"))


def _rule(tree: Any) -> Rule:
    said = " ".join(
        e.get("content") or ""
        for e in tree.iter("meta")
        if (e.get("name") or "").lower() == "generator"
    )
    for rule in RULES:
        makers = [word[10:] for word in rule.known.split() if word.startswith("generator:")]
        others = " ".join(word for word in rule.known.split() if not word.startswith("generator:"))
        if any(maker.lower() in said.lower() for maker in makers) or elements(tree, others):
            return rule
    return OTHER


def _is_pager(element: Any) -> bool:
    """`Previous | Contents | Next`, or `Home » Manual » Chapter`, and little else."""
    text = _text(element)
    links = [" ".join(_text(link).split()).lower() for link in element.iter("a")]
    if not 2 <= len(links) <= _PAGER_LINKS or len(text.split()) > _PAGER_WORDS:
        return False
    is_path = text.count("»") >= len(links) - 1 and text.strip()[:1] != "»"
    return is_path or sum(link in _PAGER_WORDING for link in links) >= 2


def _contents_of_this_page(tree: Any) -> list[Any]:
    """Lists of links to the headings of the same page: they say everything twice."""
    targets = {e.get("id") for e in tree.iter("*")} | {e.get("name") for e in tree.iter("a")}
    found = []
    for listed in tree.iter("ul", "ol", "dl"):
        links = list(listed.iter("a"))
        aims = [(link.get("href") or "").partition("#")[2] for link in links]
        inside = [aim for aim in aims if aim and aim in targets]
        text = len("".join(listed.itertext()).split())
        linked = len(" ".join("".join(link.itertext()) for link in links).split())
        if len(links) > 2 and len(inside) == len(links) and linked >= 0.9 * text:
            found.append(_with_title(listed, text))
    numbers = [a for a in tree.iter("a") if (a.get("name") or "").startswith("toc")]  # LinuxDoc's
    return found + [a.getparent() for a in numbers if a.getparent().tag in ("h2", "li")]


def _with_title(listed: Any, text: int) -> Any:
    """The outermost element that holds a list and at most a title above it."""
    above = listed.getparent()
    while above.tag != "body" and len("".join(above.itertext()).split()) <= text + _TITLE_WORDS:
        listed, above = above, above.getparent()
    return listed


def _drop(unwanted: list[Any]) -> None:
    for element in unwanted:
        parent = element.getparent()
        if parent is not None and element.tag not in ("html", "body"):
            element.drop_tree()


def _outermost(parts: list[Any]) -> list[Any]:
    chosen = set(parts)
    return [part for part in parts if not any(above in chosen for above in part.iterancestors())]


def _text(element: Any, without: tuple[str, ...] = ()) -> str:
    pieces: list[str] = []
    walker = etree.iterwalk(element, events=("start", "end"))
    for event, each in walker:
        if each.tag in _LINES:
            pieces.append("\n")
        if event == "start":
            if each.tag in without:
                walker.skip_subtree()
                continue
            pieces.append(each.text or "")
            if each.tag == "img":
                alt = each.get("alt") or ""
                pieces.append(
                    "" if alt.lower().endswith((".jpg", ".png", ".gif", ".jpeg")) else alt
                )
        elif each is not element:
            pieces.append(each.tail or "")
    return "".join(pieces)
