"""Cuts items whose text is longer than a note may be."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from kb.imports.fit import one_line, pieces
from kb.imports.item import Item

_TITLE_ROOM = 470  # what " (1 of 12)" leaves of a title


def in_parts(item: Item, texts: Sequence[str] | None = None) -> Iterator[Item]:
    """The item as it is, or several that say which part they are. The first keeps the key, so that
    a text which grows beyond the bound stays the document that it was."""
    texts = list(pieces(item.text or "")) if texts is None else texts
    for number, text in enumerate(texts, start=1):
        mark = f"#{number}" if number > 1 else ""
        title = item.title
        if len(texts) > 1:
            title = f"{one_line(title, _TITLE_ROOM)} ({number} of {len(texts)})"
        yield replace(
            item,
            key=item.key + mark,
            title=title,
            text=text,
            source_path=item.source_path and item.source_path + mark,
        )
