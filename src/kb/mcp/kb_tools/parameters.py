"""The parameters that several kb_* tools share.

Every session pays for the words of a tool, so each must earn its place; a test limits the whole
list to its budget.
"""

from kb.kinds import OFFERED
from kb.mcp.budget import MOST_TOKENS
from kb.mcp.contract import Json

DEFAULT_TOKENS = 4000
DEFAULT_READ_TOKENS = 8000

# That a text must not be blank the engine says; here it would be said a dozen times.
TAGS: Json = {"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 100}
ID = {"type": "integer", "minimum": 1}
TITLE = {"type": "string", "maxLength": 500}
PATH = {"type": "string", "maxLength": 4096}
# A client that holds a model to the schema lets it send nothing else, so the usual words for
# several kinds are among them. What else is sent the engine understands, or refuses in its words.
KIND = {"type": "string", "enum": list(OFFERED)}
ANY_KIND = {"type": "string", "minLength": 1, "maxLength": 50}


def tokens(default: int) -> Json:
    """How long the answer may be."""
    return {"type": "integer", "minimum": 500, "maximum": MOST_TOKENS, "default": default}
