"""Bodies of few bytes and very many values."""

import json

import pytest

from kb.serving.shape import MOST_VALUES

MANY = [[]] * MOST_VALUES


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/jobs", {"text": "a note", "metadata": {"x": MANY}}),
        ("POST", "/search", {"query": "x", "tags": MANY}),
        ("PATCH", "/notes/1", {"text": "a note", "more": MANY}),
    ],
)
def test_a_body_of_too_many_values_is_refused_before_it_is_read(
    api, method, path, body, monkeypatch
):
    content = json.dumps(body, separators=(",", ":")).encode()

    def read(*_arguments, **_options):
        raise AssertionError("it was read")

    monkeypatch.setattr("json.loads", read)
    answer = api.request(
        method, path, content=content, headers={"content-type": "application/json"}
    )
    monkeypatch.undo()
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert "values" in answer.json()["message"]


def test_a_note_full_of_commas_is_only_one_value(api):
    assert api.post("/jobs", {"text": ',[{"' * 200_000}).status_code == 202
