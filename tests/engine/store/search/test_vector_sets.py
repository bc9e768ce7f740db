"""Two models' vectors side by side: one is searched, the other made, then they are exchanged."""

import uuid

import numpy as np
import pytest

from kb.engine.embed import HashEmbedder, OtherHashEmbedder
from kb.engine.store import Store
from kb.engine.store.file.database import Database
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.values import Chunk, Draft

OLD, NEW = HashEmbedder(), OtherHashEmbedder()
TABLES = ("vectors", "exact_vectors", "other_vectors", "other_exact_vectors")


def draft():
    return Draft("Note", None, "note", "note", None, (), {}, uuid.uuid4().hex, 1)


def of_both(*texts):
    return {each.name: each.embed(list(texts)) for each in (OLD, NEW)}


def put(store, missing):
    """Vectors of the new model for these passages."""
    vectors = NEW.embed([row.chunk.text for row in missing])
    store.models.put_vectors([row.chunk_id for row in missing], vectors, NEW.name)


def renew(store, limit=100):
    """What the engine does in the background, up to the exchange; how many vectors were made."""
    made = 0
    if store.models.task() == "begin":
        store.models.begin()
    while missing := store.models.unembedded(limit):
        put(store, missing)
        made += len(missing)
    return made


def clear(store):
    while store.models.task() == "clear":
        store.models.clear()


def nearest(store, embedder, text):
    """The chunk nearest to the text, and its exact cosine."""
    vector = embedder.embed_one(text)
    with store.look() as look:
        rows = np.sort(look.by_vector(vector, 50))
        vectors, known = look.exact_vectors(rows)
        cosines = np.where(known, vectors @ vector, -2)
        best = int(np.argmax(cosines))
        return int(look.view.ids[rows[best]]), float(cosines[best])


def rows_of(shelf):
    return {table: shelf.sql(f"SELECT count(*) FROM {table}")[0][0] for table in TABLES}


def consistent(shelf):
    """Totals are what is counted, every row has its partner, and a table holds one model."""
    counted = rows_of(shelf)
    totals = dict(shelf.sql("SELECT name, value FROM totals"))
    assert totals["vectors"] == counted["vectors"] == counted["exact_vectors"]
    assert totals["other_vectors"] == counted["other_vectors"] == counted["other_exact_vectors"]
    for table in ("vectors", "other_vectors"):
        assert len(shelf.sql(f"SELECT DISTINCT model FROM {table}")) <= 1
    assert shelf.sql("PRAGMA foreign_key_check") == []


@pytest.fixture
def changing(shelf):
    """Three documents with vectors of the old model, and the new one is wanted."""
    for number in range(3):
        shelf.add(f"otters swim {number}", f"herons wait {number}")
    shelf.store.models.want(NEW.name)
    return shelf


def test_the_old_model_is_searched_until_the_last_vector_of_the_new_one_is_there(changing):
    store = changing.store
    store.models.begin()
    for _ in range(3):
        missing = store.models.unembedded(2)
        assert not store.models.switch()
        put(store, missing)
        assert store.models.searched == OLD.name
        assert nearest(store, OLD, "herons wait 1")[1] == pytest.approx(1, abs=1e-3)
        consistent(changing)
    assert store.models.switch()
    assert store.models.searched == NEW.name
    assert nearest(store, NEW, "herons wait 1")[1] == pytest.approx(1, abs=1e-3)
    assert abs(nearest(store, OLD, "herons wait 1")[1]) < 0.5
    assert rows_of(changing) == dict.fromkeys(TABLES, 6)
    clear(store)
    assert store.models.task() is None
    assert rows_of(changing) == dict(zip(TABLES, (0, 0, 6, 6), strict=True))
    consistent(changing)


def test_a_change_goes_on_after_a_restart_where_it_was(changing, open_shelf):
    changing.store.models.begin()
    put(changing.store, changing.store.models.unembedded(4))
    changing.store.close()

    again = open_shelf()
    assert again.store.models.task() == "clear"  # opened with the old model: that is taken back
    again.store.models.want(NEW.name)
    assert (again.store.models.searched, again.store.models.task()) == (OLD.name, "embed")
    assert renew(again.store) == 2
    assert again.store.models.switch()
    again.store.close()

    switched = open_shelf()
    switched.store.models.want(NEW.name)
    assert (switched.store.models.searched, switched.store.models.task()) == (NEW.name, "clear")
    assert nearest(switched.store, NEW, "herons wait 1")[1] == pytest.approx(1, abs=1e-3)
    clear(switched.store)
    consistent(switched)


def test_what_comes_and_goes_during_a_change_has_vectors_of_both_or_none(changing):
    store = changing.store
    store.models.begin()
    renew(store, 1)
    added = store.documents.add(draft(), [Chunk("voles hide", 0)], of_both("voles hide"))
    store.documents.delete(1)
    reeds = [Chunk("reeds", 0)], of_both("reeds")
    store.documents.replace_text(2, "reeds", "h2", *reeds, None, None)
    consistent(changing)
    assert store.models.switch()
    [row] = changing.sql(f"SELECT id FROM chunks WHERE document_id = {added.id}")
    assert nearest(store, NEW, "voles hide") == (row[0], pytest.approx(1, abs=1e-3))
    assert store.totals.current().chunks == store.totals.current().vectors == 4
    clear(store)
    consistent(changing)


def test_a_document_embedded_before_the_change_began_delays_it_and_is_made_up_for(changing):
    store = changing.store
    renew(store)
    late = {OLD.name: OLD.embed(["late otters"])}
    store.documents.add(draft(), [Chunk("late otters", 0)], late)
    assert not store.models.switch()
    assert nearest(store, OLD, "late otters")[1] == pytest.approx(1, abs=1e-3)
    assert renew(store) == 1
    assert store.models.switch()
    assert nearest(store, NEW, "late otters")[1] == pytest.approx(1, abs=1e-3)


def test_a_document_embedded_before_the_change_ended_is_made_up_for_after_it(changing):
    store = changing.store
    renew(store)
    assert store.models.switch()
    late = {OLD.name: OLD.embed(["late otters"])}
    store.documents.add(draft(), [Chunk("late otters", 0)], late)
    assert store.totals.current().chunks - store.totals.current().vectors == 1
    consistent(changing)
    assert renew(store) == 1
    assert nearest(store, NEW, "late otters")[1] == pytest.approx(1, abs=1e-3)
    clear(store)
    consistent(changing)


def test_a_change_that_is_taken_back_leaves_nothing(changing):
    store = changing.store
    renew(store, 2)
    store.models.want(OLD.name)
    assert not store.models.switch()
    late = NEW.embed(["otters"])  # was under way: has no place any more
    store.models.put_vectors([1], late, NEW.name)
    clear(store)
    assert store.models.task() is None
    assert rows_of(changing) == dict(zip(TABLES, (6, 6, 0, 0), strict=True))
    assert nearest(store, OLD, "herons wait 1")[1] == pytest.approx(1, abs=1e-3)
    consistent(changing)


def test_a_third_model_finds_the_place_of_the_second_empty(changing):
    store = changing.store
    renew(store, 2)
    store.models.want("third")
    assert store.models.task() == "clear"
    assert store.models.unembedded(10) == []
    clear(store)
    assert store.models.task() == "begin"
    store.models.begin()
    assert len(store.models.unembedded(10)) == 6
    assert store.totals.current().next_vectors == 0


def test_a_change_back_soon_after_a_change_uses_what_is_left(changing):
    store = changing.store
    renew(store)
    assert store.models.switch()
    store.models.want(OLD.name)
    assert store.models.task() == "embed"
    assert store.models.switch()
    assert store.models.searched == OLD.name
    assert nearest(store, OLD, "herons wait 1")[1] == pytest.approx(1, abs=1e-3)
    consistent(changing)


def test_clearing_everything_ends_a_change(changing):
    changing.store.models.begin()
    changing.store.upkeep.clear()
    assert rows_of(changing) == dict.fromkeys(TABLES, 0)
    assert changing.store.models.switch()
    assert changing.store.models.searched == NEW.name


def test_changes_during_the_exchange_are_in_the_new_index(changing, monkeypatch):
    """The log of changes must not be tidied away under an index that is still being loaded."""
    store = changing.store
    renew(store)
    load = type(store._index.searched.index).load_vectors

    def slowly(index, feed):
        load(index, feed)
        store.documents.add(draft(), [Chunk("just now", 0)], of_both("just now"))
        store.documents.delete(1)
        store.upkeep.tidy()

    monkeypatch.setattr("kb.engine.store.search.chunk_index.ChunkIndex.load_vectors", slowly)
    assert store.models.switch()
    monkeypatch.undo()
    assert nearest(store, NEW, "just now")[1] == pytest.approx(1, abs=1e-3)
    with store.look() as look:
        assert look.view.documents[look.view.alive].tolist() == [2, 2, 3, 3, 4]
    store.upkeep.tidy()
    assert changing.sql("SELECT count(*) FROM change_log") == [(1,)]


def test_lists_of_words_that_were_made_for_the_old_index_are_forgotten(changing, monkeypatch):
    """A new index counts the changes of titles from 0 again, so those lists would seem to hold."""
    monkeypatch.setattr("kb.engine.store.search.look.MOST_MATCHES", 0)
    store = changing.store

    def found(term):
        with store.look() as look:
            counts = look.statistics([term], []).term_counts
            return sorted(set(look.view.documents[look.by_words([term], counts, 50)].tolist()))

    last = changing.add("voles hide", title="Reeds")
    assert found("reed") == [last]
    renew(store)
    store.documents.update(2, "Reeds", None)  # and no look at the old index after that
    assert store.models.switch()
    assert found("reed") == [2, last]


def test_a_store_from_before_there_was_a_choice_keeps_its_vectors(tmp_path):
    path = tmp_path / "old.db"
    store = Store(path, terms, TERMS_VERSION, OLD.name)
    store.documents.add(draft(), [Chunk("otters", 0)], OLD.embed(["otters"]))
    store.close()
    database = Database(path)
    with database.transaction() as query:
        query("DELETE FROM facts WHERE name IN ('model', 'vectors_place', 'other_model')")
    database.close()
    again = Store(path, terms, TERMS_VERSION, NEW.name)
    assert (again.models.searched, again.models.wanted) == (OLD.name, NEW.name)
    again.close()
