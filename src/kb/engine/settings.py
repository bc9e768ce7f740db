"""The engine's settings as values, read once."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from kb.settings import Network, Risk, Value, key_risk


@dataclass(frozen=True, slots=True)
class Settings:
    """Each field is the setting of the same name with `KB_` before it; see kb/settings/table.py."""

    data_dir: Path
    host: str = "127.0.0.1"
    published_host: str = ""
    port: int = 8000
    api_key: str = ""
    strict: bool = False
    allowed_hosts: tuple[str, ...] = ()
    trusted_proxies: tuple[Network, ...] = ()
    max_file_mb: int = 100
    reserve_mb: int = 64
    failed_days: int = 30
    lost_days: int = 30
    search_seconds: int = 10
    model: str = ""
    embedder: str = "minilm"
    sandbox: Literal["auto", "strict"] = "auto"
    ocr_engine: Literal["auto", "rapidocr", "tesseract", "off"] = "auto"
    ocr_inside: Literal["on", "off"] = "on"
    ocr_languages: str = "eng"
    check_every: int = 24
    log_level: str = "info"
    backup_dir: Path | None = None
    backup_every: int = 24
    backup_keep: int = 14

    @classmethod
    def from_values(cls, values: dict[str, Value]) -> Self:
        return cls(**{name: values[f"KB_{name.upper()}"].value for name in cls.__slots__})

    @property
    def key_risk(self) -> Risk | None:
        """What is wrong about this key on this address, if anything is."""
        return key_risk("KB_", self.host, self.published_host, self.api_key)
