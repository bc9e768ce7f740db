"""A short hash of everything known about a document.

The command and the engine compute it in the same way, so that one can ask the other whether a
document is unchanged without sending it.
"""

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from kb.imports.item import Json


def digest(
    *,
    title: str,
    content_hash: str,
    filename: str | None,
    source_path: str | None,
    tags: Iterable[str],
    metadata: Json,
    created_at: str | None,
) -> str:
    """Without the time of the last change: what was changed and changed back is as it was."""
    said = [title, content_hash, filename, source_path, sorted(set(tags)), metadata, created_at]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()


def digest_of(document: Any) -> str:
    """Of anything that has what is known of a document under those names."""
    known = ("title", "content_hash", "filename", "source_path", "tags", "metadata", "created_at")
    return digest(**{name: getattr(document, name) for name in known})
