"""Finds rows that may be near, by the signs of their components alone.

A sign is one bit and a code is eight, so comparing signs takes at most half of the time. It is not
exact: the caller takes some thousand rows by their signs and compares those by their codes. That
needs no training and no building of lists, and a filter is a mask like any other.

More than the signs of the query is used: each of its components is rounded to one of four steps,
-1, -1/3, 1/3 and 1. The two bits of a step are compared with the signs separately, and the second
counts twice. Those sums rank rows exactly as the product of their signs and the rounded query
would.
"""

from collections.abc import Sequence
from typing import Any

import numkong
import numpy as np
from numpy.typing import NDArray

from kb.engine.values import Vector

Ids = NDArray[np.int64]
Codes = NDArray[np.int8]
Rows = NDArray[np.intp]
Mask = NDArray[np.bool_]
# The signs of a block, as the kernel wants them. It cannot be changed, only made anew.
Block = Any

ROWS = 8192
# Of so many usable rows one is taken. Measured with a million vectors made of real ones: the ten
# nearest are among these, but for a few in a thousand.
_ONE_OF = 80
_AT_LEAST = 1000
_FOR_EACH = 20
# Where more of the rows than this have no signs yet, to compare all codes is faster.
_MISSING = 0.1
_FAR = 2**16
_OF_SOME = 17


def _bits(vector: Vector) -> NDArray[np.uint8]:
    """The two bits of every component, each kind packed into a row."""
    steps = np.clip(np.rint((vector / vector.std() + 1) * 1.5), 0, 3).astype(np.uint8)
    return np.packbits([steps & 1, steps >> 1], axis=1)


def block_of(codes: Codes) -> Block:
    return numkong.hammings_pack(np.packbits(codes > 0, axis=1))


def likely(blocks: Sequence[Block | None], vector: Vector, usable: Mask, limit: int) -> Rows | None:
    """Rows that almost surely include the nearest; also all rows not yet known here. None if too
    little is known, or too many are wanted."""
    wanted = max(_AT_LEAST, int(np.count_nonzero(usable)) // _ONE_OF, limit * _FOR_EACH)
    if wanted >= len(usable):
        return None
    known = np.zeros(len(usable), np.bool_)
    distances = np.full(len(usable), _FAR, np.uint32)
    bits = _bits(vector)
    for number, block in enumerate(blocks):
        if block is not None:
            rows = slice(number * ROWS, (number + 1) * ROWS)
            known[rows] = True
            first, second = np.asarray(numkong.hammings_packed(bits, block))
            distances[rows] = first + 2 * second
    unknown = ~known & usable
    if np.count_nonzero(unknown) > _MISSING * len(usable):
        return None
    distances[~usable] = _FAR
    some = np.sort(distances[::_OF_SOME])  # all of them would take as long to sort as to compare
    furthest = min(some[min(wanted // _OF_SOME, len(some) - 1)], _FAR - 1)
    return np.flatnonzero((distances <= furthest) | unknown)
