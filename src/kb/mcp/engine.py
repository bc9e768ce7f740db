"""The engine's client as the tools use it: one class serves the command line too.

Built as `EngineClient(base_url, api_key)`; every method raises `httpx.HTTPStatusError` where the
engine did not answer with a success, and another `httpx.TransportError` where it did not answer.
"""

from kb.client import EngineClient, EngineTooOld, Json, problem

__all__ = ["EngineClient", "EngineTooOld", "Json", "problem"]
