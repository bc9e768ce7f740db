"""Heading levels and list labels. Style names are in the language of the author's Word, so headings
are recognised by outline level. Labels are not in the text, and counted here: people cite "section
4.2" as they see it."""

import re
from typing import NamedTuple

from kb.engine.ingest.extract.counting import counted
from kb.engine.ingest.extract.ooxml.office_file import Office, W, whole
from kb.engine.ingest.extract.zip_package import Element

_VALUE = f"{W}val"
_KIND = f"{W}abstractNum"
_YES = ("1", "true", "on")
_BODY_TEXT = 9  # the outline level of what is no heading
_LONGEST_CHAIN = 30  # of styles that are based on one another
_LEVELS = 9  # that a list can have
_HEADING = re.compile(r"heading ([1-9])")  # the names of these two are the same in any language
_TITLE = -1
_PLACE = re.compile(r"%([1-9])")


class _Style(NamedTuple):
    """The settings of a style; None for those it leaves open."""

    base: str | None
    outline: int | None
    list_id: str | None
    list_level: int | None


class _Level(NamedTuple):
    """How one level of a list counts."""

    start: int
    kind: str
    label: str
    style: str | None


class Label(NamedTuple):
    """The label of a list item, `-` for any bullet, and the depth of the item."""

    text: str
    level: int


class Styles:
    def __init__(self, office: Office) -> None:
        self._styles: dict[str, _Style] = {}
        self._default = ""
        for part in office.related("styles"):
            for style in office.package.xml(part).iter(f"{W}style"):
                identifier = style.get(f"{W}styleId", "")
                self._styles[identifier] = _read_style(style)
                if style.get(f"{W}type") == "paragraph" and style.get(f"{W}default") in _YES:
                    self._default = identifier
        self._complete: dict[str, _Style] = {}
        self._lists = _Lists(office)

    def heading(self, properties: Element | None) -> int | None:
        """The level of a heading: 1 and up, 0 for the title of all; None for other paragraphs."""
        outline = _number(properties, f"{W}outlineLvl")
        if outline is None:
            outline = self._resolved(_text(properties, f"{W}pStyle")).outline
        return None if outline is None or outline >= _BODY_TEXT else outline + 1

    def label(self, properties: Element | None) -> Label | None:
        """The number or bullet of a paragraph, which counts on; None for one that has neither."""
        style = self._resolved(_text(properties, f"{W}pStyle"))
        list_id, level = style.list_id, style.list_level
        numbering = None if properties is None else properties.find(f"{W}numPr")
        if numbering is not None:
            list_id = _text(numbering, f"{W}numId") or list_id
            level = _number(numbering, f"{W}ilvl") or 0
        return None if list_id is None else self._lists.count(list_id, min(level or 0, _LEVELS - 1))

    def _resolved(self, name: str | None) -> _Style:
        """A style with what it has from those it is based on."""
        name = name if name in self._styles else self._default
        if name not in self._complete:
            chain = self._chain(name)
            outline = next((style.outline for style in chain if style.outline is not None), None)
            list_id = next((style.list_id for style in chain if style.list_id is not None), None)
            level = self._lists.level_of_style(list_id, name) if list_id is not None else None
            if level is None:
                levels = (style.list_level for style in chain)
                level = next((found for found in levels if found is not None), None)
            self._complete[name] = _Style(None, outline, list_id, level)
        return self._complete[name]

    def _chain(self, name: str) -> list[_Style]:
        chain: list[_Style] = []
        while name in self._styles and len(chain) < _LONGEST_CHAIN:  # it may go round in a circle
            chain.append(self._styles[name])
            name = chain[-1].base or ""
        return chain


class _Lists:
    """The lists of a document: how each level counts, and its current count."""

    def __init__(self, office: Office) -> None:
        self._kinds: dict[str, dict[int, _Level]] = {}
        self._kind_of: dict[str, str] = {}
        self._starts: dict[str, dict[int, int]] = {}
        self._counts: dict[str, list[int | None]] = {}
        for part in office.related("numbering"):
            root = office.package.xml(part)
            kinds = {kind.get(f"{W}abstractNumId", ""): kind for kind in root.iter(_KIND)}
            self._kinds |= {identifier: _read_levels(kind) for identifier, kind in kinds.items()}
            named = {_text(kind, f"{W}styleLink"): identifier for identifier, kind in kinds.items()}
            for identifier, kind in kinds.items():
                borrowed = named.get(_text(kind, f"{W}numStyleLink") or "")
                if borrowed is not None:
                    self._kinds[identifier] = self._kinds[borrowed]
            for one in root.iter(f"{W}num"):
                self._read_list(one)

    def _read_list(self, element: Element) -> None:
        identifier = element.get(f"{W}numId", "")
        kind = _text(element, f"{W}abstractNumId") or ""
        changed = _read_levels(element)
        if changed:  # it is a kind of its own, which counts for itself
            self._kinds[f"{kind}/{identifier}"] = {**self._kinds.get(kind, {}), **changed}
            kind = f"{kind}/{identifier}"
        self._kind_of[identifier] = kind
        starts = (
            (whole(override.get(f"{W}ilvl")), _number(override, f"{W}startOverride"))
            for override in element.iter(f"{W}lvlOverride")
        )
        self._starts[identifier] = {level: start for level, start in starts if start is not None}

    def level_of_style(self, list_id: str, style: str) -> int | None:
        levels = self._kinds.get(self._kind_of.get(list_id, ""), {})
        return next((number for number, level in levels.items() if level.style == style), None)

    def count(self, list_id: str, level: int) -> Label | None:
        kind = self._kind_of.get(list_id)
        if kind is None or level not in self._kinds.get(kind, {}):
            return None
        levels = self._kinds[kind]
        counts = self._counts.setdefault(kind, [None] * _LEVELS)
        start = self._starts[list_id].pop(level, None)  # holds for the first item only
        count = counts[level]
        if start is not None:
            counts[level] = start
        else:
            counts[level] = levels[level].start if count is None else count + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        if levels[level].kind == "bullet":
            return Label("-", level)
        text = _PLACE.sub(lambda place: _place(place, levels, counts), levels[level].label)
        return Label(text.strip(), level) if text.strip() else None


def _place(place: re.Match[str], levels: dict[int, _Level], counts: list[int | None]) -> str:
    number = int(place[1]) - 1
    level = levels.get(number)
    if level is None:
        return ""
    count = counts[number]
    return counted(level.start if count is None else count, level.kind)


def _read_style(style: Element) -> _Style:
    properties = style.find(f"{W}pPr")
    outline = _number(properties, f"{W}outlineLvl")
    name = (_text(style, f"{W}name") or "").lower()
    if outline is None and (numbered := _HEADING.fullmatch(name)):
        outline = int(numbered[1]) - 1
    elif outline is None and name == "title":
        outline = _TITLE
    return _Style(
        _text(style, f"{W}basedOn"),
        outline,
        _text(properties, f"{W}numPr/{W}numId"),
        _number(properties, f"{W}numPr/{W}ilvl"),
    )


def _read_levels(element: Element) -> dict[int, _Level]:
    return {
        whole(level.get(f"{W}ilvl")): _Level(
            _number(level, f"{W}start") or 0,
            _text(level, f"{W}numFmt") or "decimal",
            _text(level, f"{W}lvlText") or "",
            _text(level, f"{W}pStyle"),
        )
        for level in element.iter(f"{W}lvl")
    }


def _text(element: Element | None, path: str) -> str | None:
    found = None if element is None else element.find(path)
    return None if found is None else found.get(_VALUE)


def _number(element: Element | None, path: str) -> int | None:
    text = _text(element, path)
    return None if text is None else whole(text)
