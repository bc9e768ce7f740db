"""Pictures in a book, and the chapters they stand in."""

import posixpath
import re
from collections.abc import Iterator
from functools import partial
from html import unescape
from urllib.parse import unquote

from kb.engine.ingest.extract.beside import beside
from kb.engine.ingest.extract.charset import decode
from kb.engine.ingest.extract.extraction import Extraction, Source
from kb.engine.ingest.extract.pictures.inside.counting import is_picture
from kb.engine.ingest.extract.pictures.inside.picture import Found, extraction
from kb.engine.ingest.extract.zip_package import Package

_SHOWN = re.compile(
    r"<(?:img|image|(?:\w{1,20}:)image)\b[^<>]{0,2000}?\b(?:src|href)\s*=\s*[\"']([^\"'<>]{1,1000})",
    re.IGNORECASE,
)
_HEADING = re.compile(r"<(h[1-6])\b[^<>]*>(.*?)</\1", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<[^<>]*>?")
_BEFORE = 2_000  # characters of markup that are looked at for the words before a picture


def extract(source: Source) -> Extraction:
    package = Package(source.path, source.filename)
    return extraction("epub", source, list(_found(package)))


def _found(package: Package) -> Iterator[Found]:
    for name in _spine(package):
        markup = decode(package.read(name))
        heading = _HEADING.search(markup)
        chapter = " ".join(unescape(_TAG.sub(" ", heading[2])).split())[:100] if heading else ""
        for match in _SHOWN.finditer(markup):
            target = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(match[1])))
            if target in package and is_picture(target, anywhere=True):
                before = markup[max(0, match.start() - _BEFORE) : match.start()]
                words = unescape(_TAG.sub(" ", before.partition(">")[2] or before))
                place = f"in “{chapter}”, {beside(words)}" if chapter else beside(words)
                yield Found(place, partial(package.read, target))


def _spine(package: Package) -> list[str]:
    """The files of the book in the order in which they are read."""
    mains = [name for name in package.names if name.lower().endswith(".opf")]
    if not mains:
        return []
    root, folder = package.xml(mains[0], doctype=True), posixpath.dirname(mains[0])
    names = {
        item.get("id"): posixpath.normpath(posixpath.join(folder, unquote(item.get("href", ""))))
        for item in root.iter("{*}item")
    }
    spine = [names.get(each.get("idref")) for each in root.iter("{*}itemref")]
    return [name for name in spine if name is not None and name in package]
