"""The name of a tool set in, its contract out."""

from collections.abc import Callable

from kb.mcp import collections, kb_tools, knowledge_tools
from kb.mcp.contract import Contract
from kb.mcp.settings import McpSettings

# By the value of KB_MCP_TOOLS.
CONTRACTS: dict[str, Callable[[McpSettings], Contract]] = {
    "kb": kb_tools.build,
    "collections": collections.build,
    "knowledge": knowledge_tools.build,
}
