"""The MCP server: turns tool calls into calls of the engine's REST API.

It knows the engine only through `kb.client`, and runs even if nothing of the engine is installed.
"""
