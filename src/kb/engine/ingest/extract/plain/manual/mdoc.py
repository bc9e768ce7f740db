"""Lines of mdoc, the macros of BSD's manuals, as words: `.Op Fl v Ar file` is `[-v file]`."""

from collections.abc import Iterator

_AROUND = {
    "Op": "[]",
    "Bq": "[]",
    "Pq": "()",
    "Aq": "<>",
    "Brq": "{}",
    "Dq": "“”",
    "Sq": "‘’",
    "Qq": '""',
    "Ql": "‘’",
}
_OPEN = {"Oo": "[", "Bo": "[", "Po": "(", "Ao": "<", "Bro": "{", "Do": "“", "So": "‘", "Qo": '"'}
_CLOSE = {"Oc": "]", "Bc": "]", "Pc": ")", "Ac": ">", "Brc": "}", "Dc": "”", "Sc": "’", "Qc": '"'}
_UNSEEN = """
    Ad An Ap Ar At Bsx Bx Cd Cm Dv Em Er Ev Fa Fd Fn Fr Ft Fx Ic In Li Lk Lb Ms Mt Nd Nm No Ns Nx Ox
    Pa Pf Rv St Sx Sy Tn Ux Va Vt Xc Xo Fl Xr
"""
MACROS = frozenset([*_AROUND, *_OPEN, *_CLOSE, *_UNSEEN.split()])
_ENDS = frozenset(".,;:)]?!")
_BEGINS = frozenset("([")


def words(parts: list[str], page: str) -> str:
    """What these macros and words show on the page of that name."""
    text, close, glued = "", "", True
    for word, joined in _pieces(parts, page):
        if word in _AROUND:
            text += ("" if glued else " ") + _AROUND[word][0]
            close, glued = _AROUND[word][1] + close, True
        elif word in _CLOSE or (word in _ENDS and text):
            text, glued = text + _CLOSE.get(word, word), False
        elif word == "Ns":
            glued = True
        else:
            text += ("" if glued else " ") + _OPEN.get(word, word)
            glued = joined or word in _OPEN or word in _BEGINS
    ends = len(text) - len(text.rstrip(".,;:")) if close else 0
    return text[: len(text) - ends] + close + text[len(text) - ends :]


def _pieces(parts: list[str], page: str) -> Iterator[tuple[str, bool]]:
    """Each word to show or macro to follow, and whether the next is joined to it."""
    for at, part in enumerate(parts):
        following = parts[at + 1] if at + 1 < len(parts) else ""
        is_alone = not following or following in MACROS or following in _ENDS
        if part == "Fl":
            yield "-", not is_alone
        elif part == "Nm" and is_alone:
            yield page, False
        elif part == "Ar" and is_alone:
            yield "file …", False
        elif part == "Ap":
            yield "'", True
        elif part == "Nd":
            yield "—", False
        elif part == "Pf":
            yield following, True
        elif at and parts[at - 1] == "Pf":
            continue
        elif at > 1 and parts[at - 2] == "Xr":
            yield "Ns", True
            yield f"({part})", False
        elif part in MACROS and part not in _AROUND and part not in _OPEN and part not in _CLOSE:
            if part == "Ns":
                yield part, True
        else:
            yield part, False
