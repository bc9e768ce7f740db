"""Reads the characters of a Word file (6 to 2003), whose pieces a table puts in order. Notes and
boxes refer to positions in the text, formats to positions in the file."""

import struct
from bisect import bisect_right
from typing import NamedTuple

from kb.engine.ingest.extract.ole.compound import Compound
from kb.engine.ingest.extract.rtf.codepages import DEFAULT, of_charset

_WORD_97 = 0xA5EC
_WORD_6 = (0xA5DC, 0xA5DB, 0xA699)  # how files before Word 97 begin
_MACINTOSH = 256  # the charset that a Macintosh says it wrote in
_COMPRESSED = 1 << 30
_ENCRYPTED, _TABLE_1, _WIDE = 0x0100, 0x0200, 0x1000
_ANY_CHARSET = (0, 2, 77, 254, 255)  # of fonts that many files list: Western ones, signs
_MOST_CHARACTERS = 20 * 2**20
_MOST_PIECES = 200_000


class Piece(NamedTuple):
    """Characters from `start` on, which lie at `place` in the file, `width` bytes each."""

    start: int
    end: int
    place: int
    width: int


class Part(NamedTuple):
    """The range of a separate text among all characters."""

    start: int
    end: int


class WordFile:
    """`text` holds the document, then its notes, headers, comments and boxes, one after the other
    as `parts` tells them."""

    def __init__(self, compound: Compound) -> None:
        self.main = compound.stream("WordDocument")
        if len(self.main) < 0x200:
            raise compound.damaged("it holds no document")
        ident, _, _, _, _, flags = struct.unpack_from("<6H", self.main)
        if ident not in (_WORD_97, *_WORD_6):
            raise compound.damaged("it does not begin as a document of Word does")
        if flags & _ENCRYPTED:
            raise compound.locked()
        self.is_old = ident in _WORD_6
        self.data = compound.stream("Data")
        self.table = self.main
        if not self.is_old:
            self.table = compound.stream("1Table" if flags & _TABLE_1 else "0Table")
        self._width = 1 if self.is_old and not flags & _WIDE else 2
        self._pairs = 0x58 if self.is_old else 0x9A
        self._codec = self._codec_of_fonts() if self.is_old else DEFAULT
        self.parts = self._counted(0x34 if self.is_old else 0x4C)
        self._pieces = self._listed()
        self._starts = [piece.start for piece in self._pieces]
        if sum(piece.end - piece.start for piece in self._pieces) > _MOST_CHARACTERS:
            raise compound.too_large(f"it has more than {_MOST_CHARACTERS:,} characters")
        self.text = "".join(map(self._characters, self._pieces))

    def structure(self, index: int) -> bytes:
        """One of the structures that the head of the file lists."""
        at = self._pairs + 8 * index
        if at + 8 > len(self.main) or at + 8 > self._pairs + 8 * self._pair_count:
            return b""
        place, length = struct.unpack_from("<II", self.main, at)
        return self.table[place : place + length]

    def behind(self, index: int) -> bytes:
        """The data after a structure: lists keep their levels there."""
        place, length = struct.unpack_from("<II", self.main, self._pairs + 8 * index)
        return self.table[place + length :]

    def place_of(self, position: int) -> int:
        """The position of a character in the file; -1 if it is not there."""
        index = bisect_right(self._starts, position) - 1
        if index < 0 or position >= self._pieces[index].end:
            return -1
        piece = self._pieces[index]
        return piece.place + (position - piece.start) * piece.width

    def stretches(self) -> list[Piece]:
        return self._pieces

    @property
    def _pair_count(self) -> int:
        if self.is_old:
            return 50
        return int(struct.unpack_from("<H", self.main, 0x98)[0])

    def _counted(self, at: int) -> dict[str, Part]:
        names = ("text", "footnotes", "headers", "macros", "comments", "endnotes", "boxes")
        lengths = struct.unpack_from("<8i", self.main, at)
        parts = {}
        start = 0
        for name, length in zip((*names, "header boxes"), lengths, strict=True):
            end = start + max(0, length)
            parts[name] = Part(start, end)
            start = end
        return parts

    def _listed(self) -> list[Piece]:
        table = self._piece_table(self.structure(33))
        if not table:  # saved in one go, by an older program: the text is in one piece
            first, last = struct.unpack_from("<II", self.main, 0x18)
            total = max(part.end for part in self.parts.values())
            width = 1 if last - first <= total else self._width
            return [Piece(0, min(total, (last - first) // width), first, width)]
        count = min((len(table) - 4) // 12, _MOST_PIECES)
        positions = struct.unpack_from(f"<{count + 1}I", table)
        pieces: list[Piece] = []
        for number in range(count):
            place = struct.unpack_from("<I", table, 4 * (count + 1) + 8 * number + 2)[0]
            width = self._width
            if not self.is_old and place & _COMPRESSED:
                place, width = (place & (_COMPRESSED - 1)) // 2, 1
            start, end = positions[number], positions[number + 1]
            if start != (pieces[-1].end if pieces else 0) or end < start:
                break
            available = max(0, (len(self.main) - place) // width)
            pieces.append(Piece(start, start + min(end - start, available), place, width))
        return pieces

    def _piece_table(self, clx: bytes) -> bytes:
        at = 0
        while at + 5 <= len(clx):
            if clx[at] == 1:  # formats of pieces that were saved in haste
                at += 3 + struct.unpack_from("<H", clx, at + 1)[0]
            elif clx[at] == 2:
                length = struct.unpack_from("<I", clx, at + 1)[0]
                return clx[at + 5 : at + 5 + length]
            else:
                break
        return b""

    def _codec_of_fonts(self) -> str:
        """Before Word 97 the charset of a text is that of its font; few files have two."""
        fonts = self.structure(15)
        at = 2
        while at + 5 < len(fonts):
            codec = of_charset(fonts[at + 4])
            if codec is not None and fonts[at + 4] not in _ANY_CHARSET:
                return codec
            at += 1 + fonts[at]
        return (
            "mac_roman" if struct.unpack_from("<H", self.main, 0x14)[0] == _MACINTOSH else DEFAULT
        )

    def _characters(self, piece: Piece) -> str:
        count = piece.end - piece.start
        data = self.main[piece.place : piece.place + count * piece.width]
        if piece.width == 2:
            # Half a character keeps its place: positions count the halves.
            return "".join(map(chr, struct.unpack(f"<{len(data) // 2}H", data[: len(data) & ~1])))
        if self._codec in ("cp932", "cp949", "cp950", "gbk", "johab"):
            text = data.decode(self._codec, "replace")
            return text.ljust(count, "\0")[:count]
        return data.decode(self._codec, "replace")


def whole_characters(text: str) -> str:
    """Joins surrogate pairs, and drops what is not a character."""
    if not any("\ud800" <= character <= "\udfff" for character in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def positions(structure: bytes, size: int) -> tuple[list[int], list[bytes]]:
    """A list of places in the text, and what is said of each in `size` bytes: one fewer."""
    count = max(0, (len(structure) - 4) // (4 + size))
    if not count and len(structure) < 4:
        return [], []
    places = list(struct.unpack_from(f"<{count + 1}I", structure))
    start = 4 * (count + 1)
    return places, [structure[start + size * n : start + size * (n + 1)] for n in range(count)]
