"""Codes in, which rows may be near out: by the signs of their components alone.

A sign is one bit where a code is eight, so to compare those is five times as fast. It is not
exact: the caller takes several thousand rows by their signs and compares those by their codes. That
needs no training and no building of lists, and a filter is a mask like any other.
"""

from collections.abc import Sequence
from typing import Any

import numkong
import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int8]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
# The signs of a block, as the kernel wants them. It cannot be changed, only made anew.
Block = Any

ROWS = 8192
# Of so many usable rows one is taken. Measured with a million vectors made of real ones: of the ten
# nearest .993 are among these (.987 with half as many, .977 with a quarter).
_ONE_OF = 125
_AT_LEAST = 1000
_FOR_EACH = 20
# Where more of the rows than this have no signs yet, to compare all codes is faster.
_MISSING = 0.1
_FAR = 2**16


def block_of(codes: Codes) -> Block:
    return numkong.hammings_pack(np.packbits(codes > 0, axis=1))


def likely(blocks: Sequence[Block | None], code: Codes, usable: Mask, limit: int) -> Rows | None:
    """Rows among which the nearest are, as good as surely; also all of which nothing is known.

    None where too little is known, or too many are wanted.
    """
    wanted = max(_AT_LEAST, int(np.count_nonzero(usable)) // _ONE_OF, limit * _FOR_EACH)
    if wanted >= len(usable):
        return None
    known = np.zeros(len(usable), np.bool_)
    distances = np.full(len(usable), _FAR, np.uint32)
    signs = np.packbits(code > 0, axis=1)
    for number, block in enumerate(blocks):
        if block is not None:
            rows = slice(number * ROWS, (number + 1) * ROWS)
            known[rows] = True
            distances[rows] = np.asarray(numkong.hammings_packed(signs, block))[0]
    unknown = ~known & usable
    if np.count_nonzero(unknown) > _MISSING * len(usable):
        return None
    distances[~usable] = _FAR
    furthest = min(np.partition(distances, wanted)[wanted], _FAR - 1)
    return np.flatnonzero((distances <= furthest) | unknown)
