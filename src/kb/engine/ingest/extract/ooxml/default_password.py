"""Decrypts Office files with the password that Excel tries by itself: a workbook that anyone may
read and few may change."""

import io
import struct
from pathlib import Path
from xml.parsers.expat import ExpatError

from cryptography.hazmat.backends import default_backend
from msoffcrypto.exceptions import DecryptionError, FileFormatError
from msoffcrypto.format.ooxml import OOXMLFile

# Nothing can be imported once a reader is confined, and this is loaded when it is first asked for.
default_backend()

_PASSWORD = "VelvetSweatshop"  # noqa: S105  known to everybody
# A damaged container or key is as locked as one with another password.
_LOCKED = (
    DecryptionError,
    FileFormatError,
    ExpatError,
    AttributeError,
    IndexError,
    KeyError,
    OSError,
    TypeError,
    ValueError,
    struct.error,
)


def decrypted(path: Path) -> bytes | None:
    """None for what stays locked."""
    package = io.BytesIO()
    with path.open("rb") as file:
        try:
            locked = OOXMLFile(file)
            locked.load_key(password=_PASSWORD, verify_password=True)
            locked.decrypt(package)
        except _LOCKED:
            return None
    return package.getvalue()
