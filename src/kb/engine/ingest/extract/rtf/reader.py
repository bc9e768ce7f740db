r"""Carries out the commands of an RTF file and collects its text. Groups in braces inherit how text
is read. One that begins with a destination is a font table, a picture, a footnote; an unknown one
that begins with `\*` is skipped."""

import re
from dataclasses import dataclass, replace

from kb.engine.ingest.extract.about import line
from kb.engine.ingest.extract.markup import Item
from kb.engine.ingest.extract.ooxml.docx_pages import Turn
from kb.engine.ingest.extract.rtf.head_tables import Tables
from kb.engine.ingest.extract.rtf.story import Shape, Story
from kb.engine.ingest.extract.rtf.tokens import Token, tokens

SIGNS = {
    "tab": "\t",
    "line": "\n",
    "lbr": "\n",
    "emdash": "—",
    "endash": "–",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    # Tables inside a cell are parted like this: `a, b; c, d`.
    "nestcell": ", ",
    "nestrow": "; ",
}
SYMBOLS = {"~": "\u00a0", "_": "-", "\\": "\\", "{": "{", "}": "}"}

ABOUT = frozenset({"title", "subject", "author", "keywords", "doccomm"})
MARKS = frozenset({"listtext", "pntext"})  # what stands before an item of a list
CAPTURED = ABOUT | MARKS | {"sn", "sv", "atnauthor"}  # short texts that are kept aside
MARGINS = frozenset(f"{part}{which}" for part in ("header", "footer") for which in ["lrf", ""])
STORIES = frozenset({"footnote", "annotation", "shptxt"}) | MARGINS  # texts of their own
TABLES = frozenset({"fonttbl", "stylesheet", "info", "creatim", "revtim"})
MUTE = frozenset({"pict", "picprop", "shpinst", "sp"})  # with properties in them, but no text
SHAPES = frozenset({"picprop", "shpinst"})  # what properties of pictures stand in
_SKIPPED = """
    colortbl fldinst nonshppict shprslt objdata objclass nonesttables xe tc rxe bkmkstart bkmkend
    filetbl listtable listoverridetable revtbl falt panose printim buptim operator pntxta pntxtb
    mmathPict datafield
"""
SKIPPED = frozenset(_SKIPPED.split())
TRANSPARENT = frozenset({"shppict", "shp", "field", "fldrslt", "object", "result", "moMath"})
DESTINATIONS = CAPTURED | STORIES | TABLES | MUTE | SKIPPED | TRANSPARENT


_ROUND_BULLET = "o"  # as Word draws the bullets of the second level
_DEEPEST = 2_000  # groups inside each other

_NAMES_ITSELF = re.compile(r"\D{1,30} ?\d{1,6}")  # "Picture 3"


class TooDeep(Exception):
    """More groups inside each other than any program writes."""


@dataclass(slots=True)
class _Group:
    """How text is read in a group; the groups inside it begin with a copy."""

    story: Story
    name: str = ""
    captured: list[str] | None = None
    is_skipped: bool = False
    is_owner: bool = False  # it began what `name` says
    is_fresh: bool = True  # nothing has come yet
    is_starred: bool = False
    font: int | None = None
    fallback: int = 1  # characters after a Unicode character that stand for it
    is_unseen: bool = False


class Reader:
    """Reads one file. `tables` say what it is about, `margins` are its headers and footers."""

    def __init__(self) -> None:
        self.tables = Tables()
        self.margins: list[Item] = []
        self._main = Story()
        self._group = _Group(self._main)
        self._default_font: int | None = None
        self._bytes = bytearray()
        self._high: int | None = None  # the first half of a character beyond 65,535
        self._left_out = 0  # characters to come that stand for one that was read
        self._property = ""
        self._properties: dict[str, str] = {}  # of the shape that is being described
        self._author = ""
        self._note = "Footnote"
        self._new_section = False

    def read(self, text: str) -> list[Item | Turn]:
        """`text` is the file, one character for each byte. Raises TooDeep."""
        stack: list[_Group] = []
        for token in tokens(text):
            if token.kind == "{":
                self._flush()
                if len(stack) >= _DEEPEST:
                    raise TooDeep
                stack.append(self._group)
                self._group = replace(self._group, is_owner=False, is_fresh=True, is_starred=False)
            elif token.kind == "}":
                self._flush()
                if not stack:
                    break
                ended, self._group = self._group, stack.pop()
                if ended.is_owner:
                    self._finish(ended)
            elif not self._group.is_skipped:
                self._take(token)
        self._flush()
        return self._main.finish()

    def _take(self, token: Token) -> None:
        group = self._group
        if token.kind == "text":
            left_out, self._left_out = self._left_out, 0
            self._bytes += token.value[left_out:].encode("latin-1")
            self._left_out = max(left_out - len(token.value), 0)
        elif token.kind == "byte":
            if self._left_out:
                self._left_out -= 1
            else:
                self._bytes.append(token.number or 0)
        elif token.kind == "word":
            self._flush()
            self._left_out = 0
            if not group.is_fresh or not self._enter(token.value):
                self._word(token.value, token.number)
        elif token.value == "*":
            group.is_starred = group.is_fresh
            return
        else:
            self._symbol(token.value)
        group.is_fresh = False

    def _symbol(self, value: str) -> None:
        self._flush()
        if self._left_out:
            self._left_out -= 1
        elif value in "\r\n":
            self._word("par", None)
        else:
            self._emit(SYMBOLS.get(value, ""))

    def _enter(self, word: str) -> bool:
        """Whether the first word of a group says what the group is about."""
        group = self._group
        if word not in DESTINATIONS or (word in ABOUT and group.name != "info"):
            group.is_skipped = group.is_starred
            return group.is_starred
        if word in TRANSPARENT:
            return True
        group.name, group.is_owner = word, True
        group.is_skipped = word in SKIPPED
        group.captured = [] if word in CAPTURED else None
        if word in STORIES:
            group.story = Story()
            self._note = "Footnote"
        elif word in SHAPES:
            self._properties = {}
        return True

    def _finish(self, group: _Group) -> None:
        """A group is over that was about something."""
        if group.captured is not None:
            self._keep(group.name, "".join(group.captured))
        elif group.name in STORIES:
            items = [item for item in group.story.finish() if isinstance(item, Item)]
            if group.name in MARGINS:
                self.margins += items
            else:
                self._group.story.attach(self._told(group.name, items))
        elif group.name in SHAPES:
            words = _shape_words(self._properties)
            self._properties = {}
            if words:
                self._group.story.attach([Item("paragraph", f"[Image: {words}]")])

    def _keep(self, name: str, text: str) -> None:
        if name in ABOUT:
            self.tables.said[name] = text
        elif name in MARKS:
            mark = text.strip()
            is_number = mark != _ROUND_BULLET and any(sign.isalnum() for sign in mark)
            self._group.story.shape.mark = (mark if is_number else "-") if mark else None
        elif name == "sn":
            self._property = text.strip()
        elif name == "sv":
            self._properties[self._property] = " ".join(text.split())
        else:
            self._author = line(text)

    def _told(self, name: str, items: list[Item]) -> list[Item]:
        if name == "shptxt" or not items:
            return items
        kind = self._note
        if name == "annotation":
            kind = f"Comment by {self._author}" if self._author else "Comment"
        return [
            Item("paragraph", "\n".join([f"{kind}: {items[0].text}", *(i.text for i in items[1:])]))
        ]

    def _word(self, word: str, number: int | None) -> None:
        group = self._group
        if word in SIGNS:
            self._emit(SIGNS[word])
        elif word == "u":
            self._unicode(number or 0)
        elif word == "uc":
            group.fallback = min(max(number or 0, 0), 10)
        elif word in ("v", "deleted"):
            group.is_unseen = number != 0
        elif word == "plain":
            group.is_unseen, group.font = False, self._default_font
        elif word == "ftnalt":
            self._note = "Endnote"
        elif group.name in TABLES:
            self.tables.describe(group.name, word, number or 0)
        else:
            self._text_word(group, word, number)

    def _text_word(self, group: _Group, word: str, number: int | None) -> None:
        if word == "f":
            group.font = number
        elif word == "deff":
            self._default_font = group.font = number
        elif word in ("ansicpg", "mac", "pc", "pca"):
            self.tables.set_page(word, number or 0)
        elif group.captured is None and group.name not in MUTE:
            self._set(group.story, word, number or 0)

    def _set(self, story: Story, word: str, number: int) -> None:
        """What a paragraph is, and where it ends."""
        is_main = story is self._main
        ends = {"par": story.end_paragraph, "cell": story.end_cell, "row": story.end_row}
        if word in ends:
            ends[word]()
        elif word == "pard":  # Word writes the mark of a first item before
            story.shape = Shape(mark=story.shape.mark)
        elif word == "intbl":
            story.shape.in_table = True
        elif word == "s":
            story.shape.level = self.tables.level(number)
        elif word == "outlinelevel":
            story.shape.level = number + 1 if number < 9 else None
        elif word == "ilvl":
            story.shape.depth = number
        elif word in ("page", "pagebb", "softpage") and is_main:
            story.turn()
        elif word == "sect" and is_main:
            story.end_paragraph()
            self._new_section = True  # which begins a page, unless it says otherwise
        elif word in ("sbknone", "sbkcol") and is_main:
            self._new_section = False

    def _unicode(self, number: int) -> None:
        code = number + 0x10000 if number < 0 else number
        self._left_out = self._group.fallback
        high, self._high = self._high, None
        if 0xD800 <= code < 0xDC00:
            self._high = code
        elif 0xDC00 <= code < 0xE000:
            if high is not None:
                self._emit(chr(0x10000 + ((high - 0xD800) << 10) + code - 0xDC00))
        elif 0 < code < 0x110000:
            self._emit(self.tables.character(code, self._group.font))

    def _flush(self) -> None:
        """Say the bytes that have come, by the charset of their font."""
        if not self._bytes:
            return
        data, self._bytes = bytes(self._bytes), bytearray()
        self._emit(self.tables.decoded(data, self._group.font))

    def _emit(self, text: str) -> None:
        group = self._group
        if group.captured is not None:
            group.captured.append(text)
        elif group.name in TABLES:
            self.tables.name(group.name, text)
        elif group.name not in MUTE and not group.is_unseen:
            if self._new_section and group.story is self._main:
                self._new_section = False
                group.story.turn()
            group.story.say(text)


def _shape_words(properties: dict[str, str]) -> str:
    """What is said about a picture; its name only if a person gave it one."""
    name = properties.get("wzName", "")
    said = ["" if _NAMES_ITSELF.fullmatch(name) else name, properties.get("wzDescription", "")]
    return ". ".join(dict.fromkeys(filter(None, said)))
