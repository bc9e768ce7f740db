"""Rebuilds a word index that was made by other rules, bit by bit, while search goes on.

The new index grows beside the old one, in order of chunk id. Each step is a transaction, so a crash
loses at most one step. The data that chunks are scored by is renewed in the same steps. Until all
is done, the old index supplies the candidates. It is queried by the new rules, which agree with the
old ones in nearly every word. So searches may miss only what the new rules alone can find.

The old rules are gone, so nothing can be taken out of the old index. Chunks deleted meanwhile stay
in it until it is dropped, and searches skip them.
"""

from kb.engine.store.file.database import Query

_PAGES_AT_ONCE = 256

VERSION = "terms_version"
_NEXT = "terms_next"
_UP_TO = "terms_up_to"
_COUNT = "terms_renewed"


def begin(query: Query, version: int) -> None:
    """Record by which rules the index is made; if they changed, start or continue to rebuild it."""
    rows = query("SELECT value FROM facts WHERE name = :name", name=VERSION)
    if not rows:
        _put(query, VERSION, version)
    elif rows == [(str(version),)]:
        _give_up(query)
    elif query("SELECT value FROM facts WHERE name = :name", name=_NEXT) != [(str(version),)]:
        _give_up(query)
        query(_NEW_INDEX)
        query("INSERT INTO words_next (words_next, rank) VALUES ('secure-delete', 1)")
        query("INSERT INTO words_next (words_next, rank) VALUES ('hashsize', 16777216)")
        query("INSERT INTO words_next (words_next, rank) VALUES ('pgsz', 4042)")
        query("DELETE FROM words_to_forget")
        for name, value in ((_NEXT, version), (_UP_TO, 0), (_COUNT, 0)):
            _put(query, name, value)


def begin_anew(query: Query, version: int) -> None:
    """Rebuild the index by the same rules: its contents do not fit the passages."""
    _put(query, VERSION, 0)
    begin(query, version)


def renewed_up_to(query: Query) -> int | None:
    """The id of the last chunk in the new index; None while there is but one index."""
    rows = query("SELECT value FROM facts WHERE name = :name", name=_UP_TO)
    return int(rows[0][0]) if rows else None


def index_to_change(query: Query) -> str:
    """While there are two indexes, only the new one can be changed."""
    return "words" if renewed_up_to(query) is None else "words_next"


def step(query: Query, up_to: int, count: int) -> None:
    """Record that this many more chunks are in the new index."""
    _put(query, _UP_TO, up_to)
    query(
        "UPDATE facts SET value = CAST(value + :count AS TEXT) WHERE name = :name",
        name=_COUNT,
        count=count,
    )


def finish(query: Query) -> None:
    """Put the new index in the place of the old one."""
    query("ALTER TABLE words RENAME TO words_old")
    query("ALTER TABLE words_next RENAME TO words")
    query(
        "UPDATE facts SET value = (SELECT value FROM facts WHERE name = :next) "
        "WHERE name = :version",
        next=_NEXT,
        version=VERSION,
    )
    _forget_progress(query)


def clear_away(query: Query) -> bool:
    """Some of the old index; whether there was any. All at once would keep writers waiting."""
    if not query("SELECT 1 FROM sqlite_schema WHERE name = 'words_old'"):
        return False
    for table in ("words_old_data", "words_old_docsize"):
        removed = query(
            f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} LIMIT :limit) RETURNING 1",
            limit=_PAGES_AT_ONCE,
        )
        if removed:
            return True
    query("DROP TABLE words_old")
    return True


def clear(query: Query) -> None:
    query("INSERT INTO words (words) VALUES ('delete-all')")
    if renewed_up_to(query) is not None:
        query("INSERT INTO words_next (words_next) VALUES ('delete-all')")
    query("DROP TABLE IF EXISTS words_old")


def _give_up(query: Query) -> None:
    """Drop an index begun for rules that are not today's."""
    query("DROP TABLE IF EXISTS words_next")
    _forget_progress(query)


def _forget_progress(query: Query) -> None:
    for name in (_NEXT, _UP_TO, _COUNT):
        query("DELETE FROM facts WHERE name = :name", name=name)


def _put(query: Query, name: str, value: int) -> None:
    query("INSERT OR REPLACE INTO facts VALUES (:name, :value)", name=name, value=str(value))


# As the migrations made `words`.
_NEW_INDEX = r"""
CREATE VIRTUAL TABLE words_next USING fts5 (
    body, head, content = '',
    tokenize = 'ascii tokenchars ''!#$%&()*+,-./:;<=>?@[\]^_`{|}~'''
)
"""
