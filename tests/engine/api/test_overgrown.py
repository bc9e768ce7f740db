"""Bodies that are more than they seem: of very many values, very deep, with endless numbers."""

import json

import pytest
from raising import raising

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
def test_a_body_of_too_many_values_is_refused_unread(api, method, path, body, monkeypatch):
    content = json.dumps(body, separators=(",", ":")).encode()
    monkeypatch.setattr("json.loads", raising(AssertionError("it was read")))
    answer = api.send(method, path, content)
    monkeypatch.undo()
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert "values: send fewer" in answer.json()["message"]


def test_a_note_full_of_commas_is_only_one_value(api):
    assert api.post("/jobs", {"text": ',[{"' * 200_000}).status_code == 202


DEEP = "[" * 100_000 + "]" * 100_000
LONG = "9" * 5000
PLACES = {
    "a search": ("POST", "/search", '{{"query": "x", "tags": {}}}'),
    "a note": ("POST", "/jobs", '{{"text": "x", "metadata": {{"a": {}}}}}'),
    "a change": ("PATCH", "/notes/1", '{{"text": "x", "title": {}}}'),
    "an import": ("POST", "/import", '{{"metadata": {{"a": {}}}}}'),
    "a check": ("POST", "/import/check", '{{"documents": {}}}'),
}


@pytest.mark.parametrize(("method", "path", "body"), PLACES.values(), ids=PLACES)
def test_what_goes_too_deep_or_has_too_many_digits_is_told_so(api, method, path, body):
    def told(value):
        answer = api.send(method, path, body.format(value))
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
        return answer.json()["message"]

    assert "nested too deep: metadata may go 8 levels deep" in told(DEEP)
    assert "too long: it may have 4,300 digits" in told(LONG)


@pytest.mark.parametrize("depth", [9, 300, 100_000])
def test_metadata_beside_a_file_that_goes_too_deep_is_told_in_one_sentence(api, depth):
    metadata = '{"a": ' + "[" * depth + "]" * depth + "}"
    answer = api.post("/jobs", files={"file": ("a.txt", b"x")}, data={"metadata": metadata})
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert "8" in answer.json()["message"]
    assert len(answer.json()["message"]) < 200


def test_what_is_no_json_is_told_with_the_place(api):
    for path in ("/jobs", "/search", "/import"):
        answer = api.send("POST", path, b'{"text": ')
        assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")
        assert "position 9" in answer.json()["message"]


@pytest.mark.parametrize(
    "fields",
    [{"tags": ["x" * 100_000] * 11}, {"title": "x" * (2**20 + 1)}],
    ids=["many", "one"],
)
def test_fields_beside_a_file_take_little_all_together(api, fields):
    answer = api.post("/jobs", files={"file": ("a.txt", b"x")}, data=fields)
    assert (answer.status_code, answer.json()["error"]) == (413, "body_too_large")
    assert "1,048,576 bytes in all" in answer.json()["message"]


def test_metadata_beside_a_file_may_be_as_large_as_beside_a_note(api):
    metadata = json.dumps({"a": "x" * 1_000_000})
    answer = api.post("/jobs", files={"file": ("a.txt", b"x")}, data={"metadata": metadata})
    assert answer.status_code == 202


TWICE = {
    "a search": ("POST", "/search", '{"query": "heron", "top": 5, "query": "otter"}', "query"),
    "a note": ("POST", "/jobs", '{"text": "x", "metadata": {"a": 1, "a": 1}}', "a"),
    "tags": ("PUT", "/documents/1/tags", '{"tags": ["a"], "tags": ["b"]}', "tags"),
    "an import": ("POST", "/import", '{"source": "x", "key": "1", "key": "2"}', "key"),
}


@pytest.mark.parametrize(("method", "path", "body", "name"), TWICE.values(), ids=TWICE)
def test_what_is_said_twice_is_refused(api, method, path, body, name):
    api.add_note("Otters swim.")
    answer = api.send(method, path, body)
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    assert answer.json()["message"] == f"{name}: It occurs twice: send it once"
    assert [field["field"] for field in answer.json()["fields"]] == [name]


@pytest.mark.parametrize("kind", ["multipart/form-data", "multipart/form-data; boundary=x"])
def test_a_form_that_cannot_be_read_says_how_to_send_one(api, kind):
    answer = api.request("POST", "/jobs", content=b"no form", headers={"content-type": kind})
    assert answer.status_code == 400
    assert "send it as multipart/form-data with the boundary" in answer.json()["message"]
