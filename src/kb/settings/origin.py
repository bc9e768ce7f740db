"""A lasting name for the machine this runs on."""

import hashlib
import hmac
import re
from pathlib import Path

from kb.settings.parse import Unusable

_PLACES = (Path("/etc/machine-id"), Path("/var/lib/dbus/machine-id"))
_ID = re.compile(r"(?!0{32})[0-9a-f]{32}")
_LONGEST = 200


def origin(text: str) -> str | None:
    """The name that was set, else the machine's own; None where it has none, as some containers.

    A host name will not do: that of a laptop changes with the network, that of a container with
    each start.
    """
    if len(text) > _LONGEST or not text.isprintable():
        raise Unusable(f"not a name, use up to {_LONGEST} printable characters, such as laptop")
    return text or next(filter(None, map(_name, _PLACES)), None)


def _name(place: Path) -> str | None:
    """A machine's id is to stay on it (machine-id(5)), so what leaves is made from it one way."""
    try:
        machine_id = place.read_text("ascii").strip()
    except (OSError, ValueError):
        return None
    if not _ID.fullmatch(machine_id):
        return None
    return hmac.digest(bytes.fromhex(machine_id), b"kb origin", hashlib.sha256).hex()[:16]
