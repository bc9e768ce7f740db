"""The MCP server: turns tool calls into calls of the engine's REST API.

It knows the engine only through `kb.client`, and starts where nothing of the engine is installed.
"""
