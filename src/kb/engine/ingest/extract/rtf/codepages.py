"""The charsets that RTF names by numbers."""

import codecs

DEFAULT = "cp1252"
_BY_CHARSET = {  # of fonts, as Windows counts them
    0: "cp1252",
    77: "mac_roman",
    78: "shift_jis",
    79: "euc_kr",
    80: "gbk",
    81: "big5",
    85: "mac_greek",
    86: "mac_turkish",
    88: "mac_latin2",
    89: "mac_cyrillic",
    128: "cp932",
    129: "cp949",
    130: "johab",
    134: "gbk",
    136: "cp950",
    161: "cp1253",
    162: "cp1254",
    163: "cp1258",
    177: "cp1255",
    178: "cp1256",
    186: "cp1257",
    204: "cp1251",
    222: "cp874",
    238: "cp1250",
    254: "cp437",
    255: "cp850",
}
_BY_PAGE = {
    936: "gbk",
    1361: "johab",
    10000: "mac_roman",
    10001: "shift_jis",
    10002: "big5",
    10003: "euc_kr",
    10006: "mac_greek",
    10007: "mac_cyrillic",
    10008: "gbk",
    10029: "mac_latin2",
    10081: "mac_turkish",
    65001: "utf-8",
}
SIGN_FONTS = 2  # the charset of fonts that have signs instead of letters


def of_charset(number: int | None) -> str | None:
    """None for a font that goes by the whole document."""
    return _BY_CHARSET.get(-1 if number is None else number)


def of_page(number: int) -> str:
    name = _BY_PAGE.get(number, f"cp{number}")
    try:
        codecs.lookup(name)
    except LookupError:
        return DEFAULT
    return name


# Nothing can be imported any more once the reader is confined.
for _name in {
    *_BY_CHARSET.values(),
    *_BY_PAGE.values(),
    *(f"cp{page}" for page in range(1250, 1259)),
}:
    codecs.lookup(_name)
