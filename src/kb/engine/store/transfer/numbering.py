"""Decides which ids documents keep when they come from another store.

Ids are never used twice, since an agent may hold one for months. So they are kept only if no other
document can have been given them: in the store that they come from, and in an empty store, which
takes over the whole numbering and from then on assigns only higher ones.
"""

import json
from collections.abc import Sequence

from kb.engine.records import LastIds
from kb.engine.store.facts import put_fact
from kb.engine.store.file.database import Query
from kb.engine.store.search.word_index_renewal import renewed_up_to
from kb.engine.values import Arrival, Numbered

TABLES = ("documents", "chunks", "jobs")
# Searches have a byte for each id up to the greatest: an export that claims more is not believed.
MOST_IDS = 100_000_000
_NAME = "numbering"
# Up to where the ids of a numbering that was taken over are those of the other store.
_TAKEN = "numbering_taken"


def numbering(query: Query) -> tuple[str, LastIds]:
    """The name of this store's ids, and the greatest that were given away."""
    return _fact(query, _NAME), LastIds(**_given_away(query))


def take_over(query: Query, numbered: Numbered) -> None:
    """Go by the other store's numbering if no id was given away here but those of that store."""
    name, taken, given = _fact(query, _NAME), _taken(query), _given_away(query)
    is_new = not any(given.values()) and max(numbered.last_ids.values()) <= MOST_IDS
    has_none_of_its_own = name == numbered.numbering and taken == given
    if not is_new and not has_none_of_its_own:
        return
    if taken == numbered.last_ids and name == numbered.numbering:
        return
    put_fact(query, _NAME, numbered.numbering)
    put_fact(query, _TAKEN, json.dumps({table: numbered.last_ids[table] for table in TABLES}))
    for table in TABLES:
        query("DELETE FROM sqlite_sequence WHERE name = :table", table=table)
        query(
            "INSERT INTO sqlite_sequence (name, seq) VALUES (:table, :last)",
            table=table,
            last=numbered.last_ids[table],
        )


def kept_id(query: Query, arrival: Arrival | None) -> int | None:
    """The id that a new document keeps from another store, if it does."""
    numbered = arrival.numbered if arrival else None
    if numbered is None:
        return None
    take_over(query, numbered)
    return numbered.id if keeps(query, numbered, "documents", [numbered.id]) else None


def keeps(query: Query, numbered: Numbered | None, table: str, ids: Sequence[int]) -> bool:
    """Whether rows that were given these ids in the other store can have them here."""
    if numbered is None or not ids or _fact(query, _NAME) != numbered.numbering:
        return False
    last = (_taken(query) or _given_away(query))[table]
    if max(ids) > last:
        return False
    if len(set(ids)) < len(ids):
        return False
    wanted = json.dumps(list(ids))
    tables = [table]
    if table == "chunks":
        if renewed_up_to(query) is not None:  # the word index goes through them by their ids
            return False
        tables.append("words_to_forget")
    return not any(
        query(
            f"SELECT 1 FROM {each} WHERE {'chunk_id' if each == 'words_to_forget' else 'id'} IN "
            "(SELECT value FROM json_each(:ids)) LIMIT 1",
            ids=wanted,
        )
        for each in tables
    )


def _fact(query: Query, name: str) -> str:
    rows = query("SELECT value FROM facts WHERE name = :name", name=name)
    return str(rows[0][0]) if rows else ""


def _taken(query: Query) -> dict[str, int]:
    taken: dict[str, int] = json.loads(_fact(query, _TAKEN) or "{}")
    return taken


def _given_away(query: Query) -> dict[str, int]:
    rows: dict[str, int] = dict(query("SELECT name, seq FROM sqlite_sequence"))
    return {table: rows.get(table, 0) for table in TABLES}
