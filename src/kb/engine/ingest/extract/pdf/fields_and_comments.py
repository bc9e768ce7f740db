"""Reads form fields and comments, which lie over the page's text. Some fields have only a stream
that draws their value: such a page is flattened, and the text is read where the field is."""

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from kb.engine.ingest.extract.pdf.strings import string

_MOST = 5_000  # annotations of a page that are looked at
_FIELDS = {
    pdfium_c.FPDF_FORMFIELD_TEXTFIELD,
    pdfium_c.FPDF_FORMFIELD_COMBOBOX,
    pdfium_c.FPDF_FORMFIELD_LISTBOX,
    pdfium_c.FPDF_FORMFIELD_CHECKBOX,
    pdfium_c.FPDF_FORMFIELD_RADIOBUTTON,
}
_CHOICES = {pdfium_c.FPDF_FORMFIELD_COMBOBOX, pdfium_c.FPDF_FORMFIELD_LISTBOX}
_MOST_OPTIONS = 2_000  # of a field that are looked at
_TICKED = {pdfium_c.FPDF_FORMFIELD_CHECKBOX, pdfium_c.FPDF_FORMFIELD_RADIOBUTTON}
# A popup repeats what it belongs to, and a widget is a field.
_NO_COMMENT = {pdfium_c.FPDF_ANNOT_POPUP, pdfium_c.FPDF_ANNOT_WIDGET}

_DRAWN = {pdfium_c.FPDF_ANNOT_WIDGET, pdfium_c.FPDF_ANNOT_FREETEXT, pdfium_c.FPDF_ANNOT_STAMP}
_SHOWS_TEXT = re.compile(r"T[jJ]|['\"]\s|\bDo\b")  # as a stream does, or one that it calls

Sides = tuple[float, float, float, float]  # left, top, right, bottom


def notes(page: pdfium.PdfPage, index: int) -> str:
    """One paragraph for each: `Name: Ada Lovelace` for a field, `Comment (Ada): …`."""
    found: list[str] = []
    drawn: list[tuple[int, str, Sides]] = []  # what is seen and not told: where it goes, its name
    for number in range(min(pdfium_c.FPDFPage_GetAnnotCount(page), _MOST)):
        with _annotation(page, number) as annotation:
            if annotation is None or _is_link(annotation):
                continue
            text = _comment(annotation) or _field(page, annotation)
            if not text and (sides := _drawing(page, annotation)) is not None:
                drawn.append((len(found), _name(page.formenv, annotation), sides))
            found.append(text)
    if drawn:
        for place, name, text in _flat(page.pdf, index, drawn):
            found[place] = f"{name}: {text}" if name and text else text
    return "\n\n".join(dict.fromkeys(filter(None, found)))


def pinned_files(page: pdfium.PdfPage) -> Iterator[Any]:
    """The files that somebody has pinned to a place on the page."""
    for number in range(min(pdfium_c.FPDFPage_GetAnnotCount(page), _MOST)):
        with _annotation(page, number) as annotation:
            kind = pdfium_c.FPDFAnnot_GetSubtype(annotation) if annotation else None
            if kind == pdfium_c.FPDF_ANNOT_FILEATTACHMENT:
                yield pdfium_c.FPDFAnnot_GetFileAttachment(annotation)


def _is_link(annotation: Any) -> bool:
    """Most annotations are; its text is on the page."""
    return bool(pdfium_c.FPDFAnnot_GetSubtype(annotation) == pdfium_c.FPDF_ANNOT_LINK)


def _drawing(page: pdfium.PdfPage, annotation: Any) -> Sides | None:
    """Where an annotation is whose text is in its drawing alone, if it has any."""
    kind = pdfium_c.FPDFAnnot_GetSubtype(annotation)
    if kind not in _DRAWN or (kind == pdfium_c.FPDF_ANNOT_WIDGET and _is_ticked(page, annotation)):
        return None
    normal = pdfium_c.FPDF_ANNOT_APPEARANCEMODE_NORMAL
    sides = pdfium_c.FS_RECTF()
    if not _SHOWS_TEXT.search(string(pdfium_c.FPDFAnnot_GetAP, annotation, normal)):
        return None
    if not pdfium_c.FPDFAnnot_GetRect(annotation, sides):
        return None
    return sides.left, sides.top, sides.right, sides.bottom


def _is_ticked(page: pdfium.PdfPage, annotation: Any) -> bool:
    form = page.formenv
    kind = pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation) if form else -1
    return kind in _TICKED or bool(form and _is_password(form, annotation, kind))


def _flat(
    document: pdfium.PdfDocument, index: int, drawn: list[tuple[int, str, Sides]]
) -> Iterator[tuple[int, str, str]]:
    with closing(document[index]) as page:
        pdfium_c.FPDFPage_Flatten(page, pdfium_c.FLAT_NORMALDISPLAY)
    with closing(document[index]) as page, closing(page.get_textpage()) as textpage:
        for place, name, (left, top, right, bottom) in drawn:
            text = textpage.get_text_bounded(left, bottom, right, top)
            yield place, name, " ".join(text.split())


@contextmanager
def _annotation(page: pdfium.PdfPage, index: int) -> Iterator[Any]:
    annotation = pdfium_c.FPDFPage_GetAnnot(page, index)
    try:
        yield annotation or None
    finally:
        if annotation:
            pdfium_c.FPDFPage_CloseAnnot(annotation)


def _comment(annotation: Any) -> str:
    if pdfium_c.FPDFAnnot_GetSubtype(annotation) in _NO_COMMENT:
        return ""
    text = string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"Contents")
    who = string(pdfium_c.FPDFAnnot_GetStringValue, annotation, b"T")
    return f"Comment{f' ({who})' if who else ''}: {text}" if text else ""


def _field(page: pdfium.PdfPage, annotation: Any) -> str:
    form = page.formenv
    kind = pdfium_c.FPDFAnnot_GetFormFieldType(form, annotation) if form else -1
    if kind not in _FIELDS or _is_password(form, annotation, kind):
        return ""
    if kind in _CHOICES:
        value = _chosen(form, annotation)
    elif kind not in _TICKED:
        value = string(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation)
    elif pdfium_c.FPDFAnnot_IsChecked(form, annotation):
        value = string(pdfium_c.FPDFAnnot_GetFormFieldExportValue, form, annotation)
    else:
        return ""
    name = _name(form, annotation)
    return f"{name}: {value}" if name and value else value


def _chosen(form: Any, annotation: Any) -> str:
    """As people see it: its value may be a name for programs. What was typed is no option."""
    count = min(pdfium_c.FPDFAnnot_GetOptionCount(form, annotation), _MOST_OPTIONS)
    shown = [
        string(pdfium_c.FPDFAnnot_GetOptionLabel, form, annotation, number)
        for number in range(count)
        if pdfium_c.FPDFAnnot_IsOptionSelected(form, annotation, number)
    ]
    named = ", ".join(filter(None, shown))
    return named or string(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation)


def _name(form: Any, annotation: Any) -> str:
    if not form:
        return ""
    shown = string(pdfium_c.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    return shown or string(pdfium_c.FPDFAnnot_GetFormFieldName, form, annotation)


def _is_password(form: Any, annotation: Any, kind: int) -> bool:
    flags = pdfium_c.FPDFAnnot_GetFormFieldFlags(form, annotation)
    return kind == pdfium_c.FPDF_FORMFIELD_TEXTFIELD and bool(
        flags & pdfium_c.FPDF_FORMFLAG_TEXT_PASSWORD
    )
