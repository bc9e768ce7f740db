"""Every setting with its default and meaning."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import platformdirs

from kb.settings import parse
from kb.settings.origin import origin


@dataclass(frozen=True, slots=True)
class Setting:
    """One name a person can set. `parse` turns its text into the value the programs use."""

    name: str
    default: str
    meaning: str
    readers: tuple[str, ...]
    parse: Callable[[str], Any]
    secret: bool = False

    @property
    def key(self) -> str:
        """The name as the config file spells it: `KB_DATA_DIR` is `data_dir`."""
        return self.name.removeprefix("KB_").lower()


def _of_user(folder: Callable[..., Path]) -> Path:
    """Where this platform keeps such things; nowhere for a user without a home, as readers are."""
    try:
        return folder("kb", appauthor=False)
    except RuntimeError:
        return Path("/nonexistent/kb")


CONFIG_DEFAULT = str(_of_user(platformdirs.user_config_path) / "config.toml")
_DATA_DEFAULT = str(_of_user(platformdirs.user_data_path))

ENGINE, CLIENT, MCP = "engine", "client", "mcp"

SETTINGS: tuple[Setting, ...] = (
    Setting(
        "KB_CONFIG",
        CONFIG_DEFAULT,
        "a TOML file with settings; it need not exist unless it is named here",
        (ENGINE, CLIENT, MCP),
        parse.path,
    ),
    Setting("KB_HOST", "127.0.0.1", "the address the engine listens on", (ENGINE,), parse.host),
    Setting(
        "KB_PORT", "8000", "the port the engine listens on", (ENGINE,), parse.whole_number(1, 65535)
    ),
    Setting(
        "KB_PUBLISHED_HOST",
        "",
        "in a container: the address on which the engine's port is published; empty: as KB_HOST",
        (ENGINE,),
        parse.optional_host,
    ),
    Setting(
        "KB_DATA_DIR",
        _DATA_DEFAULT,
        "the folder that holds everything stored",
        (ENGINE,),
        parse.path,
    ),
    Setting(
        "KB_DATABASE_URL",
        "",
        "empty: SQLite below KB_DATA_DIR; anything else is refused",
        (ENGINE,),
        parse.database_url,
    ),
    Setting(
        "KB_API_KEY",
        "",
        "the key the API asks for and clients send; empty: no key is asked",
        (ENGINE, CLIENT, MCP),
        parse.api_key,
        secret=True,
    ),
    Setting(
        "KB_STRICT",
        "0",
        "1: no server starts on an address beyond this machine without a key of some length",
        (ENGINE, MCP),
        parse.switch,
    ),
    Setting(
        "KB_ALLOWED_HOSTS",
        "",
        "host names, separated by commas, under which the engine may be reached"
        " beside loopback and addresses",
        (ENGINE,),
        parse.host_names,
    ),
    Setting(
        "KB_TRUSTED_PROXIES",
        "",
        "addresses and networks, separated by commas, of proxies that say by X-Forwarded-For or"
        " Forwarded whom they speak for; empty: none is believed",
        (ENGINE, MCP),
        parse.networks,
    ),
    Setting(
        "KB_MAX_FILE_MB",
        "100",
        "the largest file the engine takes, in megabytes of 2²⁰ bytes",
        (ENGINE,),
        parse.whole_number(1, 2048),
    ),
    Setting(
        "KB_RESERVE_MB",
        "64",
        "room that is kept for deletions on a full disk, in megabytes of 2²⁰ bytes; 0: none",
        (ENGINE,),
        parse.whole_number(0, 65536),
    ),
    Setting(
        "KB_FAILED_DAYS",
        "30",
        "days after which what a failed job holds is deleted; 0: never",
        (ENGINE,),
        parse.whole_number(0, 36500),
    ),
    Setting(
        "KB_LOST_DAYS",
        "30",
        "days after which files that no document names are deleted from store-lost; 0: never",
        (ENGINE,),
        parse.whole_number(0, 36500),
    ),
    Setting(
        "KB_SEARCH_SECONDS",
        "10",
        "how long a search may take: after that it answers with what it has, and says so",
        (ENGINE,),
        parse.whole_number(1, 300),
    ),
    Setting(
        "KB_MODEL",
        "",
        "the model that turns text into vectors: its name, or a folder that holds one;"
        " empty: as `kb model use` chose, or all-MiniLM-L6-v2",
        (ENGINE,),
        parse.model,
    ),
    Setting(
        "KB_EMBEDDER",
        "minilm",
        "hash, for tests only, makes vectors without any model; minilm: as KB_MODEL says",
        (ENGINE,),
        parse.one_of("minilm", "hash"),
    ),
    Setting(
        "KB_SANDBOX",
        "auto",
        "auto reads files with the locks that this system has; strict reads none unless it has all",
        (ENGINE,),
        parse.one_of("auto", "strict"),
    ),
    Setting(
        "KB_OCR_ENGINE",
        "auto",
        "what reads the text in pictures: auto, rapidocr, tesseract, or off",
        (ENGINE,),
        parse.one_of("auto", "rapidocr", "tesseract", "off"),
    ),
    Setting(
        "KB_OCR_INSIDE",
        "on",
        "whether the pictures inside documents are read, too: on or off",
        (ENGINE,),
        parse.one_of("on", "off"),
    ),
    Setting(
        "KB_OCR_LANGUAGES",
        "eng",
        "the languages tesseract reads, by its names for them, such as eng+deu",
        (ENGINE,),
        parse.languages,
    ),
    Setting(
        "KB_CHECK_EVERY",
        "24",
        "hours after which all that is stored is checked again in the background; 0: never",
        (ENGINE,),
        parse.whole_number(0, 8760),
    ),
    Setting(
        "KB_LOG_LEVEL",
        "info",
        "how much is logged: debug, info, warning or error",
        (ENGINE, MCP),
        parse.one_of("debug", "info", "warning", "error"),
    ),
    Setting(
        "KB_BACKUP_DIR",
        "",
        "a folder on the engine's machine, best on another disk, into which it backs itself up;"
        " empty: only when asked",
        (ENGINE,),
        parse.optional_folder,
    ),
    Setting(
        "KB_BACKUP_EVERY",
        "24",
        "how many hours lie between two backups into KB_BACKUP_DIR",
        (ENGINE,),
        parse.whole_number(1, 8760),
    ),
    Setting(
        "KB_BACKUP_KEEP",
        "14",
        "how many backups stay in KB_BACKUP_DIR; older ones are removed",
        (ENGINE,),
        parse.whole_number(1, 1000),
    ),
    Setting(
        "KB_ENGINE_URL",
        "http://127.0.0.1:8000",
        "where clients find the engine; not set: at KB_HOST and KB_PORT",
        (CLIENT, MCP),
        parse.http_url,
    ),
    Setting(
        "KB_ORIGIN",
        "",
        "the name of this machine, by which the paths of its files are told from another's;"
        " empty: made from its machine-id",
        (CLIENT, MCP),
        origin,
    ),
    Setting(
        "KB_MCP_HOST", "127.0.0.1", "the address the MCP server listens on", (MCP,), parse.host
    ),
    Setting(
        "KB_MCP_PORT",
        "3000",
        "the port the MCP server listens on; its endpoint is /mcp",
        (MCP,),
        parse.whole_number(1, 65535),
    ),
    Setting(
        "KB_MCP_PUBLISHED_HOST",
        "",
        "in a container: the address on which the MCP server's port is published;"
        " empty: as KB_MCP_HOST",
        (MCP,),
        parse.optional_host,
    ),
    Setting(
        "KB_MCP_API_KEY",
        "",
        "the token that agents send to the MCP server; empty: no token is asked",
        (MCP,),
        parse.api_key,
        secret=True,
    ),
    Setting(
        "KB_MCP_ALLOWED_HOSTS",
        "",
        "host names, separated by commas, under which the MCP server may be reached"
        " beside loopback and addresses",
        (MCP,),
        parse.host_names,
    ),
    Setting(
        "KB_MCP_ALLOWED_ORIGINS",
        "",
        "origins of pages, separated by commas, that may open the MCP server's WebSocket"
        " beside its own",
        (MCP,),
        parse.origins,
    ),
    Setting(
        "KB_MCP_PUBLIC_URL",
        "",
        "the address of the MCP server to put into upload links; empty: as the request came",
        (MCP,),
        parse.optional_url,
    ),
    Setting(
        "KB_MCP_TOOLS",
        "kb",
        "the tools the MCP server offers: kb, collections, or knowledge",
        (MCP,),
        parse.one_of("kb", "collections", "knowledge"),
    ),
    Setting(
        "KB_MCP_FILE_ROOTS",
        "",
        "folders, separated by commas, whose files the knowledge tools may add; empty: none",
        (MCP,),
        parse.folders,
    ),
    Setting(
        "KB_MCP_UPLOAD_TTL",
        "600",
        "seconds without a call after which an upload over MCP is gone",
        (MCP,),
        parse.whole_number(1, 86400),
    ),
    Setting(
        "KB_COLLECTIONS",
        "documents,memory,workspace",
        "the collections that the collections tools know; documents must be among them",
        (MCP,),
        parse.collection_names,
    ),
)
