"""Tool calls in, calls of the engine's REST API out: the MCP server.

It knows the engine only through `kb.client`, and starts where nothing of the engine is installed.
"""
