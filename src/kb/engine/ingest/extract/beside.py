"""Describes a place by the text before it: `after “… the last words”`."""

_TOLD = 80  # characters


def beside(text: str) -> str:
    words = " ".join(text.split())
    if not words:
        return "at the beginning"
    shown = words if len(words) <= _TOLD else f"…{words[-_TOLD:].partition(' ')[2]}"
    return f"after “{shown}”"
