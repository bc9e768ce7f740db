"""A page of a PDF in, what people wrote on it out: filled-in fields and comments.

Both lie on top of the page: they are no part of its text.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pypdfium2 as pdfium
import pypdfium2.raw as pdfium_c

from kb.engine.ingest.extract.pdf_strings import string

_MOST = 5_000  # annotations of a page that are looked at
_FIELDS = {
    pdfium_c.FPDF_FORMFIELD_TEXTFIELD,
    pdfium_c.FPDF_FORMFIELD_COMBOBOX,
    pdfium_c.FPDF_FORMFIELD_LISTBOX,
    pdfium_c.FPDF_FORMFIELD_CHECKBOX,
    pdfium_c.FPDF_FORMFIELD_RADIOBUTTON,
}
_TICKED = {pdfium_c.FPDF_FORMFIELD_CHECKBOX, pdfium_c.FPDF_FORMFIELD_RADIOBUTTON}
# A link's text is on the page, a popup repeats what it belongs to, and a widget is a field.
_NO_COMMENT = {pdfium_c.FPDF_ANNOT_LINK, pdfium_c.FPDF_ANNOT_POPUP, pdfium_c.FPDF_ANNOT_WIDGET}


def notes(page: pdfium.PdfPage) -> str:
    """One paragraph for each: `Name: Ada Lovelace` for a field, `Comment (Ada): …`."""
    found = []
    for index in range(min(pdfium_c.FPDFPage_GetAnnotCount(page), _MOST)):
        with _annotation(page, index) as annotation:
            if annotation is not None:
                found.append(_comment(annotation) or _field(page, annotation))
    return "\n\n".join(dict.fromkeys(filter(None, found)))


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
    if kind not in _TICKED:
        value = string(pdfium_c.FPDFAnnot_GetFormFieldValue, form, annotation)
    elif pdfium_c.FPDFAnnot_IsChecked(form, annotation):
        value = string(pdfium_c.FPDFAnnot_GetFormFieldExportValue, form, annotation)
    else:
        return ""
    shown = string(pdfium_c.FPDFAnnot_GetFormFieldAlternateName, form, annotation)
    name = shown or string(pdfium_c.FPDFAnnot_GetFormFieldName, form, annotation)
    return f"{name}: {value}" if name and value else value


def _is_password(form: Any, annotation: Any, kind: int) -> bool:
    flags = pdfium_c.FPDFAnnot_GetFormFieldFlags(form, annotation)
    return kind == pdfium_c.FPDF_FORMFIELD_TEXTFIELD and bool(
        flags & pdfium_c.FPDF_FORMFLAG_TEXT_PASSWORD
    )
