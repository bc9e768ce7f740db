"""Arguments made from each tool's own schema, and near misses: always an answer, never a bug."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.mcp.app import CONTRACTS
from kb.mcp.settings import McpSettings

TOOLS = [
    pytest.param(name, tool, id=f"{name}-{tool.name}")
    for name in ("kb", "collections")
    for tool in CONTRACTS[name](McpSettings()).tools
]
LETTERS = st.characters(codec="utf-8")
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(LETTERS, max_size=20),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(LETTERS, max_size=5), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip


def values(schema):
    """What the schema allows; and often, for a number, one that is likely to exist."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if "pattern" in schema:
        return st.from_regex(schema["pattern"], fullmatch=True)
    match schema["type"]:
        case "boolean":
            return st.booleans()
        case "integer":
            least, most = schema.get("minimum", 0), schema.get("maximum", 2**53 - 1)
            return st.integers(least, min(most, least + 60)) | st.integers(least, most)
        case "array":
            items = values(schema["items"])
            return st.lists(items, max_size=min(schema["maxItems"], 4))
    longest = min(schema.get("maxLength", 60), 60)
    return st.text(LETTERS, min_size=schema.get("minLength", 0), max_size=longest)


@st.composite
def arguments_for(draw, schema):
    """Mostly right; sometimes one is missing, of another kind, or unknown."""
    sent = {}
    for name, parameter in schema["properties"].items():
        chance = draw(st.integers(0, 19))
        if chance == 0:
            sent[name] = draw(ANYTHING)
        elif name in schema.get("required", ()):
            if chance > 1:
                sent[name] = draw(values(parameter))
        elif chance > 12:
            sent[name] = draw(values(parameter))
    if draw(st.integers(0, 19)) == 0:
        sent[draw(st.text(LETTERS, max_size=10))] = draw(ANYTHING)
    return sent


def examples(schema, count):
    """So many arguments, the same in every run."""
    drawn = []

    @given(arguments_for(schema))
    @settings(
        max_examples=count,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    def draw(sent):
        drawn.append(sent)

    draw()
    return drawn


async def check(agent, tool, count):
    """Whatever is sent, the answer is one that an agent can read."""
    outcomes = set()
    for sent in examples(tool.input_schema, count):
        result = await agent.result(tool.name, **sent)
        assert "Traceback" not in result.text
        if result.is_error:
            assert result.content["error"] != "internal_error", sent
            assert result.text == result.content["message"]
            assert 10 < len(result.text) < 1000
        else:
            assert json.loads(result.text) == result.content
        outcomes.add(result.content.get("error", "done") if result.is_error else "done")
    return outcomes


@pytest.mark.parametrize(("tool_set", "tool"), TOOLS)
async def test_a_tool_answers_whatever_it_is_sent(tool_set, tool, kb, collections):
    await check({"kb": kb, "collections": collections}[tool_set], tool, 15)


@pytest.mark.long
@pytest.mark.parametrize(("tool_set", "tool"), TOOLS)
async def test_a_tool_answers_over_the_wire_whatever_it_is_sent(tool_set, tool, hasty_agent):
    async with hasty_agent(tool_set) as agent:
        outcomes = await check(agent, tool, 300)
    assert outcomes & {"invalid_parameter", "missing_required_parameter"}
    if not tool.name.startswith("kb_upload_"):
        assert "done" in outcomes
