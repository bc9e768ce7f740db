"""The title, properties and tags of a page that Notion exported."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

from kb.imports.fit import one_line

_TITLE = re.compile(r"\A﻿?\s*# (.+)")
_PROPERTY = re.compile(r"([^:\n]{1,100}): (.*)|([^:\n]{1,100}):")
_TAGS = ("tags", "tag", "labels")
_MOST_PROPERTIES = 150
_LONGEST_VALUE = 5_000


@dataclass
class Page:
    title: str = ""
    properties: dict[str, str] = field(default_factory=dict)

    @property
    def tags(self) -> list[str]:
        listed = [value for name, value in self.properties.items() if name.lower() in _TAGS]
        return [tag.strip() for value in listed for tag in value.split(",")]


def markdown_page(text: str) -> Page:
    """Properties are the first paragraph under the title, if each of its lines is one."""
    page = Page()
    heading = _TITLE.match(text)
    if not heading:
        return page
    page.title = one_line(heading[1])
    paragraph = text[heading.end() : heading.end() + 100_000].lstrip("\r\n").split("\n\n", 1)[0]
    lines = [line.strip() for line in paragraph.splitlines() if line.strip()]
    matches = [_PROPERTY.fullmatch(line) for line in lines]
    if all(matches):
        for match in matches[:_MOST_PROPERTIES]:
            if match and match[2]:
                page.properties[one_line(match[1], 100)] = match[2][:_LONGEST_VALUE].strip()
    return page


def html_page(text: str) -> Page:
    """The title, and the rows of the table of properties above the page's text."""
    reader = _Reader()
    reader.feed(text)
    return reader.page


class _Reader(HTMLParser):
    """Reads as far as the properties go."""

    def __init__(self) -> None:
        super().__init__()
        self.page = Page()
        self._within: str | None = None
        self._in_properties = False
        self._name = ""
        self._values: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        classes = (dict(attrs).get("class") or "").split()
        if tag == "table" and "properties" in classes:
            self._in_properties = True
        elif tag == "title" and not self.page.title:
            self._within = "title"
        elif self._in_properties and tag in ("th", "td"):
            self._within = tag
            self._values = [""]
        elif self._within == "td" and "selected-value" in classes:
            self._values.append("")
        elif self._within == "td" and "checkbox" in classes:
            self._values.append("Yes" if "checkbox-on" in classes else "No")

    def handle_endtag(self, tag: str) -> None:
        if tag == "table":
            self._in_properties = False
        if tag != self._within:
            return
        values = [one_line(value, _LONGEST_VALUE) for value in self._values]
        text = ", ".join(filter(None, values))
        if tag == "title":
            self.page.title = one_line(self.page.title)
        elif tag == "th":
            self._name = text
        elif self._name and text and len(self.page.properties) < _MOST_PROPERTIES:
            self.page.properties[self._name] = text.lstrip("@")
        self._within = None

    def handle_data(self, data: str) -> None:
        if self._within == "title":
            self.page.title += data
        elif self._within and self._values:
            self._values[-1] += data
