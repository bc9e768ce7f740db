"""A source path in, whether it names one thing in the world out."""

import re

# `/home/anna/a.txt`, `C:\a.txt`, `\\server\share\a.txt`, `https://example.org/a`.
# A scheme needs its slashes: `agent:mybot` is a label.
_ONE_THING = re.compile(r"/|[A-Za-z]:[\\/]|\\\\[^\\]|[A-Za-z][A-Za-z0-9+.-]*://.")


def names_one_thing(source_path: str) -> bool:
    """True for an absolute path or a URL; false for a bare name, which each agent may give."""
    return _ONE_THING.match(source_path) is not None
