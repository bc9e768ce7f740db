"""The characters that symbol fonts show in place of letters, such as Greek ones and ticks.
Documents name them by codes, often in Unicode's private area (F000 to F0FF), where no search finds
them."""

_GREEK_AND_MATHS = (
    " !∀#∃%&∋()∗+,−./0123456789:;<=>?"
    "≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_"
    "‾αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼ "
)
_MORE_MATHS = "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…|—↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑"
_FONTS = {
    "symbol": {
        **dict(enumerate(_GREEK_AND_MATHS, start=0x20)),
        **dict(enumerate(_MORE_MATHS, start=0xA0)),
        0xF1: "〉",
        0xF2: "∫",
    },
    "wingdings": {
        **dict(zip((0x28, 0x2A, 0x4A, 0x4C, 0x6C, 0x6E, 0x6F, 0x71), "☎✉☺☹●■☐❑", strict=True)),
        **dict(zip((0x76, 0xA7, 0xA8, 0xD8, 0xDF, 0xE0, 0xE1, 0xE2), "❖▪☐➢←→↑↓", strict=True)),
        **dict(zip((0xE8, 0xF0, 0xFB, 0xFC, 0xFD, 0xFE), "➔⇨✗✓☒☑", strict=True)),
    },
    "wingdings 2": dict(zip((0x4F, 0x50, 0x51, 0x52, 0xA3), "✗✓☒☑☐", strict=True)),
}
_BULLET = 0xF0B7  # in whatever font
_PRIVATE = range(0xE000, 0xF900)
_HALVES = range(0xD800, 0xE000)  # of characters, which alone are none


def symbol(font: str, code: str) -> str:
    """`code` is hexadecimal; empty for a sign that has no character of its own."""
    try:
        place = int(code[:8], 16)
    except ValueError:
        return ""
    name = font.lower()
    signs = _FONTS.get("symbol" if name.endswith(" symbol") else name)  # Euclid Symbol, MT Symbol
    if signs is not None:
        return signs.get(place & 0xFF, "") if place < 0x100 or place in _PRIVATE else ""
    if place == _BULLET:
        return "•"
    if place in _PRIVATE or place in _HALVES or not 0x20 <= place < 0x110000:
        return ""
    return chr(place)
