"""Pictures embedded in a web page, and their places."""

import base64
import re
from collections.abc import Iterator
from functools import partial
from html import unescape

from kb.engine.ingest.extract.beside import beside
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.pictures.inside.picture import Found, extraction
from kb.engine.ingest.extract.plain.text import read_text

_MAX_BYTES = 64 * 2**20
_PICTURE = re.compile(
    r"data:image/(?:png|jpe?g|gif|webp|bmp);base64,([A-Za-z0-9+/=%\s]{500,})", re.IGNORECASE
)
_UNSEEN = re.compile(r"<(script|style)\b.*?(?:</\1\s*>|$)", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>?")
_BEFORE = 2_000  # characters of markup that are looked at for the words before a picture


def extract(source: Source) -> Extraction:
    return extraction("html", source, list(_found(read_text(source, _MAX_BYTES))))


def _found(markup: str) -> Iterator[Found]:
    end = 0
    for match in _PICTURE.finditer(markup):
        before = markup[max(end, match.start() - _BEFORE) : match.start()]
        before = before[: before.rfind("<")] if "<" in before else before
        words = unescape(_TAG.sub(" ", _UNSEEN.sub(" ", before)))
        end = match.end()
        yield Found(beside(words), partial(_decoded, match[1]))


def _decoded(written: str) -> bytes:
    try:
        return base64.b64decode("".join(written.replace("%0A", "").replace("%3D", "=").split()))
    except ValueError:
        return b""
