"""The MCP server's settings as values, read once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from kb.settings import Network, Risk, Value, key_risk


@dataclass(frozen=True, slots=True)
class McpSettings:
    """Each field is the setting of the same name with `KB_` before it; see kb/settings/table.py."""

    engine_url: str = "http://127.0.0.1:8000"
    api_key: str = ""  # the engine's
    origin: str | None = None
    mcp_host: str = "127.0.0.1"
    mcp_published_host: str = ""
    mcp_port: int = 3000
    mcp_api_key: str = ""
    strict: bool = False
    mcp_allowed_hosts: tuple[str, ...] = ()
    mcp_allowed_origins: tuple[str, ...] = ()
    trusted_proxies: tuple[Network, ...] = ()
    mcp_public_url: str = ""
    mcp_tools: str = "kb"
    mcp_file_roots: tuple[Path, ...] = ()
    mcp_upload_ttl: int = 600
    collections: tuple[str, ...] = ("documents", "memory", "workspace")
    log_level: str = "info"

    @classmethod
    def from_values(cls, values: dict[str, Value]) -> Self:
        return cls(**{name: values[f"KB_{name.upper()}"].value for name in cls.__slots__})

    @property
    def key_risk(self) -> Risk | None:
        """What is wrong about this key on this address, if anything is."""
        return key_risk("KB_MCP_", self.mcp_host, self.mcp_published_host, self.mcp_api_key)
