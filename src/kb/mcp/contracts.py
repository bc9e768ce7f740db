"""The tool sets there are, by the value of KB_MCP_TOOLS."""

from collections.abc import Callable

from kb.mcp.contract import Contract
from kb.mcp.kb_tools import collections
from kb.mcp.kb_tools import tool_set as kb_tools
from kb.mcp.knowledge_tools import tool_set as knowledge_tools
from kb.mcp.settings import McpSettings

CONTRACTS: dict[str, Callable[[McpSettings], Contract]] = {
    "kb": kb_tools.build,
    "collections": collections.build,
    "knowledge": knowledge_tools.build,
}
