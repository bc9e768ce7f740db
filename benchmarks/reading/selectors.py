"""`div.navheader`, `#toc`, `[role=main]`, `td.nav` in, the elements that are meant out."""

import re
from collections.abc import Iterable
from typing import Any

_PART = re.compile(r"([.#]?)([\w:-]+)|\[([\w-]+)(?:=([^\]]+))?\]")


def elements(tree: Any, selectors: str) -> list[Any]:
    """Those that any of the selectors, which spaces part, names."""
    wanted = [_PART.findall(selector) for selector in selectors.split()]
    tags = {parts[0][1] for parts in wanted if len(parts) == 1 and not any(parts[0][::2])}
    others = [parts for parts in wanted if len(parts) > 1 or any(parts[0][::2])]
    return [
        e
        for e in (tree.iter("*") if others else tree.iter(*tags) if tags else ())
        if e.tag in tags or (e.attrib and any(_fits(e, parts) for parts in others))
    ]


def _fits(element: Any, parts: Iterable[tuple[str, str, str, str]]) -> bool:
    for sign, name, attribute, value in parts:
        if attribute:
            if element.get(attribute) is None or (value and element.get(attribute) != value):
                return False
        elif sign == ".":
            if name.lower() not in (element.get("class") or "").lower().split():
                return False
        elif sign == "#":
            if element.get("id") != name:
                return False
        elif element.tag != name:
            return False
    return True
