"""Reads and writes kb's entry in a client's file, whichever format the file has."""

from pathlib import Path

from kb.cli.connect.clients import Client, Json
from kb.cli.connect.jsonc import NotJson, read_json, set_json, write_json
from kb.cli.connect.placing import read_file
from kb.cli.connect.toml import NotToml, read_toml, set_toml, write_toml
from kb.cli.failure import Failure


def read_entry(client: Client, file: Path, name: str) -> Json | None:
    text = read_file(file)
    if text is None:
        return None
    try:
        everything = read_toml(text) if client.is_toml else read_json(text)
    except (NotJson, NotToml) as error:
        raise Failure(f"{file}: {_form(client)} that cannot be read: {error}") from None
    servers = everything.get(client.table)
    entry = servers.get(name) if isinstance(servers, dict) else None
    return entry if isinstance(entry, dict) else None


def with_entry(client: Client, file: Path, text: str, name: str, entry: Json) -> str:
    """The file's text with the entry in it; everything else stays as it is."""
    change = set_toml if client.is_toml else set_json
    try:
        return change(text, client.table, name, entry)
    except (NotJson, NotToml) as error:
        raise Failure(
            f"{file}: left as it was, since it is {_form(client)} that kb cannot change safely"
            f" ({error}); change it by hand: kb connect {client.name} shows what belongs there"
        ) from None


def render(client: Client, name: str, entry: Json) -> str:
    """The entry as a file of its own."""
    if client.is_toml:
        return write_toml(client.table, name, entry)
    return write_json({client.table: {name: entry}})


def _form(client: Client) -> str:
    return "TOML" if client.is_toml else "JSON"
