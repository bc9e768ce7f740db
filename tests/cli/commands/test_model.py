"""`kb model` against a real engine."""

import json
import os
import sys

import pytest

from programs import ended

OLD, NEW = "hash-384", "hash-384-other"


@pytest.fixture
def settled(api):
    """Whatever a test chooses, the next one finds the usual model."""
    yield
    api("model", "use", OLD, "--wait")


def test_the_models_are_listed(printed, engine, rows):
    out = printed("model", "list")
    assert [row[:2] for row in rows(out)] == [[OLD, "in use"], [NEW, ""]]
    assert [row[4] for row in rows(out)] == ["kb", "kb"]


def test_a_model_is_chosen_and_is_in_use_when_its_vectors_are_there(kb, api, note, rows, settled):
    note("Ferrets sleep all day long.", "--tags", "model-test")
    code, out, _ = kb("model", "use", NEW, "--wait")
    assert (code, out) == (0, f"{NEW} is in use\n")
    assert api("status")["model"]["name"] == NEW
    fields = dict(rows(kb("model", "status")[1]))
    assert fields == {"model": NEW, "chosen by": "kb model use"}
    [hit] = api("search", "Ferrets sleep all day long.", "--vec-only", "--tags", "model-test")[
        "results"
    ]
    assert hit["text"] == "Ferrets sleep all day long."


def test_a_model_that_is_not_installed_is_refused(refusal, engine):
    err = refusal("model", "use", "gpt")
    assert err == f"kb: The model gpt is not installed; there are {OLD}, {NEW}\n"


CHANGE = {"name": NEW, "done": 1920, "total": 5882, "state": "running", "failure": None}
MODELS = {
    "models": [
        {
            "name": name,
            "public_name": name,
            "state": state,
            "installed": True,
            "origin": "kb",
            "dimensions": 384,
            "max_tokens": 256,
            "languages": "English",
            "license": "Apache-2.0",
            "size_bytes": 23_000_000,
        }
        for name, state in ((OLD, "active"), (NEW, "next"))
    ],
    "active": OLD,
    "wanted": NEW,
    "set_by": "choice",
    "change": CHANGE,
}


class TestWhileAChangeIsUnderWay:
    @pytest.fixture(autouse=True)
    def answering(self, engine, monkeypatch):
        async def answer(*_):
            return MODELS

        monkeypatch.setattr("kb.client.EngineClient.models", answer)
        monkeypatch.setattr("kb.client.EngineClient.use_model", answer)

    def test_the_list_says_how_far_it_is(self, kb, rows):
        _, out, _ = kb("model", "list")
        assert rows(out)[1][1] == "to come, 32 %"

    def test_the_status_says_how_many_passages_are_ready(self, kb, rows):
        _, out, _ = kb("model", "status")
        assert dict(rows(out))["change"] == f"to {NEW}: 1,920 of 5,882 passages ready, 32 %"

    def test_choosing_says_what_happens_now(self, printed):
        assert f"search goes on with {OLD}" in printed("model", "use", NEW)

    def test_a_model_that_does_not_load_is_a_failure(self, kb, monkeypatch):
        failed = {**CHANGE, "state": "failed", "failure": "OSError: no such file"}
        monkeypatch.setitem(MODELS, "change", failed)
        for options in ((), ("--wait",)):
            code, out, _ = kb("model", "use", NEW, *options)
            assert (code, out) == (1, f"{NEW} cannot be loaded: OSError: no such file\n")


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("gpt", "there is no such model here, use one of all-MiniLM-L6-v2"),
        ("a/b", "not the name of a model"),
        ("/nowhere", "is not a model"),
    ],
)
def test_a_setting_that_names_no_model_is_refused_in_one_line(
    engine_environment, tmp_path, name, what
):
    environ = engine_environment(KB_EMBEDDER="minilm", KB_MODEL=name, HOME=os.fspath(tmp_path))
    done = ended(sys.executable, "-P", "-m", "kb.engine", env=environ)
    assert done.returncode == 2
    assert what in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_the_json_is_that_of_the_api(kb, api, engine):
    answer = api("model", "list")
    assert set(answer) == {"models", "active", "wanted", "set_by", "change"}
    assert json.loads(kb("model", "status", "--json")[1]) == answer
