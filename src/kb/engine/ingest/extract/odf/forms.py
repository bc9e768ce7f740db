"""What a form control in an OpenDocument file shows: its label and its value."""

from kb.engine.ingest.extract.odf.odf_file import DRAW, FORM, OFFICE, TABLE
from kb.engine.ingest.extract.zip_package import Element

_ID = "{http://www.w3.org/XML/1998/namespace}id"
_HOLDERS = (f"{OFFICE}text", f"{DRAW}page", f"{TABLE}table")
_BOXES = (f"{FORM}checkbox", f"{FORM}radio")
_ITEMS = (f"{FORM}option", f"{FORM}item")
_CHOSEN = (f"{FORM}current-selected", f"{FORM}selected")
_STATES = (f"{FORM}current-state", f"{FORM}current-selected", f"{FORM}state", f"{FORM}selected")
_HIDDEN = (f"{FORM}hidden", f"{FORM}password")


class Forms:
    """The forms of one document. Controls are in the text; their descriptions are elsewhere."""

    def __init__(self) -> None:
        self._known: dict[Element, dict[str, Element]] = {}

    def words(self, shown: Element) -> str:
        """The text that this control shows; may be empty."""
        holder = next(shown.iterancestors(*_HOLDERS), None)
        if holder is None:
            return ""
        if holder not in self._known:
            self._known[holder] = {
                control.get(_ID) or control.get(f"{FORM}id", ""): control
                for forms in holder.iterfind(f"{OFFICE}forms")
                for control in forms.iter()
            }
        control = self._known[holder].get(shown.get(f"{DRAW}control", ""))
        return "" if control is None or control.tag in _HIDDEN else _said(control)


def _said(control: Element) -> str:
    label = control.get(f"{FORM}label", "")
    if control.tag in _BOXES:
        state = next(filter(None, map(control.get, _STATES)), "")
        return f"{'☒' if state in ('checked', 'true') else '☐'} {label}".strip()
    value = control.get(f"{FORM}current-value") or control.get(f"{FORM}value") or ""
    if control.tag == f"{FORM}textarea":
        value = value or "\n".join("".join(line.itertext()) for line in control.iter("{*}p"))
    chosen = [
        item.get(f"{FORM}label", "")
        for item in control.iterchildren(*_ITEMS)
        if any(item.get(name) == "true" for name in _CHOSEN)
    ]
    return ": ".join(filter(None, (label, value or ", ".join(chosen)))).strip()
