"""The model that is offered beside kb's own, as it lies in this repository."""

import json
import tomllib
from pathlib import Path

import numpy as np
import pytest

from kb.engine.embed import Description, OnnxEmbedder

PACKAGE = Path(__file__).parents[3] / "models" / "arctic-s"
FOLDER = PACKAGE / "src" / "kb_model_arctic_s"
REFERENCE = Path(__file__).parents[2] / "fixtures" / "arctic_reference.npz"

pytestmark = pytest.mark.skipif(not PACKAGE.exists(), reason="only the repository has it")


@pytest.fixture(scope="module")
def model():
    return OnnxEmbedder(Description.read(FOLDER))


def test_its_vectors_are_those_of_the_published_weights(model):
    reference = np.load(REFERENCE)
    texts = json.loads(str(reference["texts"]))
    cosines = (model.embed(texts) * reference["vectors"]).sum(1)
    assert len(texts) > 20
    assert cosines.mean() > 0.995
    assert cosines.min() > 0.99


def test_a_question_finds_its_passage(model):
    question = model.embed_one("how do I get my money back?")
    near, far = model.embed(["Refunds are paid within a week.", "How do I get my back straight?"])
    shift = model.cosines.shift
    assert question @ near > question @ far
    assert 0 < shift < question @ near


def test_a_question_is_not_read_as_a_passage(model):
    assert model.embed_one("otters") @ model.embed(["otters"])[0] < 0.95


def test_it_reads_five_hundred_tokens(model):
    begin = "word " * 500
    first, second = model.embed([begin + "otter", begin + "heron"])
    assert (first != second).any()


def test_its_package_announces_it_under_its_name_and_brings_its_licence():
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["entry-points"]["kb.models"] == {
        Description.read(FOLDER).name: "kb_model_arctic_s:FOLDER"
    }
    assert "Apache License" in (PACKAGE / "LICENSE").read_text("utf-8")
    assert "snowflake-arctic-embed-s" in (PACKAGE / "NOTICE").read_text("utf-8")
