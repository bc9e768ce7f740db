"""Small Office files for tests, written by hand: what no program would write, and nothing else."""

import zipfile
from pathlib import Path

OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
P = "http://schemas.openxmlformats.org/presentationml/2006/main"
A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_LINKS = "http://schemas.openxmlformats.org/package/2006/relationships"


def zipped(path: Path, parts: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return path


def links(**targets: str) -> str:
    """`styles="styles.xml"` relates a part to its styles, under the id `styles`. What comes several
    times is numbered: `worksheet_2`."""
    entries = (
        f'<Relationship Id="{name}" Type="{OFFICE}/{name.partition("_")[0]}" Target="{target}"/>'
        for name, target in targets.items()
    )
    return f'<Relationships xmlns="{_LINKS}">{"".join(entries)}</Relationships>'


def docx(path: Path, body: str, **parts: str) -> Path:
    """`styles=...` is the inside of that part, and so on."""
    files: dict[str, str | bytes] = {
        "_rels/.rels": links(officeDocument="word/document.xml"),
        "word/_rels/document.xml.rels": links(**{name: f"{name}.xml" for name in parts}),
        "word/document.xml": f'<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>',
    }
    for name, inside in parts.items():
        files[f"word/{name}.xml"] = f'<w:{name} xmlns:w="{W}">{inside}</w:{name}>'
    return zipped(path, files)


def p(text: str = "", properties: str = "", before: str = "") -> str:
    run = f"<w:r><w:t>{text}</w:t></w:r>" if text else ""
    return f"<w:p><w:pPr>{properties}</w:pPr>{before}{run}</w:p>"


def table(*rows: list[str]) -> str:
    """Of cells with what is inside them."""
    grid = "".join("<w:gridCol/>" for _ in rows[0])
    lines = "".join(
        f"<w:tr>{''.join(f'<w:tc>{cell}</w:tc>' for cell in cells)}</w:tr>" for cells in rows
    )
    return f"<w:tbl><w:tblGrid>{grid}</w:tblGrid>{lines}</w:tbl>"


def xlsx(path: Path, *sheets: str, strings: str = "", styles: str = "") -> Path:
    """Each sheet is the inside of its `sheetData`."""
    names = {f"worksheet_{n}": f"worksheets/sheet{n}.xml" for n in range(1, len(sheets) + 1)}
    entries = "".join(
        f'<sheet name="Sheet {n}" sheetId="{n}" r:id="worksheet_{n}"/>'
        for n in range(1, len(sheets) + 1)
    )
    book = f'<workbook xmlns="{S}" xmlns:r="{OFFICE}"><sheets>{entries}</sheets></workbook>'
    files: dict[str, str | bytes] = {
        "_rels/.rels": links(officeDocument="xl/workbook.xml"),
        "xl/_rels/workbook.xml.rels": links(
            sharedStrings="sharedStrings.xml", styles="styles.xml", **names
        ),
        "xl/workbook.xml": book,
        "xl/sharedStrings.xml": f'<sst xmlns="{S}">{strings}</sst>',
        "xl/styles.xml": f'<styleSheet xmlns="{S}">{styles}</styleSheet>',
    }
    for number, rows in enumerate(sheets, start=1):
        data = f'<worksheet xmlns="{S}"><sheetData>{rows}</sheetData></worksheet>'
        files[f"xl/worksheets/sheet{number}.xml"] = data
    return zipped(path, files)


def row(number: int, *values: object) -> str:
    """Strings and numbers from column A on; None leaves a cell out."""
    cells = []
    for column, value in enumerate(values):
        reference = f"{chr(ord('A') + column)}{number}"
        if isinstance(value, str):
            cells.append(f'<c r="{reference}" t="inlineStr"><is><t>{value}</t></is></c>')
        elif value is not None:
            cells.append(f'<c r="{reference}"><v>{value}</v></c>')
    return f'<row r="{number}">{"".join(cells)}</row>'


def pptx(path: Path, *slides: str) -> Path:
    """Each slide is the inside of its tree of shapes."""
    names = {f"slide_{n}": f"slides/slide{n}.xml" for n in range(1, len(slides) + 1)}
    entries = "".join(f'<p:sldId id="{n}" r:id="{name}"/>' for n, name in enumerate(names, 256))
    spaces = f'xmlns:p="{P}" xmlns:a="{A}" xmlns:r="{OFFICE}"'
    deck = f"<p:presentation {spaces}><p:sldIdLst>{entries}</p:sldIdLst></p:presentation>"
    files: dict[str, str | bytes] = {
        "_rels/.rels": links(officeDocument="ppt/presentation.xml"),
        "ppt/_rels/presentation.xml.rels": links(**names),
        "ppt/presentation.xml": deck,
    }
    for number, shapes in enumerate(slides, start=1):
        files[f"ppt/slides/slide{number}.xml"] = (
            f"<p:sld {spaces}><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
        )
    return zipped(path, files)
