"""The index in memory: equal to the database whatever happens to it, and exact."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor

import apsw
import numpy as np
import pytest
from raising import raising

from kb.engine.embed import HashEmbedder
from kb.engine.errors import StorageFailed
from kb.engine.scoring import fingerprints
from kb.engine.store.rows.search_names import called
from kb.engine.store.search import chunk_index as vectors_module
from kb.engine.store.search import sign_bits
from kb.engine.store.search.change_log import LogOfChanges
from kb.engine.store.search.chunk_index import DIMENSIONS, quantise
from kb.engine.text.terms import terms
from kb.engine.values import Filter

BROKEN = raising(apsw.IOError("disk I/O error"))
EMBEDDER = HashEmbedder()
WORDS = ["otter", "heron", "vole", "river", "stone", "mussel", "KB-1042", "naïve", "東京都", "reed"]


def sentence(rng):
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 12)))


def act(shelf, rng, documents):
    """One random change of the store; `documents` are the ids that are there."""
    actions = ["add", "file", "replace", "rename", "delete", "tag", "embed", "join"]
    action = rng.choice(actions)
    texts = [sentence(rng) + " " for _ in range(rng.randint(1, 5))]
    if action in ("add", "file") or not documents:
        file = {"doc_type": "text", "stored_name": "x", "source_path": f"/{rng.choice('abc')}"}
        kind = file if action == "file" else {}
        documents.append(shelf.add(*texts, title=sentence(rng), tags=rng.sample("abc", 2), **kind))
        return
    document_id = rng.choice(documents)
    is_note = shelf.store.documents.get(document_id).doc_type == "note"
    if action == "replace" and is_note:
        shelf.replace(document_id, *texts, title=rng.choice([None, sentence(rng)]))
    elif action == "rename":
        shelf.store.documents.update(document_id, sentence(rng), None)
    elif action == "tag":
        shelf.store.documents.set_tags(document_id, rng.sample("abcd", 2))
    elif action == "embed":
        chunk_ids = [row[0] for row in shelf.sql("SELECT id FROM chunks ORDER BY id LIMIT 3")]
        chunk_ids.append(10**9)
        vectors = EMBEDDER.embed([sentence(rng) for _ in chunk_ids])
        shelf.store.models.put_vectors(chunk_ids, vectors)
    elif action == "join":
        for doubles in shelf.store.doubles.listing(1, 0).doubles:
            ids = [document.id for document in doubles.documents]
            joined, _ = shelf.store.doubles.join(ids, doubles.updated_at)
            assert [*joined.removed, joined.document.id] == [*ids[1:], ids[0]]
            documents[:] = [each for each in documents if each not in joined.removed]
    else:
        shelf.store.documents.delete(document_id)
        documents.remove(document_id)


def settle(store):
    """What the worker does when there is nothing else to do."""
    while store.upkeep.forget_words():
        pass
    store.upkeep.tidy()


def check_index(shelf):
    with shelf.store.look() as look:
        view = look.view
        alive = view.alive
        rows = np.array(
            look._query("SELECT id, document_id, seq FROM chunks ORDER BY id"), np.int64
        ).reshape(-1, 3)
        assert (np.diff(view.ids) > 0).all()
        assert np.array_equal(view.ids[alive], rows[:, 0])
        assert np.array_equal(view.documents[alive], rows[:, 1])
        assert np.array_equal(view.seqs[alive], rows[:, 2])
        codes = dict(look._query("SELECT chunk_id, code FROM vectors"))
        for row in np.flatnonzero(alive):
            code = codes.get(int(view.ids[row]))
            assert view.embedded[row] == (code is not None)
            assert code is None or view.codes[row].tobytes() == code


def check_words(shelf):
    settle(shelf.store)
    expected = {}
    for chunk_id, text, *names, headings in shelf.sql(
        "SELECT chunks.id, text, title, filename, source_path, headings FROM chunks "
        "JOIN documents ON documents.id = document_id"
    ):
        assert headings == "[]"
        expected[chunk_id, "body"] = terms(text)
        expected[chunk_id, "head"] = terms(called(*names))
    assert shelf.indexed() == {key: found for key, found in expected.items() if found}
    stored = shelf.sql("SELECT chunk_id, body, head FROM chunk_terms")
    assert {(row[0], "body"): row[1] for row in stored} | {
        (row[0], "head"): row[2] for row in stored
    } == {key: fingerprints(found) for key, found in expected.items()}
    with shelf.database.transaction() as query:
        query("INSERT INTO words (words) VALUES ('integrity-check')")


def check_totals(shelf):
    counted = {
        "documents": "SELECT count(*) FROM documents",
        "notes": "SELECT count(*) FROM documents WHERE doc_type = 'note'",
        "chunks": "SELECT count(*) FROM chunks",
        "terms": "SELECT COALESCE(sum(length(body) + length(head)), 0) / 4 FROM chunk_terms",
        "vectors": "SELECT count(*) FROM vectors",
        "file_bytes": "SELECT COALESCE(sum(size_bytes), 0) FROM documents WHERE stored_name = 'x'",
        "tags": "SELECT count(DISTINCT tag_id) FROM document_tags",
        "next_vectors": "SELECT count(*) FROM other_vectors",
    }
    totals = shelf.store.totals.current()
    for name, statement in counted.items():
        assert getattr(totals, name) == shelf.sql(statement)[0][0], name
    assert shelf.sql("SELECT count(*) FROM exact_vectors") == shelf.sql(
        "SELECT count(*) FROM vectors"
    )
    wrong = (
        "SELECT id FROM documents AS d WHERE chunk_count <> "
        "(SELECT count(*) FROM chunks WHERE document_id = d.id)"
    )
    assert shelf.sql(wrong) == []
    assert shelf.sql("PRAGMA foreign_key_check") == []


@pytest.mark.parametrize("seed", range(4))
def test_memory_words_and_totals_equal_the_database_after_any_changes(shelf, seed):
    rng = random.Random(seed)
    documents = []
    for number in range(60):
        act(shelf, rng, documents)
        if rng.random() < 0.5:  # sometimes several changes come between two looks
            check_index(shelf)
        if number % 20 == 19:
            check_words(shelf)
            check_totals(shelf)
    check_index(shelf)
    for document_id in documents:
        shelf.store.documents.delete(document_id)
    check_index(shelf)
    check_words(shelf)
    assert shelf.indexed() == {}


def test_a_store_that_is_opened_again_has_the_same_index(shelf, open_shelf):
    rng = random.Random(7)
    documents = []
    for _ in range(40):
        act(shelf, rng, documents)
    shelf.store.close()
    again = open_shelf()
    check_index(again)
    act(again, rng, documents)
    check_index(again)
    check_totals(again)


def test_changes_are_seen_after_the_log_of_them_was_tidied_away(shelf):
    first = shelf.add("otters")
    shelf.add("voles")
    assert shelf.store.upkeep.tidy() > 0
    assert shelf.sql("SELECT count(*) FROM change_log") == [(1,)]
    check_index(shelf)
    shelf.store.documents.delete(first)
    shelf.add("herons")
    check_index(shelf)


def test_the_log_is_forgotten_and_the_place_noted_in_one_transaction(shelf, monkeypatch):
    shelf.add("otters")
    shelf.add("voles")
    state = "SELECT (SELECT count(*) FROM change_log), (SELECT count(*) FROM change_readers)"
    before = shelf.sql(state)
    with monkeypatch.context() as patch:
        patch.setattr("kb.engine.store.originals.Originals.strike_off", BROKEN)
        with pytest.raises(StorageFailed):
            shelf.store.upkeep.tidy()
    assert shelf.sql(state) == before
    assert shelf.store.upkeep.tidy() > 0
    assert shelf.sql(state) == [(1, 1)]


def test_what_is_added_while_everything_is_read_is_in_the_index_once(shelf):
    shelf.add("otters")
    index = vectors_module.ChunkIndex()
    vectors = shelf.store._index.searched.vectors
    with shelf.database.reading() as query:

        def interrupted(sql, **values):
            rows = query(sql, **values)
            shelf.add("voles")
            return rows

        index.load(LogOfChanges(interrupted, vectors))
    with shelf.database.reading() as query:
        view = index.view(LogOfChanges(query, vectors))
    assert [(each,) for each in view.ids.tolist()] == shelf.sql("SELECT id FROM chunks ORDER BY id")


def test_changes_that_could_not_be_read_are_seen_by_the_next_look(shelf, monkeypatch):
    shelf.add("otters swim ")
    with shelf.store.look() as look:
        before = look.view.ids.tolist()
    shelf.add("herons wait ", "voles hide ")
    with monkeypatch.context() as patch:
        patch.setattr("kb.engine.store.search.change_log.LogOfChanges.codes", BROKEN)
        with pytest.raises(StorageFailed), shelf.store.look():
            pass
    with shelf.store.look() as look:
        assert look.view.ids.tolist() == [*before, before[-1] + 1, before[-1] + 2]
        assert look.view.embedded.all()


def test_neighbours_stand_side_by_side_in_one_document(shelf):
    shelf.add("otters ", "herons ", "voles ")
    shelf.add("reeds ", "stones ")
    [last] = shelf.sql("SELECT max(id) FROM chunks")[0]
    with shelf.database.transaction() as query:  # as v2 could leave it: something between was lost
        query("UPDATE chunks SET seq = 7 WHERE id = :id", id=last)
    shelf.store._index.load()
    with shelf.store.look() as look:
        before, after = look.view.neighbours(np.arange(5))
    assert before.tolist() == [0, 0, 1, 3, 4]
    assert after.tolist() == [1, 2, 2, 3, 4]


def test_removed_rows_are_swept_and_an_older_view_stays_whole(shelf):
    shelf.add("kept first")
    long = shelf.add(*(f"passage {number} " for number in range(1200)))
    last = shelf.add("kept last")
    with shelf.store.look() as before:
        view = before.view
        ids, alive = view.ids.copy(), view.alive.copy()
        shelf.store.documents.delete(long)
        with shelf.store.look() as after:
            assert len(after.view.ids) == 2
            assert after.view.rows_in(np.array([last])).tolist() == [1]
        assert np.array_equal(view.ids, ids)
        assert np.array_equal(view.alive, alive)
    check_index(shelf)
    check_words(shelf)


def test_a_look_sees_a_replaced_document_old_or_new_but_never_neither(shelf):
    document_id = shelf.add("otters 0")
    stop = threading.Event()

    def replace():
        number = 0
        while not stop.is_set():
            number += 1
            shelf.replace(document_id, f"otters {number}", "more otters")

    def look():
        try:
            for _ in range(150):
                with shelf.store.look(Filter(doc_types=("note",))) as look:
                    rows = look.all_if_few()
                    ids = look.view.ids[rows].tolist()
                    stored = look._query("SELECT id FROM chunks ORDER BY id")
                    assert ids == [chunk_id for (chunk_id,) in stored]
                    assert set(look.chunks(ids)) == set(ids)
                    _, known = look.exact_vectors(rows)
                    assert known.all()
        finally:
            stop.set()

    with ThreadPoolExecutor(3) as pool:
        writer = pool.submit(replace)
        lookers = [pool.submit(look) for _ in range(2)]
        assert [looker.result() for looker in lookers] == [None, None]
        writer.result()


def random_vectors(rng, count):
    vectors = rng.standard_normal((count, DIMENSIONS)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class TestNearest:
    @pytest.fixture
    def filled(self, shelf):
        """2,000 random vectors over 100 documents, some of them without one."""
        rng = np.random.default_rng(1)
        self.vectors = random_vectors(rng, 2000)
        for number in range(100):
            shelf.add(*(f"{number} " for _ in range(20)), tags=["even"] * (number % 2 == 0))
        ids = [row[0] for row in shelf.sql("SELECT id FROM chunks ORDER BY id")]
        shelf.store.models.put_vectors(ids, self.vectors)
        return shelf

    def best(self, look, vector, allowed):
        """The cosines of the ten nearest, by int8 first and then exactly, as a search does it."""
        rows = np.sort(look.by_vector(vector, 50))
        assert allowed is None or set(rows.tolist()) <= set(allowed.tolist())
        exact, known = look.exact_vectors(rows)
        assert known.all()
        return np.sort(exact @ vector)[::-1][:10]

    @pytest.mark.parametrize(
        "filter_",
        [None, Filter(tags=("even",)), Filter(doc_types=("note",)), Filter(source_path="/one")],
    )
    def test_the_ten_nearest_are_those_of_an_exact_search(self, filled, filter_):
        filled.store.documents.set_tags(3, ["odd"])
        narrow = [filled.add(f"narrow {n} ", source_path="/one") for n in range(60)]
        ids = [row[0] for row in filled.sql("SELECT id FROM chunks WHERE document_id > 100")]
        extra = random_vectors(np.random.default_rng(2), len(ids))
        filled.store.models.put_vectors(ids, extra)
        assert len(narrow) == len(ids)
        vectors = np.concatenate([self.vectors, extra])
        rng = np.random.default_rng(3)
        with filled.store.look(filter_) as look:
            allowed = look._allowed
            own = np.arange(len(vectors)) if allowed is None else allowed
            for vector in random_vectors(rng, 10):
                expected = np.sort(vectors[own] @ vector)[::-1][:10]
                assert np.allclose(self.best(look, vector, allowed), expected, atol=1e-3)

    def test_what_is_gone_or_has_no_vector_is_never_near(self, filled):
        with filled.database.transaction() as query:
            query("DELETE FROM vectors WHERE chunk_id <= 500")
        again = type(filled)(filled.store.path)
        again.store.documents.delete(100)
        with again.store.look() as look:
            near = look.by_vector(self.vectors[0], 5000)
            assert look.view.ids[near].min() > 500
            assert 100 not in look.view.documents[near]
            assert len(near) == 2000 - 500 - 20
        again.store.close()

    def test_an_empty_index_has_nothing_near(self, store):
        with store.look() as look:
            assert look.by_vector(EMBEDDER.embed_one("otters"), 10).tolist() == []

    def test_codes_are_clamped_not_wrapped(self):
        spike = np.zeros((2, DIMENSIONS), np.float32)
        spike[0, 0], spike[1, 0] = 1.0, -1.0
        assert quantise(spike)[:, 0].tolist() == [127, -127]


class TestSigns(TestNearest):
    """The same where signs choose which codes are compared: here so many that none is missed."""

    @pytest.fixture(autouse=True)
    def many(self, monkeypatch):
        monkeypatch.setattr(vectors_module, "EXACT_UP_TO", 100)
        for module in (vectors_module, sign_bits):
            monkeypatch.setattr(module, "ROWS", 128)

    def test_signs_are_made_of_every_full_block(self, filled):
        assert self.known_blocks(filled) == 2000 // 128

    def test_a_late_vector_is_found_at_once_and_its_block_made_anew(self, filled):
        before = self.known_blocks(filled)
        vector = random_vectors(np.random.default_rng(5), 1)
        filled.store.models.put_vectors([7], vector)
        with filled.store.look() as look:
            assert look.view.signs[0] is None
            assert look.view.ids[look.by_vector(vector[0], 1)].tolist() == [7]
        assert self.known_blocks(filled) == before

    def test_rows_that_moved_have_no_signs_until_they_are_made_anew(self, filled):
        assert self.known_blocks(filled)
        for document in range(1, 60):
            filled.store.documents.delete(document)
        with filled.store.look() as look:
            assert len(look.view.ids) < 2000
            assert not any(look.view.signs)
            near = look.by_vector(self.vectors[-1], 1)
            assert look.view.ids[near].tolist() == [2000]
        assert self.known_blocks(filled) == 41 * 20 // 128

    def test_few_of_many_are_compared_and_nearly_all_the_nearest_are_in(self, filled, monkeypatch):
        self.known_blocks(filled)
        monkeypatch.setattr(sign_bits, "_AT_LEAST", 200)
        rng = np.random.default_rng(6)
        found = 0
        with filled.store.look() as look:
            for number in rng.integers(0, 2000, 20):
                vector = self.vectors[number] + random_vectors(rng, 1)[0] / 2
                usable = look.view.alive & look.view.embedded
                rows = sign_bits.likely(look.view.signs, vector, usable, 10)
                assert len(rows) < 450
                found += number in rows
        assert found == 20

    def known_blocks(self, shelf):
        """After enough looks for all blocks."""
        for _ in range(20):
            with shelf.store.look() as look:
                known = sum(block is not None for block in look.view.signs)
        return known
