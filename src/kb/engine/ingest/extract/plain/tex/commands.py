"""What the commands of LaTeX mean for somebody who looks for words."""

import unicodedata

HEADINGS = {
    "part": 1,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "subparagraph": 6,
    "title": 1,
    "frametitle": 2,
    "framesubtitle": 3,
}
# How many arguments of a command say something to TeX alone.
UNSEEN = {
    **dict.fromkeys(
        (
            *("label", "usepackage", "RequirePackage", "documentclass", "documentstyle"),
            *("bibliographystyle", "pagestyle", "thispagestyle", "pagenumbering", "hypersetup"),
            *("vspace", "hspace", "color", "selectlanguage", "hyphenation", "geometry"),
            *(
                "usetikzlibrary",
                "newcounter",
                "stepcounter",
                "refstepcounter",
                "phantom",
                "vphantom",
            ),
            *("usetheme", "usecolortheme", "graphicspath", "lstset", "setstretch", "hphantom"),
            *("bibliography", "addbibresource", "ProvidesPackage", "input@path", "newlength"),
            *("arraystretch", "makeatletter", "cline", "cmidrule", "nocite"),
        ),
        1,
    ),
    **dict.fromkeys(
        (
            *("setlength", "addtolength", "setcounter", "addtocounter"),
            *("definecolor", "DeclareMathOperator", "newtheorem", "newcommand", "renewcommand"),
            *("providecommand", "DeclareRobustCommand", "newcolumntype", "settowidth", "let"),
        ),
        2,
    ),
    "rule": 2,
    "fontsize": 2,
    "usefont": 4,
    "newenvironment": 3,
    "renewenvironment": 3,
    "multicolumn": 2,
    "multirow": 2,
    "textcolor": 1,
    "colorbox": 1,
    "raisebox": 1,
    "parbox": 1,
    "resizebox": 2,
    "scalebox": 1,
    "rotatebox": 1,
    "foreignlanguage": 1,
}
# What stands before and after what a command is given.
AROUND = {
    "footnote": (" (Footnote: ", ")"),
    "footnotetext": (" (Footnote: ", ")"),
    "thanks": (" (", ")"),
    "marginpar": (" (", ")"),
    "cite": ("[", "]"),
    "citep": ("[", "]"),
    "citet": ("[", "]"),
    "autocite": ("[", "]"),
    "parencite": ("[", "]"),
    **dict.fromkeys(("ref", "autoref", "cref", "Cref", "eqref", "pageref"), ("[", "]")),
    "includegraphics": ("[Image: ", "]"),
    "input": ("[File: ", "]"),
    "include": ("[File: ", "]"),
    "subfile": ("[File: ", "]"),
    "href": ("", " "),
}
SAID = {
    "LaTeX": "LaTeX",
    "LaTeXe": "LaTeX2e",
    "TeX": "TeX",
    "BibTeX": "BibTeX",
    "ldots": "…",
    "dots": "…",
    "textellipsis": "…",
    "textbackslash": "\\",
    "textasciitilde": "~",
    "textasciicircum": "^",
    "textbar": "|",
    "textless": "<",
    "textgreater": ">",
    "textbullet": "•",
    "textregistered": "®",
    "texttrademark": "™",
    "copyright": "©",
    "pounds": "£",
    "euro": "€",
    "textdegree": "°",
    "S": "§",
    "P": "¶",
    "dag": "†",
    "ddag": "‡",
    "ss": "ß",
    "ae": "æ",
    "AE": "Æ",
    "oe": "œ",
    "OE": "Œ",
    "o": "ø",
    "O": "Ø",
    "aa": "å",
    "AA": "Å",
    "l": "ł",
    "L": "Ł",
    "i": "ı",
    "j": "ȷ",
    "quad": " ",
    "qquad": " ",
    "newline": " ",
    "par": " ",
    "textquoteleft": "‘",
    "textquoteright": "’",
    "textquotedblleft": "“",
    "textquotedblright": "”",
    "glqq": "„",
    "grqq": "“",
    "textendash": "–",
    "textemdash": "—",
    "backslash": "\\",
}
_ACCENTS = {
    "`": "\u0300",
    "'": "\u0301",
    "^": "\u0302",
    "~": "\u0303",
    "=": "\u0304",
    "u": "\u0306",
    ".": "\u0307",
    '"': "\u0308",
    "r": "\u030a",
    "H": "\u030b",
    "v": "\u030c",
    "d": "\u0323",
    "c": "\u0327",
    "k": "\u0328",
    "b": "\u0331",
}
_DOTLESS = {"\\i": "i", "\\j": "j", "ı": "i", "ȷ": "j"}
VERBATIM = frozenset(
    {"verbatim", "verbatim*", "Verbatim", "lstlisting", "minted", "alltt", "semiverbatim"}
)
COMMENTS = frozenset({"comment"})
_MATHS = ("equation", "align", "gather", "multline", "eqnarray", "displaymath", "math", "flalign")
MATHS = frozenset((*_MATHS, *(f"{name}*" for name in _MATHS)))
TABLES = frozenset(
    {"tabular", "tabular*", "tabularx", "longtable", "array", "tabulary", "supertabular"}
)


def accented(mark: str, letter: str) -> str:
    """`\\"` and `a` are `ä`; the letter alone where there is no such character."""
    plain = _DOTLESS.get(letter, letter)
    return unicodedata.normalize("NFC", plain + _ACCENTS[mark]) if plain.isalpha() else plain


def is_accent(mark: str) -> bool:
    return mark in _ACCENTS
