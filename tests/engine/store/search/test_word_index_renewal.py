"""A change of the terms: the word index is made anew while everything goes on."""

import pytest

from kb.engine.store import Store

TEXTS = [f"Otter number{n} swims in river{n % 7}" for n in range(150)]


def old_terms(text):
    return [f"old{word}" if word == "swims" else word for word in text.lower().split()]


def new_terms(text):
    return [f"new{word}" if word == "swims" else word for word in text.lower().split()]


def put_store(shelf, path, terms, version):
    """Have another store on the shelf, by rules of its own."""
    shelf.store.close()
    shelf.store = Store(path, terms, version, shelf.store.models.searched)
    shelf.database = shelf.store.database
    return shelf.store


@pytest.fixture
def reopen(shelf):
    """To open the store of the shelf by other rules, as a newer kb does."""
    path = shelf.store.path.with_name("old.db")
    put_store(shelf, path, old_terms, 1)
    return lambda terms=new_terms, version=2: put_store(shelf, path, terms, version)


@pytest.fixture
def filled(shelf, reopen):
    """Where all texts are indexed by the old rules."""
    for text in TEXTS:
        shelf.add(text)


def found(store, term, limit=500):
    """The chunks that are candidates for a term and truly hold it."""
    with store.look() as look:
        statistics = look.statistics([term], [])
        rows = look.by_words([term], statistics.term_counts, limit)
        counts = look.term_counts(rows, [term], [])
        return {
            int(look.view.ids[row]) for row, n in zip(rows, counts.terms[:, 0], strict=True) if n
        }


def finish(store):
    steps = 0
    while store.upkeep.renew_words():
        steps += 1
    return steps


def test_the_words_of_a_changed_rule_are_found_when_all_is_done(shelf, filled, reopen):
    store = reopen()
    assert len(found(store, "otter")) == len(TEXTS)
    assert found(store, "newswims") == set()
    assert store.totals.current().words_outdated == len(TEXTS)
    store.upkeep.renew_words()
    assert store.totals.current().words_outdated == len(TEXTS) - 64
    assert len(found(store, "otter")) == len(TEXTS)
    finish(store)
    assert store.totals.current().words_outdated == 0
    assert len(found(store, "newswims")) == len(TEXTS)
    assert found(store, "oldswims") == set()
    assert shelf.matches("oldswims") == 0
    tables = {name for (name,) in shelf.sql("SELECT name FROM sqlite_schema")}
    assert not {name for name in tables if name.startswith(("words_old", "words_next"))}


def test_the_new_index_is_the_one_that_a_new_store_would_have(shelf, reopen, open_shelf):
    for text in TEXTS:
        shelf.add(text, title="A title that swims", source_path="/of one/that swims/by.txt")
    finish(reopen())
    fresh = open_shelf("fresh.db")
    put_store(fresh, fresh.store.path.with_name("new.db"), new_terms, 2)
    for text in TEXTS:
        fresh.add(text, title="A title that swims", source_path="/of one/that swims/by.txt")
    assert shelf.indexed() == fresh.indexed()
    terms = "SELECT * FROM chunk_terms ORDER BY chunk_id"
    assert shelf.sql(terms) == fresh.sql(terms)
    totals = "SELECT value FROM totals WHERE name = 'terms'"
    assert shelf.sql(totals) == fresh.sql(totals)


def test_it_goes_on_where_it_was_when_the_engine_starts_again(filled, reopen):
    reopen().upkeep.renew_words()
    store = reopen()
    assert store.totals.current().words_outdated == len(TEXTS) - 64
    finish(store)
    assert len(found(reopen(), "newswims")) == len(TEXTS)


def test_it_starts_anew_where_the_rules_have_changed_once_more(filled, reopen):
    reopen().upkeep.renew_words()
    store = reopen(str.split, 3)
    assert store.totals.current().words_outdated == len(TEXTS)
    finish(store)
    assert len(found(store, "swims")) == len(TEXTS)


def test_what_comes_changes_and_goes_meanwhile_is_right_at_the_end(shelf, reopen):
    ids = [shelf.add(text, title="title swims") for text in TEXTS]
    store = reopen()
    store.upkeep.renew_words()
    early, late = ids[3], ids[120]
    shelf.add("A heron swims", title="title")
    shelf.replace(early, "Early heron swims")
    shelf.replace(late, "Late heron swims")
    store.documents.delete(ids[5])
    store.documents.delete(ids[130])
    assert len(found(store, "heron")) == 3
    finish(store)
    assert len(found(store, "heron")) == 3
    gone = {ids[5], ids[130], early, late}
    assert len(found(store, "otter")) == len(TEXTS) - len(gone)
    with store.look() as look:
        alive = {int(id_) for id_ in look.view.ids[look.view.alive]}
    assert {chunk_id for chunk_id, _ in shelf.indexed()} == alive


def test_clearing_everything_meanwhile_leaves_nothing(shelf, filled, reopen):
    store = reopen()
    store.upkeep.renew_words()
    store.upkeep.clear()
    finish(store)
    assert shelf.indexed() == {}
    shelf.add("An otter swims")
    assert len(found(store, "newswims")) == 1


def test_a_store_by_the_rules_of_today_has_nothing_to_renew(shelf):
    shelf.add("Otters swim")
    assert finish(shelf.store) == 0
    assert shelf.store.totals.current().words_outdated == 0


def test_no_piece_of_either_index_needs_a_second_page(shelf, reopen):
    """Else a deletion, which makes pieces shorter, would move most of them elsewhere."""
    shelf.add(*(" ".join(f"word{n * word % 300}" for word in range(200)) for n in range(200)))
    pages = (
        "SELECT pagetype, count(*) FROM dbstat WHERE name = 'words_data' "
        "AND pagetype <> 'internal' GROUP BY pagetype"
    )
    [(kind, count)] = shelf.sql(pages)
    assert (kind, count > 20) == ("leaf", True)
    finish(reopen())
    assert [kind for kind, _ in shelf.sql(pages)] == ["leaf"]
