"""The choice of a model, and the change to another one, by way of the API."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kb.engine.embed import HashEmbedder, OtherHashEmbedder
from kb.engine.errors import StartupError
from kb.engine.search.answers import Question

OLD, NEW = HashEmbedder.name, OtherHashEmbedder.name


def change(api):
    return api.get("/status").json()["model"]["change"]


def issues(api):
    return {row["code"]: row["message"] for row in api.get("/status").json()["health"]["issues"]}


def models(api):
    """The state of each model by its name."""
    return {row["name"]: row["state"] for row in api.get("/models").json()["models"]}


@pytest.fixture
def changing(api):
    """Forty passages, and the change to another model has just been asked for."""
    for number in range(40):
        api.submit_note(f"otter number{number} swims")
    api.engine.worker.finish_jobs()
    answer = api.put("/model", {"name": NEW})
    assert answer.status_code == 200
    begun = {"name": NEW, "done": 0, "total": 40, "state": "running", "failure": None}
    assert answer.json()["change"] == begun
    return api


@pytest.fixture(autouse=True)
def loaded(engine):
    """The second model of the tests takes no time to load, but a thread."""
    engine.embedders.of(NEW).start()
    engine.embedders.of(NEW).wait(30)


def exact(api, text, **fields):
    """The best hit by meaning, and its cosine to the very same text: 1 if one model made both."""
    [hit, *_] = api.search(text, vec_only=True, explain=True, **fields)
    return hit["text"], hit["explain"]["cosine"]


class TestTheList:
    def test_says_what_is_installed_and_which_one_is_searched(self, api):
        answer = api.get("/models").json()
        assert models(api) == {OLD: "active", NEW: "available"}
        assert (answer["active"], answer["wanted"], answer["set_by"]) == (OLD, OLD, "default")
        assert answer["change"] is None
        assert all(row["installed"] and row["origin"] == "kb" for row in answer["models"])

    def test_a_model_that_is_not_there_cannot_be_used(self, api):
        answer = api.put("/model", {"name": "gpt"})
        assert (answer.status_code, answer.json()["error"]) == (404, "model_not_found")
        assert OLD in answer.json()["message"]
        assert api.get("/models").json()["wanted"] == OLD


class TestAChange:
    def test_goes_on_behind_searches_that_see_one_model_only(self, changing):
        seen = []
        while changing.engine.renewal.step():
            text, cosine = exact(changing, "otter number7 swims")
            assert (text, round(cosine, 3)) == ("otter number7 swims", 1.0)
            now = change(changing)
            seen.append(now["done"] if now else "changed")
        assert seen[:4] == [0, 16, 32, 40]
        assert set(seen[4:]) == {"changed"}
        assert changing.engine.store.models.searched == NEW
        assert models(changing) == {OLD: "available", NEW: "active"}
        assert changing.get("/status").json()["counts"]["vectors_missing"] == 0

    def test_is_shown_while_it_lasts(self, changing):
        for _ in range(2):
            changing.engine.renewal.step()
        assert models(changing) == {OLD: "active", NEW: "next"}
        status = changing.get("/status").json()
        assert (status["model"]["name"], status["model"]["state"]) == (OLD, "ready")
        assert status["health"] == {"status": "healthy", "issues": []}
        metrics = changing.get("http://127.0.0.1/metrics").text
        assert "kb_model_change 0.4\n" in metrics
        changing.engine.renewal.finish()
        assert "kb_model_change 1.0\n" in changing.get("http://127.0.0.1/metrics").text

    def test_what_is_added_and_changed_meanwhile_is_found_before_and_after(self, changing):
        for _ in range(2):
            changing.engine.renewal.step()
        changing.add_note("herons wait in the reeds")
        changing.patch("/notes/1", {"text": "voles hide below"})
        changing.delete("/documents/2")
        for text in ("herons wait in the reeds", "voles hide below"):
            assert exact(changing, text) == (text, pytest.approx(1, abs=1e-3))
        changing.engine.renewal.finish()
        assert changing.engine.store.models.searched == NEW
        for text in ("herons wait in the reeds", "voles hide below"):
            assert exact(changing, text) == (text, pytest.approx(1, abs=1e-3))
        totals = changing.engine.store.totals.current()
        assert (totals.chunks, totals.vectors, totals.next_vectors) == (40, 40, 0)

    def test_is_taken_back_by_choosing_the_old_model_again(self, changing):
        for _ in range(2):
            changing.engine.renewal.step()
        answer = changing.put("/model", {"name": OLD}).json()
        assert (answer["change"], answer["wanted"]) == (None, OLD)
        changing.engine.renewal.finish()
        assert changing.engine.store.models.searched == OLD
        assert changing.engine.store.totals.current().next_vectors == 0
        assert exact(changing, "otter number7 swims")[1] == pytest.approx(1, abs=1e-3)

    def test_a_model_that_does_not_load_leaves_the_old_one_in_use(self, changing):
        changing.engine.embedders.of(NEW).failure = "OSError: no such file"
        changing.engine.embedders.of(NEW)._embedder = None
        changing.engine.renewal.finish()
        assert change(changing)["state"] == "failed"
        assert "no such file" in issues(changing)["model_failed"]
        assert OLD in issues(changing)["model_failed"]
        assert exact(changing, "otter number7 swims")[1] == pytest.approx(1, abs=1e-3)
        assert changing.add_note("herons wait")["status"] == "done"
        assert exact(changing, "herons wait")[1] == pytest.approx(1, abs=1e-3)

    def test_searches_in_other_threads_never_fail_and_never_mix(self, changing):
        wrong, over = [], threading.Event()

        def search(number):
            text = f"otter number{number} swims"
            while not over.is_set():
                question = Question(text, top=3, mode="vectors", explain=True)
                answer = changing.engine.searcher.search(question)
                best = answer.results[0]
                if answer.degraded or best.text != text or best.explain.cosine < 0.99:
                    wrong.append((answer.degraded, best.text, best.explain.cosine))

        with ThreadPoolExecutor(2) as pool:
            searches = [pool.submit(search, number) for number in (3, 8)]
            for name in (NEW, OLD, NEW):
                changing.engine.choice.use(name)
                changing.engine.renewal.finish()
                changing.engine.embedders.of(OLD).start()
            over.set()
        assert [each.result() for each in searches] == [None, None]
        assert wrong == []
        assert changing.engine.store.models.searched == NEW


class TestTheChoice:
    def test_holds_after_a_restart(self, open_api, tmp_path):
        with open_api(tmp_path / "kept") as api:
            api.add_note("otters swim")
            api.put("/model", {"name": NEW})
        with open_api(tmp_path / "kept") as api:
            answer = api.get("/models").json()
            assert (answer["active"], answer["wanted"], answer["set_by"]) == (OLD, NEW, "choice")
            api.engine.renewal.finish()
        with open_api(tmp_path / "kept") as api:
            assert (api.engine.store.models.searched, api.engine.store.models.task()) == (NEW, None)
            assert exact(api, "otters swim")[1] == pytest.approx(1, abs=1e-3)

    def test_of_the_settings_wins(self, open_api, tmp_path):
        with open_api(tmp_path / "kept") as api:
            api.add_note("otters swim")
            api.put("/model", {"name": NEW})
            api.engine.renewal.finish()
        with open_api(tmp_path / "kept", model=OLD) as api:
            answer = api.get("/models").json()
            assert (answer["active"], answer["wanted"], answer["set_by"]) == (NEW, OLD, "setting")
            refused = api.put("/model", {"name": NEW})
            assert (refused.status_code, refused.json()["error"]) == (409, "model_set")
            api.engine.renewal.finish()
            assert api.engine.store.models.searched == OLD

    def test_of_the_settings_must_be_installed(self, open_engine, tmp_path):
        refused = pytest.raises(StartupError, match=f"KB_MODEL=gpt.*{OLD}")
        with refused, open_engine(tmp_path / "kept", model="gpt"):
            pass

    def test_of_a_model_that_is_gone_falls_back_and_says_so(self, open_api, tmp_path, monkeypatch):
        with open_api(tmp_path / "kept") as api:
            api.add_note("otters swim")
            api.put("/model", {"name": NEW})
            api.engine.renewal.finish()
        monkeypatch.setattr("kb.engine.embed.installed.OtherHashEmbedder", HashEmbedder)
        with open_api(tmp_path / "kept") as api:
            api.engine.store.models.load_vectors()
            told = issues(api)
            assert NEW in told["model_not_installed"]
            assert f"{NEW} is not installed" in told["model_failed"]
            assert OLD in told["model_failed"]
            answer = api.post("/search", {"query": "otters"}).json()
            assert (answer["mode"], answer["degraded"]) == ("words", "model_failed")
            assert api.add_note("herons wait")["status"] == "done"
            [gone] = [row for row in api.get("/models").json()["models"] if row["name"] == NEW]
            assert (gone["installed"], gone["state"]) == (False, "active")
            api.engine.renewal.finish()
            assert api.engine.store.models.searched == OLD
            for text in ("otters swim", "herons wait"):
                assert exact(api, text) == (text, pytest.approx(1, abs=1e-3))


def test_a_store_that_another_kind_of_model_filled_is_embedded_anew(open_api, tmp_path):
    with open_api(tmp_path / "kept") as api:
        api.add_note("To reset a forgotten password, follow the link.")
    with open_api(tmp_path / "kept", embedder="minilm") as api:
        assert len(api.search("password")) == 1
        api.engine.renewal.finish()
        [hit] = api.search("credentials", vec_only=True)
        assert hit["text"].startswith("To reset")
        assert api.engine.store.totals.current().vectors == 1


def test_chunks_without_vectors_get_them_once_the_model_is_there(api):
    api.add_note("Otters swim.")
    with api.engine.store.database.transaction() as query:
        query("DELETE FROM vectors")
        query("UPDATE totals SET value = 0 WHERE name = 'vectors'")
    assert api.get("/status").json()["counts"]["vectors_missing"] == 1
    api.engine.embedder.failure = "OSError: no such file"
    assert not api.engine.renewal.step()
    api.engine.embedder.failure = None
    api.engine.renewal.finish()
    assert api.get("/status").json()["counts"]["vectors_missing"] == 0
    assert exact(api, "Otters swim.")[1] == pytest.approx(1, abs=1e-3)
