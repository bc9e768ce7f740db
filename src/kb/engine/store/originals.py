"""Names of originals: those that a row still needs, and those to unlink.

When the last row with a name is gone, the database notes the name (see its triggers). Here it is
struck off, some time after the file was unlinked, so that a deletion need not wait for a second
commit.
"""

from collections.abc import Iterable
from queue import Empty, SimpleQueue

from kb.engine.store.file.database import Database, Query

# A failed job's bytes stay for a retry; a job that ended otherwise needs none.
ALL_FILES = (
    "SELECT stored_name FROM documents WHERE stored_name IS NOT NULL UNION "
    "SELECT stored_name FROM jobs WHERE stored_name IS NOT NULL"
)
_IS_NEEDED = (
    "SELECT 1 FROM documents WHERE stored_name = :name UNION ALL "
    "SELECT 1 FROM jobs WHERE stored_name = :name"
)


class Originals:
    """The part of the store that is about the files beside it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._gone: SimpleQueue[str] = SimpleQueue()

    def names(self) -> set[str]:
        """Every file that something still needs."""
        return {name for (name,) in self._database.read(ALL_FILES)}

    def needed(self, names: Iterable[str]) -> set[str]:
        """Those of these files that something still needs."""
        with self._database.reading() as query:
            return {name for name in names if query(_IS_NEEDED, name=name)}

    def given_up(self) -> set[str]:
        """What nothing needs any more and may still be on the disk."""
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
