"""Reads the records of a Palm database and unpacks their texts."""

import struct

_WINDOW = 2_047


class Records:
    """The records of one file, by number."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        count = struct.unpack_from(">H", data, 76)[0]
        places = [struct.unpack_from(">I", data, 78 + 8 * number)[0] for number in range(count)]
        self._places = [*places, len(data)]

    def __len__(self) -> int:
        return len(self._places) - 1

    def __getitem__(self, number: int) -> bytes:
        """Empty for one that is not there."""
        if not 0 <= number < len(self):
            return b""
        return self._data[self._places[number] : self._places[number + 1]]


def without_tail(record: bytes, flags: int) -> bytes:
    """A record of text without what readers keep behind it, which `flags` tell of."""
    for bit in range(15, 0, -1):
        if flags >> bit & 1 and record:
            size = shift = 0
            for byte in reversed(record[-4:]):
                size |= (byte & 0x7F) << shift
                shift += 7
                if byte & 0x80:
                    break
            record = record[: max(0, len(record) - size)]
    if flags & 1 and record:  # bytes of a character that began in this record
        record = record[: max(0, len(record) - (record[-1] & 3) - 1)]
    return record


def unpacked(record: bytes, most: int) -> bytes:
    """Text unpacked from Palm's own compression."""
    text = bytearray()
    at = 0
    while at < len(record) and len(text) < most:
        byte = record[at]
        at += 1
        if 1 <= byte <= 8:
            text += record[at : at + byte]
            at += byte
        elif byte < 0x80:
            text.append(byte)
        elif byte >= 0xC0:
            text += bytes((0x20, byte ^ 0x80))
        else:
            pair = byte << 8 | (record[at] if at < len(record) else 0)
            at += 1
            distance, length = pair >> 3 & _WINDOW, (pair & 7) + 3
            if not 0 < distance <= len(text):
                continue
            for _ in range(length):
                text.append(text[-distance])
    return bytes(text)
