"""Upgrades an older database to today's schema: numbered SQL files, each in a transaction."""

import re
from importlib.resources import files

from kb.engine.errors import StartupError
from kb.engine.store.file.database import Database, Query

_NAME = re.compile(r"(\d{4})_\w+\.sql")


def migrate(database: Database) -> None:
    """Run what has not been run yet. The number of the last one is the schema's version."""
    migrations = _migrations()
    with database.reading() as query:
        [(version,)] = query("PRAGMA user_version")
    if version > max(migrations):
        raise StartupError(
            f"The data folder was written by a newer kb (schema {version}, this one knows "
            f"{max(migrations)}): upgrade kb, or point KB_DATA_DIR at another folder"
        )
    for number in range(version + 1, max(migrations) + 1):
        with database.transaction(adds=False) as query:
            _run(query, migrations[number])
            query(f"PRAGMA user_version = {number}")


def _migrations() -> dict[int, str]:
    folder = files("kb.engine.store") / "sql" / "sqlite"
    found = ((_NAME.fullmatch(file.name), file) for file in folder.iterdir())
    return {int(match[1]): file.read_text("utf-8") for match, file in found if match}


def _run(query: Query, script: str) -> None:
    """A semicolon at a line's end ends a statement; the body of a trigger is in one line."""
    for statement in re.split(r";\s*\n", script):
        if statement.strip():
            query(statement)
