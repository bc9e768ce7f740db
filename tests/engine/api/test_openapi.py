"""The OpenAPI document: complete, and true for whatever a caller sends."""

import json
import re
import zlib

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from kb.engine.api.context import KEY_PATTERN
from kb.engine.app import build_app, guarded

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
KEY = re.compile(KEY_PATTERN)
DOCUMENTS = 40
SLOW = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large]

ROUTES = {
    ("POST", "/search"),
    ("POST", "/jobs"),
    ("GET", "/jobs"),
    ("GET", "/queue"),
    ("POST", "/jobs/check"),
    ("GET", "/models"),
    ("PUT", "/model"),
    ("GET", "/jobs/{job_id}"),
    ("DELETE", "/jobs/{job_id}"),
    ("POST", "/jobs/{job_id}/retry"),
    ("GET", "/events"),
    ("GET", "/documents"),
    ("DELETE", "/documents"),
    ("GET", "/documents/{document_id}"),
    ("PATCH", "/documents/{document_id}"),
    ("DELETE", "/documents/{document_id}"),
    ("GET", "/documents/{document_id}/file"),
    ("PUT", "/documents/{document_id}/tags"),
    ("POST", "/documents/{document_id}/tags"),
    ("DELETE", "/documents/{document_id}/tags"),
    ("GET", "/doubles"),
    ("POST", "/doubles/join"),
    ("GET", "/verify"),
    ("POST", "/verify"),
    ("DELETE", "/verify"),
    ("GET", "/copies"),
    ("GET", "/tags"),
    ("GET", "/kinds"),
    ("PATCH", "/notes/{document_id}"),
    ("POST", "/backups"),
    ("GET", "/backups"),
    ("GET", "/status"),
    ("GET", "/stats"),
    ("GET", "/documents/{document_id}/pages/{page}"),
    ("GET", "/documents/{document_id}/pages/{page}.png"),
    ("GET", "/export"),
    ("GET", "/export/documents"),
    ("GET", "/export/documents/{document_id}"),
    ("POST", "/import/check"),
    ("POST", "/import"),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory, open_api):
    """An engine with notes, files and jobs of every status, whose event streams end at once."""
    folder = tmp_path_factory.mktemp("fuzzed") / "data"
    with open_api(folder, allowed_hosts=("testserver",)) as api:
        for number in range(DOCUMENTS // 2):
            api.submit_note(f"Note {number} tells of otters.", tags=["x"])
            api.submit_file(f"File {number} tells of herons.".encode(), f"{number}.txt")
            api.submit_file(b"Voles dig.", source_path=f"/{number // 2}", origin=f"{number % 2}")
        api.submit_file(b"\0\1" * 100, "blob.bin")
        api.engine.worker.finish_jobs()
        with api.engine.store.database.transaction() as query:  # so that there are doubles
            query("UPDATE documents SET origin = NULL")
        api.delete(f"/jobs/{api.submit_note('Cancelled.')['job_id']}")
        api.engine.events.close()
        yield api.engine


@pytest.fixture(scope="module")
def fuzzed(engine):
    app = guarded(engine)

    async def without_lifespan(scope, receive, send):
        """Each request brings its own start and end, and the engine's threads start only once."""
        if scope["type"] != "lifespan":
            await app(scope, receive, send)
            return
        for word in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{word}.complete"})

    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", without_lifespan)
    schema.hook(map_path_parameters)
    backups = engine.settings.data_dir.with_name("backups")

    @schema.hook
    def map_body(context, body):
        """No folder is made or filled that is not the test's."""
        if isinstance(body, dict) and str(body.get("folder", "")).startswith("/"):
            return body | {"folder": str(backups)}
        return body

    return schema


def map_path_parameters(context, path_parameters):
    """Ids that are made up name nothing; let two of three name something."""
    for name, value in (path_parameters or {}).items():
        seed = zlib.crc32(str(value).encode())
        if KEY.fullmatch(str(value)) and seed % 3:
            path_parameters[name] = str(seed % DOCUMENTS + 1)
    return path_parameters


def check(case, engine):
    case.call_and_validate(checks=CHECKS)
    if (case.method, case.path) == ("POST", "/api/v1/jobs"):
        engine.worker.finish_jobs()
        failed = [job.error.code for job in engine.store.jobs.listing("failed", 100, 0).jobs]
        assert "internal_error" not in failed


def fuzz(fuzzed, engine, route, examples):
    method, path = route
    operation = fuzzed[f"/api/v1{path}"][method]
    strategies = [operation.as_strategy(generation_mode=mode) for mode in GenerationMode]

    @settings(max_examples=examples, deadline=None, suppress_health_check=SLOW, database=None)
    @given(case=st.one_of(strategies))
    def ask(case):
        check(case, engine)

    ask()


@pytest.mark.parametrize("route", sorted(ROUTES), ids=" ".join)
def test_every_answer_is_one_that_the_document_promises(fuzzed, engine, route):
    fuzz(fuzzed, engine, route, examples=30)


@pytest.mark.long
@pytest.mark.timeout(600)
@pytest.mark.parametrize("route", sorted(ROUTES), ids=" ".join)
def test_every_answer_is_one_that_the_document_promises_at_length(fuzzed, engine, route):
    fuzz(fuzzed, engine, route, examples=400)


def operations(engine):
    document = build_app(engine).openapi()
    return {
        (method.upper(), path): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_every_route_is_described(engine):
    described = {
        (method, path.removeprefix("/api/v1"))
        for method, path in operations(engine)
        if path.startswith("/api/v1")
    }
    assert described == ROUTES


def test_every_operation_says_what_it_answers_and_how_it_refuses(engine):
    for (method, path), operation in operations(engine).items():
        assert operation["operationId"], (method, path)
        answers = operation["responses"]
        assert any(status.startswith("2") for status in answers), (method, path)
        if path.startswith("/api/v1"):
            assert {"401", "422", "500", "503", "507"} <= set(answers), (method, path)
            for status, answer in answers.items():
                if not status.startswith("2"):
                    assert answer["content"]["application/json"]["schema"], (method, path, status)


def test_a_body_may_hold_no_unknown_field(engine):
    schemas = build_app(engine).openapi()["components"]["schemas"]
    bodies = {
        name
        for operation in operations(engine).values()
        for name in re.findall(r"/schemas/(\w+)", json.dumps(operation.get("requestBody", {})))
    }
    assert len(bodies) >= 4
    assert all(schemas[name]["additionalProperties"] is False for name in bodies)


def test_the_document_itself_is_served(engine, make_api):
    answer = make_api(engine).get("/openapi.json")
    assert answer.status_code == 200
    assert answer.json()["info"]["title"] == "kb"
