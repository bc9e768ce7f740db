"""Unpacks the compressed RTF that Outlook writes."""

import struct

_PACKED = b"LZFu"
_PLAIN = b"MELA"
_MOST = 64 * 2**20
_WINDOW = 4_096
# What every text may refer to before it has begun.
_BEFORE = (
    rb"{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript "
    rb"\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0"
    b"\r\n"
    rb"\par \pard\plain\f0\fs20\b\i\u\tab\tx"
)


def unpacked(data: bytes) -> bytes:
    """Empty if it is not such a text; as far as it goes if it is truncated."""
    if len(data) < 16:
        return b""
    _, size, kind = struct.unpack_from("<II4s", data)
    if kind == _PLAIN:
        return data[16 : 16 + size]
    if kind != _PACKED:
        return b""
    window = bytearray(_BEFORE.ljust(_WINDOW, b"\0"))
    text = bytearray(_BEFORE)
    most = len(_BEFORE) + min(size, _MOST)
    position = 16
    while position + 1 < len(data) and len(text) < most:
        flags = data[position]
        position += 1
        for bit in range(8):
            if not flags >> bit & 1:
                _put(text, window, data[position : position + 1])
                position += 1
                continue
            reference = int.from_bytes(data[position : position + 2], "big")
            position += 2
            offset, length = reference >> 4, (reference & 0xF) + 2
            if offset == len(text) % _WINDOW:  # the end
                return bytes(text[len(_BEFORE) :])
            for step in range(length):
                _put(text, window, bytes((window[(offset + step) % _WINDOW],)))
    return bytes(text[len(_BEFORE) :])


def _put(text: bytearray, window: bytearray, byte: bytes) -> None:
    if byte:
        window[len(text) % _WINDOW] = byte[0]
        text += byte
