"""What the store remembers about itself, by name."""

from kb.engine.store.file.database import Database, Query

_LAST_BACKUP = "last_backup"


class Facts:
    """The part of the store for single values that have no table of their own."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @property
    def store_id(self) -> str:
        """Which store this is; it stays the same through backups and restores."""
        [(store_id,)] = self._database.read("SELECT value FROM facts WHERE name = 'store_id'")
        return str(store_id)

    def recall(self, name: str) -> str | None:
        """What was remembered under a name; nothing where it cannot be read for damage."""
        rows = self._database.read_if_whole("SELECT value FROM facts WHERE name = :n", n=name)
        return rows[0][0] if rows else None

    def remember(self, name: str, value: str) -> None:
        with self._database.transaction() as query:
            put_fact(query, name, value)

    def last_backup(self) -> str | None:
        """What was remembered of the last good backup. Raises where that cannot be read."""
        rows = self._database.read("SELECT value FROM facts WHERE name = :n", n=_LAST_BACKUP)
        return str(rows[0][0]) if rows else None

    def remember_backup(self, about: str) -> None:
        self.remember(_LAST_BACKUP, about)


def put_fact(query: Query, name: str, value: str) -> None:
    """Have the store remember a fact about itself; one that it knows already writes nothing."""
    query(
        "INSERT INTO facts VALUES (:name, :value) "
        "ON CONFLICT (name) DO UPDATE SET value = :value WHERE value <> :value",
        name=name,
        value=value,
    )
