"""The engine's client as the tools use it: the class that also serves the command line.

Built as `EngineClient(base_url, api_key)`. Every method raises `httpx.HTTPStatusError` if the
engine did not answer with a success, and another `httpx.TransportError` if it did not answer.
"""

from kb.client import EngineClient, EngineTooOld, Json, problem

__all__ = ["EngineClient", "EngineTooOld", "Json", "problem"]
