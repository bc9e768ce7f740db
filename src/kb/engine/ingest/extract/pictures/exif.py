"""Reads what cameras and people wrote into a picture: EXIF, XMP, comments."""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from lxml import etree
from PIL.ExifTags import GPS, IFD, Base
from PIL.Image import Image

from kb.engine.ingest.extract.about import line

_MAX_XMP = 2**20  # bytes
_LONGEST = 2_000  # characters of a description
_PARSER = etree.XMLParser(
    resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True
)
_DUBLIN_CORE = "{http://purl.org/dc/elements/1.1/}"
_RDF = "{http://www.w3.org/1999/02/22-rdf-syntax-ns#}"
_DATE = re.compile(r"(\d{4})[:-](\d\d)[:-](\d\d)[ T](\d\d):(\d\d):(\d\d)")
_ZONE = re.compile(r"[+-]\d\d:\d\d")
# What programs write where a person could have described the picture.
_NO_WORDS = re.compile(
    r"(?:created with|optimized by|converted by|created by|made with|lavc|ezgif|screenshot$|"
    r"ascii\0|charset=|copyright|olympus digital camera|samsung|sony dsc|default|untitled|"
    r"image$|null)",
    re.IGNORECASE,
)
_CHUNKS = ("Title", "Description", "Comment", "comment")  # of PNG and GIF; JPEG has a comment


@dataclass(frozen=True, slots=True)
class Facts:
    """`captions` are in people's words; times are ISO 8601, without a zone where none is told."""

    captions: tuple[str, ...] = ()
    title: str | None = None
    author: str | None = None
    keywords: str | None = None
    created: str | None = None
    camera: str | None = None
    place: tuple[float, float] | None = None  # degrees north and east
    screenshot: bool = False


def facts(picture: Image) -> Facts:
    """Whatever can be read of it; damaged values count as missing."""
    try:
        exif = dict(picture.getexif())
        details = dict(picture.getexif().get_ifd(IFD.Exif))
        place = _place(dict(picture.getexif().get_ifd(IFD.GPSInfo)))
    except (OSError, ValueError, LookupError, TypeError, SyntaxError, ArithmeticError):
        exif, details, place = {}, {}, None
    xmp = _xmp(picture.info.get("xmp"))
    comment = _text(details.get(Base.UserComment))
    written = [
        _first(xmp, "title"),
        _text(exif.get(Base.XPTitle)),
        _first(xmp, "description"),
        _text(exif.get(Base.ImageDescription)),
        _text(exif.get(Base.XPComment)),
        comment,
        *(_text(picture.info.get(name)) for name in _CHUNKS),
    ]
    captions = dict.fromkeys(text for text in written if text and not _NO_WORDS.match(text))
    titles = [_first(xmp, "title"), _text(exif.get(Base.XPTitle)), _text(picture.info.get("Title"))]
    return Facts(
        captions=tuple(captions),
        title=next((title for title in titles if title in captions), None),
        author=_text(exif.get(Base.Artist)) or _first(xmp, "creator") or None,
        keywords=", ".join(xmp.get("subject", [])) or _text(exif.get(Base.XPKeywords)) or None,
        created=_created(exif, details),
        camera=_camera(_text(exif.get(Base.Make)), _text(exif.get(Base.Model))),
        place=place,
        screenshot=comment.lower() == "screenshot",
    )


def _text(value: Any) -> str:
    """EXIF holds text as text or as bytes, and Windows writes its own tags in UTF-16."""
    if isinstance(value, tuple) and all(isinstance(part, int) for part in value):
        value = bytes(part & 0xFF for part in value)
    if isinstance(value, bytes):
        if value[:8] in (b"ASCII\0\0\0", b"UNICODE\0", b"JIS\0\0\0\0\0", bytes(8)):
            wide = value.startswith(b"UNICODE")
            value = value[8:].decode("utf-16" if wide else "utf-8", "ignore")
        else:
            wide = len(value) % 2 == 0 and value[1:2] == b"\0"
            value = value.decode("utf-16-le" if wide else "utf-8", "ignore")
    if not isinstance(value, str):
        return ""
    return " ".join(_printable(value[:_LONGEST]).split())


def _printable(text: str) -> str:
    return "".join(
        character for character in text if character.isprintable() or character.isspace()
    )


def _xmp(data: Any) -> dict[str, list[str]]:
    """The values of Dublin Core: title, description, creator, subject."""
    if isinstance(data, str):
        data = data.encode()
    if not isinstance(data, bytes) or len(data) > _MAX_XMP or b"<!DOCTYPE" in data:
        return {}
    try:
        root = etree.fromstring(data.strip(b"\0 \n\r\t"), _PARSER)
    except (etree.XMLSyntaxError, ValueError):
        return {}
    found: dict[str, list[str]] = {}
    for element in root.iter(f"{_DUBLIN_CORE}*") if root is not None else ():
        values = [line(value) for value in _values(element)]
        found.setdefault(element.tag.removeprefix(_DUBLIN_CORE), []).extend(filter(None, values))
    return found


def _values(element: Any) -> Iterator[str]:
    items = list(element.iter(f"{_RDF}li"))
    for item in items or [element]:
        yield item.text or ""


def _first(xmp: dict[str, list[str]], name: str) -> str:
    return next(iter(xmp.get(name, [])), "")


def _created(exif: dict[int, Any], details: dict[int, Any]) -> str | None:
    told = (details.get(Base.DateTimeOriginal), details.get(Base.DateTimeDigitized))
    match = next(filter(None, (_DATE.match(_text(value)) for value in told)), None)
    match = match or _DATE.match(_text(exif.get(Base.DateTime)))
    if match is None:
        return None
    try:
        moment = datetime.strptime("".join(match.groups()), "%Y%m%d%H%M%S")
    except ValueError:  # a camera whose clock was never set
        return None
    zone = _text(details.get(Base.OffsetTimeOriginal))
    return moment.isoformat() + (zone if _ZONE.fullmatch(zone) else "")


def _camera(make: str, model: str) -> str | None:
    """Most makers begin the model with their own name."""
    if model.lower().startswith(make.split(" ")[0].lower()):
        make = ""
    return line(f"{make} {model}") or None


def _place(gps: dict[int, Any]) -> tuple[float, float] | None:
    north = _degrees(gps.get(GPS.GPSLatitude), gps.get(GPS.GPSLatitudeRef), "S", 90)
    east = _degrees(gps.get(GPS.GPSLongitude), gps.get(GPS.GPSLongitudeRef), "W", 180)
    if north is None or east is None or (north == 0 and east == 0):
        return None  # a phone that did not know writes zeros
    return north, east


def _degrees(parts: Any, reference: Any, negative: str, most: int) -> float | None:
    if not isinstance(parts, tuple) or len(parts) != 3:
        return None
    degrees = float(parts[0]) + float(parts[1]) / 60 + float(parts[2]) / 3600
    if not math.isfinite(degrees) or abs(degrees) > most:
        return None
    return round(-degrees if _text(reference).upper() == negative else degrees, 5)
