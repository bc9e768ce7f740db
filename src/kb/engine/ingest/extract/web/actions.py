"""Finds the lines of forums, shops and news that only ask for something: `Read more`, `Add to
cart`. They are recognised by their words, or by leading to a login or a share button. Words that
somebody may have written in a post (`Reply`, `Please try the other port`) count only in links and
buttons."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from kb.engine.ingest.extract.web.names import is_for_screen_readers
from kb.engine.ingest.extract.web.weights import Weight, text_of

_LONGEST = 80  # characters
_LONGEST_LINE = 120  # characters that are no space
_WITH_GAPS = 600  # characters
_LONGEST_ADDRESS = 300  # characters
_NEAR = 3  # elements
_CONTROLS = ("a", "button")
_NEVER = ("body", "h1", "pre", "table", "tr")
_SIGNS = " \n\t\xa0\u200b[]<>«»←→‹›|•·+-–—…!?:.,()*#&▲▼×"
_CART = r"(?:cart|basket|bag|wish\ ?list|list|watch\ ?list|favou?rites|compare|comparison|quote)"
_ASKING = rf"""
      (?:read|see|show|view|load|discover|explore|shop|compare|browse|hide|select|open)
        \ (?:more|less|all|full|fewer|additional|other|related|similar|\d+\ more)\b.{{0,40}}
    | learn\ (?:more|how)\b.{{0,30}} | find\ out\ more.{{0,20}} | more\ (?:info(?:rmation)?|details)
    | (?:click|tap|press|hover|swipe|pinch)\ (?:here|on\ image|image|to|for)\b.{{0,40}}
    | add(?:\ all.{{0,15}}|\ both|\ this)?\ to\ (?:my\ )?{_CART}\b.{{0,20}}
    | (?:adding|added)\ to\ (?:your\ )?{_CART}\b.{{0,40}}
    | (?:adding\ to\ cart\W+)?(?:the\ |this\ )?(?:product|item)\ (?:was|has\ been)\ added
        (?:\ to\ your\ cart)?
    | (?:view|go\ to|your|my|shopping)\ (?:cart|basket|bag)\b.{{0,20}}
    | (?:proceed\ to|go\ to)\ checkout | continue\ shopping | check\ ?out\ as\ guest
    | (?:buy|order|shop|book|reserve|pre-?order|apply|join|donate|call|chat|subscribe)
        \ (?:it\ )?now\b.{{0,20}}
    | notify\ me\b.{{0,40}} | (?:increase|decrease)\ quantity\b.{{0,60}}
    | (?:please\ )?(?:sign|log)\ ?(?:in|up|out|on)
        (?:\ (?:to|or|for|now|using|with|here)\b.{{0,60}})?
    | (?:you\ (?:must|need\ to|have\ to)\ |please\ )(?:be\ )?
        (?:log|sign|register|a\ member|logged|signed)\b.{{0,60}}
    | create\ (?:an?\ |your\ |new\ )?account\b.{{0,40}} | (?:already\ )?have\ an\ account\b.{{0,20}}
    | register\ (?:an?\ (?:new\ )?account|now|to\ .{{0,30}}|here) | my\ account
    | (?:write|leave|add|submit|post)\ (?:an?|your|the\ first)\ (?:customer\ )?
        (?:review|comment|answer|question|reply)\b.{{0,20}}
    | ask\ (?:an?\ |your\ |the\ )?(?:new\ )?(?:question|expert|seller|community)\b.{{0,20}}
    | be\ the\ first\ to\ .{{0,40}} | was\ this\ .{{0,20}}helpful.{{0,30}} | post\ (?:a\ )?reply
    | share\ (?:this|on|with|via|to|link|it|by)\b.{{0,30}} | (?:more\ )?sharing\ options\b.{{0,10}}
    | link\ to\ (?:post|comment|this) | copy\ (?:the\ )?(?:link|url) | insert\ quotes
    | email\ (?:to\ )?(?:this|a)?\ ?(?:friend|page) | print\ (?:view|page|this\ page)
    | report\ (?:abuse|this|an\ issue|a\ problem|post|comment|incorrect)\b.{{0,40}}
    | (?:jump|skip|go|back|return|scroll)\ (?:back\ )?to\ (?:the\ )?
        (?:latest|content|main|top|bottom|home|homepage|page|search|results|navigation|shop)
        (?:\ of\ (?:the\ )?page)?\b.{{0,30}}
    | (?:next|previous)\ (?:image|slide|page|photo|item|product|post|thread|topic)
    | (?:open|view|zoom|play)\ (?:media|image|video|photo|featured\ media)\b.{{0,30}}
    | (?:expand|collapse|clear|select|check|accept|reject|allow|decline)\ all\b.{{0,20}}
    | (?:apply|clear|reset|show|hide|all)\ filters? | reset\ to\ default
    | (?:sort|filter)(?:ed)?\ by\b.{{0,50}}
    | contact\ (?:us|seller|the\ seller|me|store)\b.{{0,20}} | message\ (?:the\ )?seller
    | (?:follow|like)\ us\b.{{0,30}} | subscribe\ to\ .{{0,40}} | follow\ the\ author
    | (?:choose|select|change)\ (?:your\ |a\ )?
        (?:language|currency|country|region|location|store)\b.{{0,20}}
    | you\ may\ not\ (?:post|edit)\b.{{0,30}} | (?:bb|html)\ code\ is\ o(?:n|ff)
    | smilies\ are\ o(?:n|ff) | forum\ (?:rules|jump) | thread\ tools
    | users\ (?:who\ are\ )?(?:viewing|browsing)\ .{{0,40}} | total:\ \d+\ \(members.{{0,40}}
    | there\ was\ an?\ (?:problem|error)\b.{{0,60}} | thank\ you\ for\ your\ feedback\b.{{0,60}}
    | please\ (?:enter|try|select|choose)\b.{{0,50}} | sponsored | quantity
    | (?:image|picture|photo|slide)\ \d+\ of\ \d+ | unit\ price\W{{1,3}}per
    | \d+\ people\ are\ (?:viewing|looking\ at)\ this(?:\ right\ now)?
    | (?:find|view|see|open|select|choose)\ (?:my\ |your\ |an?\ |the\ )?
        (?:size|dimensions|details)(?:\ (?:chart|guide))? | size\ (?:chart|guide)
    | sign\ up\ to\ request\ clarification\ or\ add\ additional\ context\ in\ comments
    | (?:oldest|newest)\ first | continue\ reading | author\ stats
    | preview\ image\ for\ a\ collapsed\ post
    | privacy\ (?:policy|notice) | terms\ (?:of\ (?:use|service)|&\ conditions)
    | loading(?:\ \w+)? | please\ wait | advertisement\W.{{0,40}} | recently\ viewed(?:\ \w+)?
    | \{{\{{[^{{}}]{{1,80}}\}}\}} | \$\{{[^{{}}]{{1,80}}\}}  # for a script
    | (?:mehr|alle)\ (?:anzeigen|lesen|erfahren|ansehen|infos?)\b.{{0,20}} | nach\ oben
    | in\ den\ warenkorb | zum\ warenkorb | auf\ den\ (?:merk|wunsch)zettel
    | (?:jetzt\ )(?:kaufen|anmelden|registrieren|bestellen) | bewertung\ (?:schreiben|abgeben)
    | (?:voir|lire|afficher)\ (?:plus|la\ suite|tout|tous)\b.{{0,20}} | en\ savoir\ plus
    | ajouter\ (?:au|à|aux)\ .{{0,20}} | haut\ de\ page | se\ connecter | créer\ un\ compte
    | mon\ (?:compte|panier) | acheter\ maintenant
    | (?:ver|leer|mostrar)\ (?:más|todo|todos)\b.{{0,20}} | añadir\ al\ carrito | iniciar\ sesión
    | mi\ cuenta | comprar\ ahora | (?:leggi|mostra|scopri)\ (?:di\ più|tutto|altro)
    | aggiungi\ al\ carrello | (?:lees|toon|bekijk)\ (?:meer|alles)
"""
_WORDS = """
    back bookmark cancel checkout close compare confirm continue copy delete dismiss done download
    downvote edit email embed expand favorite filter filters flag follow followers following go hide
    like likes login logout menu more multiquote next ok okay pause permalink pin play prev previous
    print quote register remove reply report reset save search send share signin signup skip sort
    source sponsored submit subscribe thanks toggle top tweet undo unfollow update upvote vote
    abbrechen anmelden antworten melden schließen suchen teilen weiter zitieren zurück
    annuler citer fermer partager précédent rechercher répondre signaler suivant
    anterior buscar cerrar citar compartir responder siguiente
"""
# `Recommended posts` is what some forums call the posts themselves.
_NAMING_OTHERS = r"""
      (?:check\ out\ |see\ |explore\ )?(?:other\ |more\ )?
        (?:related|similar|featured|recommended|suggested|popular|trending|sponsored)
        \ (?:products?|items?|threads?|topics?|discussions?|questions?|articles?|searches)
        (?:\ .{0,30})?
    | (?:you\ (?:may|might)|we\ think\ you(?:['’]ll)?)\ (?:also\ )?(?:like|love|enjoy)\b.{0,20}
    | (?:people|customers|shoppers|guests|others)\ (?:who\ .{3,30}\ |like\ you\ )?
        (?:also|frequently)\ .{3,30}
    | (?:complete|shop)\ the\ look | discover\ more\ options
    | (?:products|items|threads|topics)\ (?:related|similar)\ to\ .{3,30} | pairs\ well\ with.{0,20}
    | (?:frequently|often)\ (?:bought|purchased)\ together | recently\ viewed(?:\ \w+)?
    | more\ (?:from|like|in)\ .{3,40} | (?:recommended|recommendations|picked)\ for\ you
    | more\ to\ (?:explore|love|consider) | .{0,30}\bother\ items | best\ ?sellers
    | ähnliche\ (?:artikel|produkte|themen)
    | das\ könnte\ (?:ihnen|dir)\ auch\ gefallen | kunden\ .{3,20}\ auch
    | produits\ (?:similaires|associés|complémentaires) | vous\ aimerez\ aussi
    | productos\ relacionados | también\ te\ puede\ .{3,20} | prodotti\ correlati
"""
_NAMES_OTHERS = re.compile(_NAMING_OTHERS, re.VERBOSE | re.IGNORECASE)
_ASKS = re.compile(_ASKING, re.VERBOSE | re.IGNORECASE)
# Of text that is no link: without the words that may follow, which could be somebody's own.
_ASKS_FOR_SURE = re.compile(re.sub(r"(?:\\b)?\.\{0,\d+\}", "", _ASKING), re.VERBOSE | re.IGNORECASE)
# What is clicked in a shop: the beginnings, since what follows is the thing that is sold.
_URGES = re.compile(
    r"(?i)(?:visit|view|see|explore|discover|watch|shop|browse|check out|start|try|get started|join"
    r"|rate|message|report|find|show|go to|how to use|learn about|chat with|buy)\b.{0,40}"
)
_ADDRESS = re.compile(r"\w[./]\w")
_ONE_WORD = frozenset(_WORDS.split())
_SHARES = re.compile(
    r"(?i)facebook\.com/(?:sharer|share|dialog)|(?:twitter|x)\.com/(?:intent|share)"
    r"|pinterest\.\w{2,3}/pin/create|linkedin\.com/share|reddit\.com/submit|t\.me/share"
    r"|wa\.me/\?|whatsapp\.com/send|^mailto:\?"
)
_ACCOUNT = re.compile(
    r"(?i)[/?=.&_-](?:log[-_]?in|sign[-_]?in|sign[-_]?up|register|registration"
    r"|create[-_]?account|cart|basket|checkout|wish[-_]?list)(?:[/?=.&_#-]|$)"
)


def actions(body: Any, weights: dict[Any, Weight], *, is_talk: bool) -> Iterator[Any]:
    """Whole lines, and parts of them that no sentence is around."""
    for block in _lines(weights):
        is_sure = not _is_of_links(weights[block])
        if _asks(_said(block), sure=is_sure) or _is_for_members(block, weights):
            yield block
    for element in body.iter(*_CONTROLS, "b", "label", "span", "strong"):
        said = _said(element)
        if said:
            is_asking = _is_asking(element, said) or (not is_talk and _urges(element, said))
            if (is_asking and _is_apart(element, weights)) or _is_said_of_control(element):
                yield element


def links_that_ask(weights: dict[Any, Weight]) -> Iterator[Any]:
    """Whole lines that are nothing but links; an article may tell its readers to log in."""
    for block in _lines(weights):
        if _is_of_links(weights[block]) and _asks(_said(block), sure=False):
            yield block


def _lines(weights: dict[Any, Weight]) -> Iterator[Any]:
    for block, weight in weights.items():
        is_line = 0 < weight.text <= _LONGEST_LINE and block.tag not in _NEVER
        if is_line and next(block.iter("img"), None) is None:
            yield block


def _said(element: Any) -> str:
    """The text of an element; nothing if it is long, or longer than that with its gaps."""
    said = text_of(element)
    return said if len(said) <= _WITH_GAPS else ""


def _is_asking(element: Any, said: str) -> bool:
    is_control = element.tag in _CONTROLS
    if is_control and " ".join(said.split()).strip(_SIGNS).lower() in _ONE_WORD:
        return True
    if element.tag == "a" and (_leads_to_account(element) or _is_for_sharing(element)):
        return True
    return _asks(said, sure=not is_control)


def _urges(element: Any, said: str) -> bool:
    return element.tag in _CONTROLS and _URGES.fullmatch(" ".join(said.split())) is not None


def _is_of_links(weight: Weight) -> bool:
    return weight.linked >= weight.text


def _is_said_of_control(element: Any) -> bool:
    """To those who cannot see what happens to it."""
    return is_for_screen_readers(element) and any(
        above.tag in _CONTROLS for above in islice(element.iterancestors(), _NEAR)
    )


@lru_cache(2_000)  # each post asks for the same
def _asks(said: str, *, sure: bool) -> bool:
    said = " ".join(said.split()).strip(_SIGNS)
    asks = _ASKS_FOR_SURE if sure else _ASKS
    return 0 < len(said) <= _LONGEST and asks.fullmatch(said) is not None


def names_others(said: str) -> bool:
    """Whether a heading stands above other threads or products."""
    said = " ".join(said.split()).strip(_SIGNS)
    return 0 < len(said) <= _LONGEST and _NAMES_OTHERS.fullmatch(said) is not None


def _is_for_members(block: Any, weights: dict[Any, Weight]) -> bool:
    """A line all of whose links lead to where one logs in, and say so in words."""
    links = [link for link in block.iter("a") if link.get("href") is not None]
    if (
        not weights[block].links
        or not all(map(_leads_to_account, links))
        or _ADDRESS.search(_said(block))
    ):
        return False
    return not any(each in weights for each in block.iterdescendants())


def _is_apart(element: Any, weights: dict[Any, Weight]) -> bool:
    """Whether nothing is said right before or behind an element within a line."""
    while element not in weights:
        previous, parent = element.getprevious(), element.getparent()
        before = previous.tail if previous is not None else parent.text
        if any(map(str.isalnum, (before or "") + (element.tail or ""))):
            return False
        element = parent
    return True


def _leads_to_account(link: Any) -> bool:
    """To where one logs in, or to one's cart."""
    return _ACCOUNT.search((link.get("href") or "")[:_LONGEST_ADDRESS]) is not None


def _is_for_sharing(link: Any) -> bool:
    return _SHARES.search((link.get("href") or "")[:_LONGEST_ADDRESS]) is not None
