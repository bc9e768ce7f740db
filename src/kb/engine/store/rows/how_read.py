"""The part of a document's row that says how it was read."""

import json
from dataclasses import asdict

from kb.engine.values import HowRead


def written(how: HowRead | None) -> str | None:
    return None if how is None else json.dumps(asdict(how))


def how_read(text: str | None) -> HowRead | None:
    """What a row says. What a later version may say beside is left out."""
    if text is None:
        return None
    said = json.loads(text)
    known = {name: said[name] for name in HowRead.__slots__ if name in said}
    return HowRead(**known | {"warnings": tuple(known.get("warnings", ()))})
