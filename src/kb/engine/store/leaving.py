"""Names of originals that were given up in, those that are still to be unlinked out.

The database notes a name by itself when it goes out of the last row (see its triggers). Here it is
struck off, some time after the file has gone: whoever deletes need not wait for a second commit.
"""

from queue import Empty, SimpleQueue

from kb.engine.store.database import Database, Query


class Leaving:
    """Originals on their way out."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._gone: SimpleQueue[str] = SimpleQueue()

    def names(self) -> set[str]:
        """What has been given up and may still be on the disk."""
        return {name for (name,) in self._database.read("SELECT name FROM files_to_unlink")}

    def is_gone(self, name: str) -> None:
        """The file has been unlinked."""
        self._gone.put(name)

    def strike_off(self, query: Query) -> None:
        """Forget the names of files that have gone."""
        while True:
            try:
                name = self._gone.get_nowait()
            except Empty:
                return
            query("DELETE FROM files_to_unlink WHERE name = :name", name=name)
