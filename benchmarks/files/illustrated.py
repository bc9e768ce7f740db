"""Small documents of every kind that has pictures inside, made of texts and pictures."""

import base64
import io
import zipfile
from collections.abc import Mapping, Sequence

from PIL import Image, ImageDraw

RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SCHEMAS = "http://schemas.openxmlformats.org"
ODF = "urn:oasis:names:tc:opendocument:xmlns"
WORDS = {
    "w": f"{SCHEMAS}/wordprocessingml/2006/main",
    "a": f"{SCHEMAS}/drawingml/2006/main",
    "p": f"{SCHEMAS}/presentationml/2006/main",
    "x": f"{SCHEMAS}/drawingml/2006/spreadsheetDrawing",
    "r": RELATIONS,
    "office": f"{ODF}:office:1.0",
    "text": f"{ODF}:text:1.0",
    "draw": f"{ODF}:drawing:1.0",
    "table": f"{ODF}:table:1.0",
    "xlink": "http://www.w3.org/1999/xlink",
}
NAMES = " ".join(f'xmlns:{name}="{address}"' for name, address in WORDS.items())

_Targets = Mapping[str, tuple[str, str]]
_Parts = Mapping[str, str | bytes]


def picture(text: str, size: tuple[int, int] = (560, 110)) -> bytes:
    """A PNG with a line of text."""
    image = Image.new("L", size, "white")
    ImageDraw.Draw(image).text((20, 30), text, fill="black", font_size=40)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


def docx(text: str, *pictures: bytes) -> bytes:
    shown = "".join(
        f'<w:p><w:r><a:blip r:embed="i{at}"/></w:r></w:p>' for at in range(len(pictures))
    )
    body = (f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" if text else "") + shown
    return _office(
        "word/document.xml",
        f"<w:document {NAMES}><w:body>{body}</w:body></w:document>",
        {f"i{at}": ("image", f"media/{at}.png") for at in range(len(pictures))},
        {f"word/media/{at}.png": each for at, each in enumerate(pictures)},
    )


def pptx(text: str, *pictures: bytes) -> bytes:
    shown = "".join(
        f'<p:pic><p:blipFill><a:blip r:embed="i{at}"/></p:blipFill></p:pic>'
        for at in range(len(pictures))
    )
    words = f"<p:sp><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
    tree = f"<p:cSld><p:spTree>{words}{shown}</p:spTree></p:cSld>"
    slide = f"<p:sld {NAMES}>{tree}</p:sld>"
    images = {f"i{at}": ("image", f"../media/{at}.png") for at in range(len(pictures))}
    return _office(
        "ppt/presentation.xml",
        f'<p:presentation {NAMES}><p:sldIdLst><p:sldId r:id="s"/></p:sldIdLst></p:presentation>',
        {"s": ("slide", "slides/slide1.xml")},
        {
            "ppt/slides/slide1.xml": slide,
            "ppt/slides/_rels/slide1.xml.rels": _relations(images),
            **{f"ppt/media/{at}.png": each for at, each in enumerate(pictures)},
        },
    )


def xlsx(text: str, *pictures: bytes) -> bytes:
    sheet_names = f'xmlns="{SCHEMAS}/spreadsheetml/2006/main" xmlns:r="{RELATIONS}"'
    cell = f'<row r="1"><c r="A1" t="inlineStr"><is><t>{text}</t></is></c></row>'
    anchors = "".join(
        f"<x:oneCellAnchor><x:from><x:col>1</x:col><x:row>4</x:row></x:from>"
        f'<a:blip r:embed="i{at}"/></x:oneCellAnchor>'
        for at in range(len(pictures))
    )
    images = {f"i{at}": ("image", f"../media/{at}.png") for at in range(len(pictures))}
    drawing = {"d": ("drawing", "../drawings/drawing1.xml")}
    sheets = '<sheets><sheet name="Plan" sheetId="1" r:id="s"/></sheets>'
    cells = f'<sheetData>{cell}</sheetData><drawing r:id="d"/>'
    return _office(
        "xl/workbook.xml",
        f"<workbook {sheet_names}>{sheets}</workbook>",
        {"s": ("worksheet", "worksheets/sheet1.xml")},
        {
            "xl/worksheets/sheet1.xml": f"<worksheet {sheet_names}>{cells}</worksheet>",
            "xl/worksheets/_rels/sheet1.xml.rels": _relations(drawing),
            "xl/drawings/drawing1.xml": f"<x:wsDr {NAMES}>{anchors}</x:wsDr>",
            "xl/drawings/_rels/drawing1.xml.rels": _relations(images),
            **{f"xl/media/{at}.png": each for at, each in enumerate(pictures)},
        },
    )


def odt(text: str, *pictures: bytes) -> bytes:
    return _opendocument("text", f"<text:p>{text}</text:p>{_frames(pictures)}", pictures)


def odp(text: str, *pictures: bytes) -> bytes:
    words = f"<draw:frame><draw:text-box><text:p>{text}</text:p></draw:text-box></draw:frame>"
    slide = f"<draw:page>{words}{_frames(pictures)}</draw:page>"
    return _opendocument("presentation", slide, pictures)


def ods(text: str, *pictures: bytes) -> bytes:
    row = f"<table:table-cell><text:p>{text}</text:p></table:table-cell>"
    shapes = f"<table:shapes>{_frames(pictures)}</table:shapes>"
    rows = f"<table:table-row>{row}</table:table-row>"
    table = f'<table:table table:name="Plan">{shapes}{rows}</table:table>'
    return _opendocument("spreadsheet", table, pictures)


def html(text: str, *pictures: bytes) -> bytes:
    shown = "".join(
        f'<img src="data:image/png;base64,{base64.b64encode(each).decode()}">' for each in pictures
    )
    return f"<html><body><h1>Report</h1><p>{text}</p>{shown}</body></html>".encode()


def epub(text: str, *pictures: bytes) -> bytes:
    names = [f"{at}.png" for at in range(len(pictures))]
    shown = "".join(f'<img src="{name}"/>' for name in names)
    chapter = f"<html><body><h1>One</h1><p>{text}</p>{shown}</body></html>"
    item = '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/>'
    spine = f'<manifest>{item}</manifest><spine><itemref idref="c"/></spine>'
    return _zipped(
        {
            "mimetype": "application/epub+zip",
            "book.opf": f'<package xmlns="http://www.idpf.org/2007/opf">{spine}</package>',
            "c.xhtml": chapter,
            **dict(zip(names, pictures, strict=True)),
        }
    )


KINDS = {
    "docx": docx,
    "pptx": pptx,
    "xlsx": xlsx,
    "odt": odt,
    "odp": odp,
    "ods": ods,
    "html": html,
    "epub": epub,
}


def _frames(pictures: Sequence[bytes]) -> str:
    return "".join(
        f'<draw:frame><draw:image xlink:href="Pictures/{at}.png"/></draw:frame>'
        for at in range(len(pictures))
    )


def _opendocument(kind: str, body: str, pictures: Sequence[bytes]) -> bytes:
    content = f"<office:body><office:{kind}>{body}</office:{kind}></office:body>"
    return _zipped(
        {
            "mimetype": f"application/vnd.oasis.opendocument.{kind}",
            "content.xml": f"<office:document-content {NAMES}>{content}</office:document-content>",
            **{f"Pictures/{at}.png": each for at, each in enumerate(pictures)},
        }
    )


def _office(main: str, content: str, relations: _Targets, parts: _Parts) -> bytes:
    folder, _, name = main.rpartition("/")
    return _zipped(
        {
            "[Content_Types].xml": "<Types/>",
            "_rels/.rels": _relations({"m": ("officeDocument", main)}),
            main: content,
            f"{folder}/_rels/{name}.rels": _relations(relations),
            **parts,
        }
    )


def _relations(targets: _Targets) -> str:
    entries = "".join(
        f'<Relationship Id="{id_}" Type="{RELATIONS}/{kind}" Target="{target}"/>'
        for id_, (kind, target) in targets.items()
    )
    return f'<Relationships xmlns="{SCHEMAS}/package/2006/relationships">{entries}</Relationships>'


def _zipped(parts: _Parts) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file.getvalue()
