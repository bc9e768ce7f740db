"""The client of the engine, where programs that build on the MCP server expect it.

Built as `EngineClient(base_url, api_key)`. Its methods raise `httpx.HTTPStatusError` on any answer
that is not a success.
"""

from kb.client import EngineClient, EngineTooOld, Json, problem

__all__ = ["EngineClient", "EngineTooOld", "Json", "problem"]
