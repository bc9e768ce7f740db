"""The control words of RTF that a reader of text needs, by what they are for."""

SIGNS = {
    "tab": "\t",
    "line": "\n",
    "lbr": "\n",
    "emdash": "—",
    "endash": "–",
    "emspace": " ",
    "enspace": " ",
    "qmspace": " ",
    "bullet": "•",
    "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“",
    "rdblquote": "”",
    # Tables inside a cell are parted like this: `a, b; c, d`.
    "nestcell": ", ",
    "nestrow": "; ",
}
SYMBOLS = {"~": "\u00a0", "_": "-", "\\": "\\", "{": "{", "}": "}"}

ABOUT = frozenset({"title", "subject", "author", "keywords", "doccomm"})
MARKS = frozenset({"listtext", "pntext"})  # what stands before an item of a list
CAPTURED = ABOUT | MARKS | {"sn", "sv", "atnauthor"}  # short texts that are kept aside
MARGINS = frozenset(f"{part}{which}" for part in ("header", "footer") for which in ["lrf", ""])
STORIES = frozenset({"footnote", "annotation", "shptxt"}) | MARGINS  # texts of their own
TABLES = frozenset({"fonttbl", "stylesheet", "info", "creatim", "revtim"})
MUTE = frozenset({"pict", "picprop", "shpinst", "sp"})  # with properties in them, but no text
SHAPES = frozenset({"picprop", "shpinst"})  # what properties of pictures stand in
_SKIPPED = """
    colortbl fldinst nonshppict shprslt objdata objclass nonesttables xe tc rxe bkmkstart bkmkend
    filetbl listtable listoverridetable revtbl falt panose printim buptim operator pntxta pntxtb
    mmathPict datafield
"""
SKIPPED = frozenset(_SKIPPED.split())
TRANSPARENT = frozenset({"shppict", "shp", "field", "fldrslt", "object", "result", "moMath"})
DESTINATIONS = CAPTURED | STORIES | TABLES | MUTE | SKIPPED | TRANSPARENT
