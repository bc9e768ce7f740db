"""Describes a picture without text in a few words, so that it can be found at all."""

import colorsys
from collections import Counter
from datetime import datetime

from PIL.Image import Image, Resampling

from kb.engine.ingest.extract.pictures.colours import colour_name
from kb.engine.ingest.extract.pictures.exif import Facts

_THUMBNAIL = 48  # pixels on the longer side: enough to count colours
_STEP = 255 / 7  # of a colour's parts: nearer shades are one
_SHARE = 0.15  # of the picture; a colour with less is not named
_MOST_COLOURS = 3
_PLAIN = frozenset({"black", "white"})


def describe(picture: Image, name: str, size: tuple[int, int], facts: Facts) -> str:
    """What it is, when, where and by what it was taken, and its colours. Unless a camera says so,
    whether it is a photograph is a guess."""
    kind = "Photograph" if facts.camera else "Screenshot" if facts.screenshot else "Picture"
    sentences = [f"{kind} ({name}, {size[0]} × {size[1]} pixels)"]
    taken = [_when(facts.created), f"with {facts.camera}" if facts.camera else ""]
    if any(taken):
        sentences.append(f"Taken {' '.join(filter(None, taken))}")
    if facts.place:
        sentences.append(f"Place: {in_words(facts.place)}")
    colours = dominant_colours(picture)
    if colours:
        sentences.append(f"Mostly {_listed(colours)}")
    return "\n".join([*facts.captions, ". ".join(sentences) + "."])


def in_words(place: tuple[float, float]) -> str:
    north, east = place
    latitude = f"{abs(north):.5f}° {'north' if north >= 0 else 'south'}"
    return f"{latitude}, {abs(east):.5f}° {'east' if east >= 0 else 'west'}"


def dominant_colours(picture: Image) -> list[str]:
    """The colours that fill most of a picture, the largest first."""
    small = picture.convert("RGB")
    small.thumbnail((_THUMBNAIL, _THUMBNAIL), Resampling.BOX)
    pixels = small.width * small.height
    counts: Counter[str] = Counter()
    for count, colour in small.getcolors(pixels) or []:
        assert isinstance(colour, tuple)
        red, green, blue = (round(round(part / _STEP) * _STEP) for part in colour[:3])
        counts[_shade(red, green, blue)] += count
    return [name for name, count in counts.most_common(_MOST_COLOURS) if count >= _SHARE * pixels]


def _shade(red: int, green: int, blue: int) -> str:
    name = colour_name(red, green, blue)
    lightness = colorsys.rgb_to_hls(red / 255, green / 255, blue / 255)[1]
    if name in _PLAIN:
        return name
    return f"dark {name}" if lightness < 0.3 else f"light {name}" if lightness > 0.75 else name


def _when(created: str | None) -> str:
    """`on 14 March 2023 at 15:09`, by the clock of the camera."""
    if created is None:
        return ""
    moment = datetime.fromisoformat(created)
    return f"on {moment.day} {moment:%B %Y} at {moment:%H:%M}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
