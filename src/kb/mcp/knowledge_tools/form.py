"""The engine's values in the formats of the knowledge-* contract: failures, times, names."""

from kb.mcp.contract import Json, Result, ToolFailed, as_json
from kb.mcp.schema import arguments_schema, nullable

FORMATS = ("pdf", "docx", "pptx", "xlsx", "html", "jpg", "png", "svg")
FORMAT_NAMES = "PDF, DOCX, PPTX, XLSX, HTML, JPG, PNG, or SVG"
ID = {"type": "string", "minLength": 1, "maxLength": 100}


def as_object(failure: ToolFailed) -> Result:
    """An object with `success: false`, the same as text and as structured content."""
    content = {
        "success": False,
        "error": failure.code,
        "message": failure.message,
        **failure.details,
    }
    return Result(content, as_json(content), is_error=True)


def to_the_second(time: str) -> str:
    """`2025-10-26T10:00:00Z`: clients of this contract may read no other form."""
    return f"{time[:19]}Z"


def name_of(document: Json) -> str:
    """What a document is called; a note has no file, so it is called by its title."""
    name: str = document["filename"] or document["title"]
    return name


def takes(properties: dict[str, Json], required: tuple[str, ...] = ()) -> Json:
    """The schema of a tool with these parameters: optional ones may be null."""
    return arguments_schema(nullable(properties, required), required)
