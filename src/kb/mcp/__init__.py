"""The MCP server: tool calls in, client calls out."""
