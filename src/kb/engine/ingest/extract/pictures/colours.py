"""The everyday name of a colour."""

import colorsys

_HUES = (  # up to which angle of the colour wheel
    (15, "red"),
    (45, "orange"),
    (70, "yellow"),
    (165, "green"),
    (200, "turquoise"),
    (255, "blue"),
    (290, "purple"),
    (335, "pink"),
    (360, "red"),
)


def colour_name(red: int, green: int, blue: int) -> str:
    """One of a dozen names, for parts of 0 to 255."""
    hue, lightness, saturation = colorsys.rgb_to_hls(red / 255, green / 255, blue / 255)
    if lightness < 0.08:
        return "black"
    if lightness > 0.95:
        return "white"
    if saturation < 0.12:
        return "grey"
    name = next(name for end, name in _HUES if hue * 360 <= end)
    return "brown" if name in ("orange", "red") and lightness < 0.3 and saturation < 0.9 else name
