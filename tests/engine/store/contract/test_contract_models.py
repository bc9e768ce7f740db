"""Models: vectors of another one are made beside those in use, and take their place at once."""

import numpy as np
import pytest

from kb.engine.embed import HashEmbedder
from kb.engine.values import Chunk

OLD = HashEmbedder()


class Other(HashEmbedder):
    """The same as the old one, turned round."""

    name = "other-384"

    def embed(self, texts):
        return np.ascontiguousarray(super().embed(texts)[:, ::-1])


NEW = Other()


def both(*texts):
    return {OLD.name: OLD.embed(list(texts)), NEW.name: NEW.embed(list(texts))}


def embed_some(store, limit=100):
    rows = store.models.unembedded(limit)
    if rows:
        vectors = NEW.embed([row.chunk.text for row in rows])
        store.models.put_vectors([row.chunk_id for row in rows], vectors, NEW.name)
    return len(rows)


def nearest(store, model, text):
    with store.look() as look:
        return look.model, look.texts(look.by_vector(model.embed([text])[0], 1))


@pytest.fixture
def filled(store, made):
    for text in ("otters swim", "herons wade", "newts rest"):
        made.document(text, title=f"About {text}")
    return store


def test_an_empty_store_takes_a_model_at_once(store, made):
    models = store.models
    models.want(NEW.name)
    assert (models.searched, models.wanted, models.task()) == (NEW.name, NEW.name, None)
    store.documents.add(made.draft("otters"), [Chunk("otters", 0)], NEW.embed(["otters"]))
    assert nearest(store, NEW, "otters") == (NEW.name, ["otters"])


def test_the_old_one_is_searched_until_the_last_vector_is_there(filled, made):
    filled.models.want(NEW.name)
    assert (filled.models.searched, filled.models.task()) == (OLD.name, "begin")
    filled.models.begin()
    assert filled.models.task() == "embed"
    assert embed_some(filled, 2) == 2
    assert not filled.models.switch()
    assert nearest(filled, OLD, "herons wade") == (OLD.name, ["herons wade"])
    assert embed_some(filled) == 1
    assert embed_some(filled) == 0
    assert filled.totals.read().next_vectors == 3
    assert filled.models.switch()
    assert nearest(filled, NEW, "herons wade") == (NEW.name, ["herons wade"])
    while filled.models.task() == "clear":
        filled.models.clear()
    assert filled.models.task() is None
    totals = filled.totals.read()
    assert (totals.vectors, totals.next_vectors) == (3, 0)


def test_what_is_embedded_comes_with_its_title_and_text(filled):
    filled.models.want(NEW.name)
    filled.models.begin()
    first = filled.models.unembedded(1)[0]
    assert (first.title, first.chunk.text) == ("About otters swim", "otters swim")


def test_what_comes_in_meanwhile_has_vectors_of_both(filled, made):
    filled.models.want(NEW.name)
    filled.models.begin()
    embed_some(filled)
    draft = made.draft("foxes dig")
    filled.documents.add(draft, [Chunk("foxes dig", 0)], both("foxes dig"))
    assert nearest(filled, OLD, "foxes dig")[1] == ["foxes dig"]
    assert filled.models.switch()
    assert nearest(filled, NEW, "foxes dig")[1] == ["foxes dig"]


def test_a_change_goes_on_after_a_restart(filled, open_store):
    filled.models.choose(NEW.name)
    filled.models.begin()
    embed_some(filled, 2)
    filled.close()
    again = open_store()
    assert again.models.chosen == NEW.name
    again.models.want(NEW.name)
    assert (again.models.searched, again.models.task()) == (OLD.name, "embed")
    assert embed_some(again) == 1
    assert again.models.switch()
    assert nearest(again, NEW, "newts rest") == (NEW.name, ["newts rest"])


def test_vectors_that_come_late_are_searched(store, made):
    draft = made.draft("otters swim")
    document = store.documents.add(draft, [Chunk("otters swim", 0)], {})
    made.document("herons wade")
    [chunk] = store.documents.get(document.id).chunks
    assert [row.chunk_id for row in store.models.unembedded(5)] == [chunk.id]
    store.models.put_vectors([chunk.id, 10**6], OLD.embed(["otters swim", "gone"]))
    assert store.models.unembedded(5) == []
    assert nearest(store, OLD, "otters swim")[1] == ["otters swim"]


def test_where_a_model_was_is_remembered(store, open_store):
    store.models.remember_folder("/models/mine")
    store.close()
    assert open_store().models.folder == "/models/mine"
