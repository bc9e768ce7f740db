"""Unpacks the text of Kindle books that is compressed by tables of common phrases."""

import struct

_DEEPEST = 32  # phrases within phrases
_HEAD = 16  # bytes before the phrases of a record
_MOST_PHRASES = 1_000_000


class Unpacker:
    """`tables` is the record of the code, `phrases` those of the phrases it stands for."""

    def __init__(self, tables: bytes, phrases: list[bytes], most: int) -> None:
        if tables[:4] != b"HUFF":
            raise ValueError("no table of a code")
        first, second = struct.unpack_from(">II", tables, 8)
        self._short = [self._entry(word) for word in struct.unpack_from(">256I", tables, first)]
        ranges = struct.unpack_from(">64I", tables, second)
        self._least = [0, *(ranges[2 * n] << (31 - n) for n in range(32))]
        self._largest = [0, *(((ranges[2 * n + 1] + 1) << (31 - n)) - 1 for n in range(32))]
        self._phrases: list[tuple[bytes, bool]] = []  # and whether it is packed itself
        self._most = most
        for record in phrases:
            self._add(record)

    @staticmethod
    def _entry(word: int) -> tuple[int, bool, int]:
        length, ends, largest = word & 0x1F, bool(word & 0x80), word >> 8
        return length, ends, ((largest + 1) << (32 - length)) - 1

    def _add(self, record: bytes) -> None:
        if record[:4] != b"CDIC":
            raise ValueError("no phrases")
        total, bits = struct.unpack_from(">II", record, 8)
        count = min(1 << min(bits, 20), total - len(self._phrases), _MOST_PHRASES)
        for number in range(max(0, count)):
            at = _HEAD + struct.unpack_from(">H", record, _HEAD + 2 * number)[0]
            length = struct.unpack_from(">H", record, at)[0]
            phrase = record[at + 2 : at + 2 + (length & 0x7FFF)]
            self._phrases.append((phrase, not length & 0x8000))

    def unpack(self, data: bytes, depth: int = 0) -> bytes:
        text = bytearray()
        left = len(data) * 8
        padded = data + b"\0" * 8
        at = 0
        word = int.from_bytes(padded[:8], "big")
        room = 32
        while len(text) < self._most:
            if room <= 0:
                at += 4
                word = int.from_bytes(padded[at : at + 8].ljust(8, b"\0"), "big")
                room += 32
            code = word >> room & 0xFFFFFFFF
            length, ends, largest = self._short[code >> 24]
            if not length:
                raise ValueError("no such code")
            if not ends:
                while length < 32 and code < self._least[length]:
                    length += 1
                largest = self._largest[length]
            room -= length
            left -= length
            if left < 0:
                break
            number = (largest - code) >> (32 - length)
            text += self._phrase(number, depth)
        return bytes(text)

    def _phrase(self, number: int, depth: int) -> bytes:
        phrase, is_packed = self._phrases[number]
        if not is_packed:
            return phrase
        if depth > _DEEPEST:
            raise ValueError("phrases without end")
        self._phrases[number] = (b"", False)  # one that holds itself is nothing
        phrase = self.unpack(phrase, depth + 1)
        self._phrases[number] = (phrase, False)
        return phrase
