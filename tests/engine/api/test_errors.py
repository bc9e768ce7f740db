"""Every error of an app, ours or the framework's, comes out in one shape."""

import json
from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

import anyio
import httpx
import pytest
from fastapi import APIRouter, FastAPI, Form, HTTPException, Request
from pydantic import BaseModel, ConfigDict, Field, field_validator

from kb.engine import errors
from kb.engine.api.errors import ERROR_CODES, RESPONSES, install, responses

SECRET = "a-secret-value"


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid")

    text: str = ""
    top: int = Field(default=10, ge=1, le=100)
    tags: list[str] = []
    when: datetime | None = None
    uid: UUID | None = None
    kind: Literal["note", "file"] = "note"

    @field_validator("text")
    @classmethod
    def not_blank(cls, text: str) -> str:
        if text.isspace():
            raise ValueError("Write something first")
        return text


def make_app():
    app = FastAPI()
    install(app)
    api = APIRouter(prefix="/api", responses=RESPONSES)

    @api.post("/things")
    def take(body: Body) -> Body:
        return body

    @api.get("/things/{thing_id}", responses=responses(errors.DocumentNotFound))
    def thing(thing_id: int) -> None:
        raise errors.DocumentNotFound(thing_id)

    @api.delete("/things/{thing_id}")
    def remove(thing_id: int) -> None:
        raise errors.JobNotFound("half a pair: \ud800")

    @api.get("/slow")
    def slow() -> None:
        raise errors.ModelLoading("The model is loading", retry_after=2)

    @api.get("/teapot")
    def teapot() -> None:
        raise HTTPException(418, "short and stout", headers={"x-spout": "yes"})

    @api.get("/bug")
    def bug() -> None:
        raise KeyError(SECRET)

    @api.post("/form")
    def form(name: Annotated[str, Form()]) -> str:
        return name

    @api.post("/stream")
    async def stream(request: Request) -> int:
        return len(await request.body())

    app.include_router(api)
    return app


def ask(method, path, **options):
    async def run():
        transport = httpx.ASGITransport(make_app(), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://kb") as client:
            return await client.request(method, path, **options)

    return anyio.run(run)


def test_our_errors_keep_their_code_message_and_details():
    answer = ask("GET", "/api/things/7")
    assert answer.status_code == 404
    assert answer.json() == {
        "error": "document_not_found",
        "message": "Document 7 not found: it may have been deleted, search or list again for "
        "its id",
        "document_id": 7,
    }


def test_an_error_that_says_when_to_come_back_says_it_in_a_header_too():
    answer = ask("GET", "/api/slow")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


def test_text_that_no_encoding_can_carry_does_not_break_the_answer():
    answer = ask("DELETE", "/api/things/1")
    assert answer.json()["message"].startswith("Job half a pair: ? not found: ")


@pytest.mark.parametrize(
    ("sent", "field", "message"),
    [
        ({"top": "many"}, "top", "Should be a whole number"),
        ({"top": 1000}, "top", "Should be at most 100"),
        ({"tags": ["a", 5]}, "tags.1", "Should be text"),
        ({"txet": "x"}, "txet", "There is no such field"),
        ({"\ud800": "x"}, "body", "Should be text in UTF-8"),
        ({"x" * 500: "x"}, "x" * 64, "There is no such field"),
        ({"text": " "}, "text", "Write something first"),
        ([], "body", "Should be a JSON object: {…}"),
        (None, "body", "Is required"),
        ({"tags": {}}, "tags", "Should be a list: […]"),
    ],
)
def test_a_wrong_field_is_named_with_its_reason(sent, field, message):
    body = None if sent is None else json.dumps(sent)
    answer = ask("POST", "/api/things", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
    [found] = answer.json()["fields"]
    assert found["field"] == field
    assert message in found["message"]
    assert answer.json()["message"] == f"{found['field']}: {found['message']}"


def test_wrong_parameters_are_named_like_fields():
    assert ask("GET", "/api/things/seven").json()["fields"][0]["field"] == "thing_id"


@pytest.mark.parametrize("field", ["top", "tags", "when", "uid", "kind"])
def test_what_was_sent_is_not_repeated(field):
    answer = ask("POST", "/api/things", json={field: SECRET})
    assert answer.status_code == 422
    assert SECRET not in answer.text


def test_a_thousand_mistakes_are_not_all_listed():
    answer = ask("POST", "/api/things", json={"tags": list(range(1000))})
    assert len(answer.json()["fields"]) == 20
    assert answer.json()["message"].endswith("; and 980 more")


@pytest.mark.parametrize(
    "body",
    [b"{", b"{'a': 1}", b"\xff\xfe", b'{"text": "\x01"}'],
)
def test_a_body_that_is_not_json_is_called_so(body):
    answer = ask("POST", "/api/things", content=body, headers={"content-type": "application/json"})
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")


def test_a_broken_upload_is_an_invalid_body():
    headers = {"content-type": "multipart/form-data; boundary=x"}
    answer = ask("POST", "/api/form", content=b"--y\r\n\r\n", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_body")


def test_a_missing_route_and_a_missing_method_have_our_shape():
    nothing = ask("GET", "/api/nothing").json()
    assert nothing["error"] == "not_found"
    assert "/api/v1/openapi.json" in nothing["message"]
    answer = ask("PUT", "/api/things/7")
    assert (answer.status_code, answer.json()["error"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET, DELETE"


def test_other_refusals_of_the_framework_keep_their_status_and_headers():
    answer = ask("GET", "/api/teapot")
    assert (answer.status_code, answer.headers["x-spout"]) == (418, "yes")
    assert answer.json() == {"error": "invalid_request", "message": "short and stout"}


def test_a_bug_says_nothing_about_itself():
    answer = ask("GET", "/api/bug")
    assert (answer.status_code, answer.json()["error"]) == (500, "internal_error")
    assert SECRET not in answer.text


def test_a_client_that_hangs_up_is_not_a_bug():
    sent = []

    async def receive():
        return {"type": "http.disconnect"}

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/api/stream",
        "query_string": b"",
        "headers": [],
        "root_path": "",
    }
    anyio.run(make_app(), scope, receive, send)
    assert sent[0]["status"] == 400


def test_every_public_code_is_listed_with_its_status_and_meaning():
    assert ERROR_CODES["document_not_found"].status == 404
    assert ERROR_CODES["internal_error"].status == 500
    assert ERROR_CODES["conflict"].meaning == "The thing changed since the caller last looked."
    assert "startup_error" not in ERROR_CODES
    for name, each in vars(errors).items():
        if isinstance(each, type) and issubclass(each, errors.KbError):
            if each is errors.StartupError:
                continue
            assert ERROR_CODES[each.code].status == each.status, name
    assert all(code.meaning and 400 <= code.status < 600 for code in ERROR_CODES.values())


def test_the_openapi_document_lists_the_errors_of_each_route():
    paths = make_app().openapi()["paths"]
    everywhere = {"400", "401", "403", "405", "413", "415", "421", "422", "429", "431"}
    everywhere |= {"500", "503", "507"}
    assert set(paths["/api/things"]["post"]["responses"]) == everywhere | {"200"}
    assert set(paths["/api/things/{thing_id}"]["get"]["responses"]) == everywhere | {"200", "404"}
    schema = paths["/api/things"]["post"]["responses"]["422"]["content"]["application/json"]
    assert schema["schema"]["$ref"].endswith("/ErrorBody")


def test_a_route_that_adds_an_error_keeps_the_common_ones_of_that_status():
    described = responses(errors.FileTooLarge, errors.ExtractionFailed)
    assert described[413]["description"] == "body_too_large, file_too_large"
    assert described[422]["description"] == "invalid_request, extraction_failed"
