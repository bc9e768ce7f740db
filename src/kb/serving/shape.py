"""Whether JSON that was not parsed yet has too many values.

A value of two bytes, `[]`, takes sixty once parsed. So a limit on bytes with room for a long note
has room for a structure thirty times as large, which must be noticed before it is built.
"""

import re
from itertools import islice

MOST_VALUES = 600_000  # more than fit into the metadata of a document, in the fewest bytes

# A text counts once, whatever is in it. Possessive, so that no text is gone through twice.
_TOKEN = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[\[{,]', re.DOTALL)


def is_overgrown(body: bytes, most: int = MOST_VALUES) -> bool:
    """Whether more than `most` texts, lists, objects and commas are in it."""
    # Nearly all bodies have so few of these that nobody need ask which of them are in texts.
    if body.count(b",") + body.count(b"[") + body.count(b"{") + body.count(b'"') <= most:
        return False
    return sum(1 for _ in islice(_TOKEN.finditer(body), most + 1)) > most
