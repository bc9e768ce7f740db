"""Whether the store can be written and trusted, and what people should know about it."""

from kb.engine.errors import StorageFailed
from kb.engine.store.file.belonging import Belonging
from kb.engine.store.file.damage import Damage
from kb.engine.store.file.database import Database
from kb.engine.store.file.reserve import Reserve
from kb.engine.values import Issue


class Health:
    """The part of the store that knows what is wrong with it. `belonging` is about the folder of
    originals; None if the store was opened without one."""

    def __init__(self, database: Database, belonging: Belonging | None) -> None:
        self._database = database
        self.belonging = belonging

    @property
    def failure(self) -> StorageFailed | None:
        """Why nothing can be written any more, if so."""
        return self._database.failure

    @property
    def damage(self) -> Damage | None:
        """What is wrong with the database's file, if something is known to be."""
        return self._database.damage

    def note_damage(self, why: str) -> None:
        """A check has found something: from now on the store is only read."""
        self._database.note_damage(why)

    @property
    def reserve(self) -> Reserve:
        """The room that deletions have on a full disk."""
        return self._database.reserve

    def issues(self) -> list[Issue]:
        """What is not as it should be, although everything works."""
        issues = [] if self.belonging is None else self.belonging.issues()
        why = self._database.without_checksums
        if why is not None:
            message = (
                "The pages of the store have no checksums, so damage on its disk may not be "
                f"noticed: {why}. The next start of the engine tries again"
            )
            issues.append(Issue("checksums_missing", message))
        return issues
