"""What the programs offer in, the pages that must name it out of step if they do not."""

import inspect
import re

import click
import pytest
from pages import sections, text

from kb import connection
from kb.cli.main import cli
from kb.engine.api.errors import ERROR_CODES
from kb.engine.app import build_app, build_engine
from kb.engine.data_folder.folder import DataFolder
from kb.engine.scoring import RIVAL_WEIGHT, relevance
from kb.engine.search.ranking import _CURVES
from kb.engine.settings import Settings
from kb.settings import SETTINGS

API = text("docs/api.md")
ROUTES = {
    title: body
    for title, body in sections(API, 3).items()
    if re.match("(GET|POST|PUT|PATCH|DELETE) ", title)
}
ERROR_ROW = re.compile(r"^\| `(\w+)` \| (\d{3}) \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)


@pytest.fixture(scope="module")
def openapi(tmp_path_factory):
    """The API's own description of itself."""
    folder = DataFolder(tmp_path_factory.mktemp("data"))
    engine = build_engine(Settings(folder.path, embedder="hash"), folder)
    yield build_app(engine).openapi()
    engine.store.close()
    folder.release()


@pytest.fixture(scope="module")
def operations(openapi):
    """`GET /path` and the operation behind it."""
    return {
        f"{method.upper()} {path}": operation
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    }


def test_every_route_has_its_section_and_every_section_its_route(operations):
    assert sorted(ROUTES) == sorted(operations)


def test_every_parameter_and_field_of_a_request_is_named_in_its_section(openapi, operations):
    missing = [
        f"{route}: {name}"
        for route, operation in operations.items()
        for name in _inputs(openapi, operation)
        if not _is_named(name, ROUTES.get(route, ""))
    ]
    assert missing == []


def test_every_field_of_an_answer_is_named(openapi):
    """Somewhere on the page: what several routes answer with is described once."""
    names = {
        name
        for schema in openapi["components"]["schemas"].values()
        for name in schema.get("properties", {})
    }
    assert len(names) > 50
    assert sorted(name for name in names if not _is_named(name, API)) == []


def test_every_error_that_only_some_routes_have_is_named_in_their_section(operations):
    everywhere = set.intersection(
        *(_codes(op) for route, op in operations.items() if "/api" in route)
    )
    missing = [
        f"{route}: {code}"
        for route, operation in operations.items()
        for code in sorted(_codes(operation) - everywhere)
        if f"`{code}`" not in ROUTES.get(route, "")
    ]
    assert missing == []


def test_every_error_code_is_documented_with_its_status_and_nothing_else_is():
    documented = {
        code: int(status) for code, status, *_ in ERROR_ROW.findall(text("docs/errors.md"))
    }
    assert documented == {code: about.status for code, about in ERROR_CODES.items()}


def test_every_error_that_clients_find_themselves_is_documented():
    codes = re.findall(r'"error": "(\w+)"', inspect.getsource(connection))
    section = sections(text("docs/errors.md"), 2)["Before an engine was reached"]
    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) >= {
        *codes,
        "engine_unreachable",
    }
    assert "engine_too_old" in codes


def test_every_error_code_says_what_to_do():
    for code, _, meaning, advice in ERROR_ROW.findall(text("docs/errors.md")):
        assert meaning.strip().endswith("."), code
        assert advice.strip().endswith("."), code


def test_every_command_is_documented():
    page = text("docs/cli.md")
    missing = [name for name in _commands(cli) if not re.search(rf"\bkb {name}\b", page)]
    assert missing == []


def test_every_option_of_a_command_is_documented():
    page = text("docs/cli.md")
    missing = [
        f"{name} {option}"
        for name, command in _commands(cli).items()
        for parameter in command.params
        if isinstance(parameter, click.Option) and not parameter.hidden
        for option in parameter.opts
        if option.startswith("--") and option not in page
    ]
    assert missing == []


def test_every_setting_is_documented_and_no_other_is():
    page = text("docs/settings.md")
    assert {setting.name for setting in SETTINGS} == set(re.findall(r"`(KB_[A-Z_]+)`", page))


def _inputs(openapi, operation):
    """Query and header parameters, and the fields of every kind of body."""
    for parameter in operation.get("parameters", []):
        if parameter["in"] != "path":
            yield parameter["name"]
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content["schema"]
        for choice in schema.get("anyOf", [schema]):  # a body that may be left out is a choice
            if "$ref" in choice:
                choice = openapi["components"]["schemas"][choice["$ref"].rpartition("/")[2]]
            yield from choice.get("properties", ())


def _is_named(name, page):
    return f"`{name}`" in page or f'"{name}"' in page


def _codes(operation):
    """The error codes that an operation says it may answer with."""
    return {
        code
        for status, response in operation["responses"].items()
        if int(status) >= 400
        for code in response["description"].split(", ")
    }


def _commands(group, path=()):
    """Every command below a group by its words: `jobs retry`."""
    context = click.Context(group)
    found = {}
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found[" ".join([*path, name])] = command
        if isinstance(command, click.Group):
            found |= _commands(command, (*path, name))
    return found


def test_relevance_is_what_the_page_on_search_says():
    page = " ".join(text("docs/search.md").split())
    told = re.search(
        r"are ([\d.]+) and ([\d.]+) for a search by both, ([\d.]+) and ([\d.]+) by words alone"
        r" \(`fts_only`\), ([\d.]+) and ([\d.]+) by meaning alone",
        page,
    )
    curves = [_CURVES[mode] for mode in ("hybrid", "words", "vectors")]
    assert [float(number) for number in told.groups()] == [n for curve in curves for n in curve]
    steepness, middle = _CURVES["hybrid"]
    assert f"e^(−{steepness:g} × (final − {RIVAL_WEIGHT:g} × rivals − {middle:g}))" in page
    score, shown = re.search(r'"score": ([\d.]+),\s+"relevance": ([\d.]+)', API).groups()
    [rivals] = re.search(r'"rivals": ([\d.]+)', API).groups()
    computed = relevance(float(score), float(rivals), (steepness, middle))
    assert float(shown) == pytest.approx(computed, abs=1e-5)
