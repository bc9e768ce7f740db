"""A folder with a model: what it says about itself, and what kb makes of mistakes in it."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from kb.engine.embed import MODEL_FOLDER, Description, ModelsAtHand, OnnxEmbedder
from kb.engine.embed import installed as installed_module
from kb.engine.errors import EmbeddingFailed, StartupError

TEXT = """
name = "my-model"
file = "model.onnx"
pooling = "cls"
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with everything in it but a real graph."""
    (tmp_path / "model.onnx").write_bytes(b"graph")
    shutil.copy(MODEL_FOLDER / "vocab.txt", tmp_path)
    (tmp_path / "model.toml").write_text(TEXT)
    return tmp_path


def described(folder, text):
    (folder / "model.toml").write_text(text)
    return Description.read(folder)


class TestADescription:
    def test_needs_no_more_than_name_file_and_pooling(self, folder):
        found = Description.read(folder)
        files = (found.file.name, found.vocabulary.name)
        assert (found.name, *files) == ("my-model", "model.onnx", "vocab.txt")
        assert (found.dimensions, found.max_tokens, found.pooling) == (384, 512, "cls")
        assert (found.query_prefix, found.passage_prefix) == ("", "")
        assert (found.cosines.weight, found.cosines.shift, found.cosines.curves) == (0.8, 0, {})

    @pytest.mark.parametrize("name", ["anna/my-model", "my-model-v2", "a/b/c.1"])
    def test_may_say_what_the_world_calls_the_model(self, folder, name):
        assert Description.read(folder).public_name == "my-model"
        assert described(folder, f'{TEXT}public_name = "{name}"').public_name == name

    def test_may_say_more(self, folder):
        more = """
            query_prefix = "query: "
            weight = 0.9
            shift = 0.52
            [curves]
            hybrid = [4, 1.02]
            vectors = [5.5, 0.74]
        """
        found = described(folder, TEXT + more)
        assert found.query_prefix == "query: "
        assert (found.cosines.weight, found.cosines.shift) == (0.9, 0.52)
        assert found.cosines.curves == {"hybrid": (4.0, 1.02), "vectors": (5.5, 0.74)}

    @pytest.mark.parametrize(
        ("line", "what"),
        [
            ('name = "a/b"', "name: must be letters"),
            ("name = 7", "name: must be a text"),
            ('file = "other.onnx"', "file: there is no file other.onnx"),
            ('file = "../model.onnx"', "file: must be the name of a file beside"),
            ('pooling = "max"', "pooling: must be mean, cls or inside"),
            ("dimensions = 768", "dimensions: kb keeps vectors of 384 numbers"),
            ("max_tokens = 0", "max_tokens: must be a number from 16"),
            ("weight = -1", "weight: must be a number from 0"),
            ("shift = 1.0", "shift: must be a number from"),
            ("weight = nan", "weight: must be a number from 0"),
            ("weight = true", "weight: must be a number from 0"),
            ("query_prefix = 1", "query_prefix: must be a text"),
            ("curves = 1", "curves: must hold steepness and middle"),
            ("curves = {words = [1, 2]}", "curves: must hold steepness and middle"),
            ("curves = {hybrid = [1]}", "curves: must hold steepness and middle"),
            ('public_name = "a//b"', "public_name: must be letters"),
            ('public_name = "a b"', "public_name: must be letters"),
            ("wieght = 1", "wieght: there is no such key"),
            ("name = ", "not valid TOML"),
        ],
    )
    def test_that_is_wrong_is_refused_in_a_line_that_says_what(self, folder, line, what):
        kept = [each for each in TEXT.splitlines() if each.split("=")[0] != line.split("=")[0]]
        with pytest.raises(StartupError, match=what) as caught:
            described(folder, "\n".join([*kept, line]))
        assert str(folder / "model.toml") in caught.value.message

    def test_that_is_not_there_is_refused_with_where_to_read_on(self, tmp_path):
        with pytest.raises(StartupError, match=r"model\.toml cannot be read.*docs/models\.md"):
            Description.read(tmp_path)


class FakeSession:
    """Answers with the last layer of a graph: for token n a vector that points to place n."""

    def __init__(self, inputs=("input_ids", "attention_mask", "token_type_ids")):
        self.inputs = inputs
        self.fed = {}

    def get_inputs(self):
        return [SimpleNamespace(name=name) for name in self.inputs]

    def run(self, outputs, feed):
        self.fed = feed
        count = feed["input_ids"].shape[1]
        return [np.eye(384, dtype=np.float32)[None, :count] * 3]


class TestAGraph:
    @pytest.fixture
    def session(self, monkeypatch):
        session = FakeSession()
        monkeypatch.setattr("kb.engine.embed.onnx._open_session", lambda _: session)
        return session

    def test_is_fed_what_it_asks_for_and_its_first_token_is_taken(self, folder, session):
        vector = OnnxEmbedder(Description.read(folder)).embed_one("otters")
        assert vector[0] == 1
        assert session.fed["attention_mask"].tolist() == [[1] * session.fed["input_ids"].shape[1]]
        assert not session.fed["token_type_ids"].any()

    def test_is_pooled_by_the_mean(self, folder, session):
        model = OnnxEmbedder(described(folder, TEXT.replace("cls", "mean")))
        vector = model.embed_one("the")
        assert np.allclose(vector[:3], 3**-0.5)
        assert np.linalg.norm(vector) == pytest.approx(1)

    def test_reads_queries_and_passages_with_their_own_prefixes(self, folder, session):
        text = TEXT + 'query_prefix = "search for "\npassage_prefix = "text of "'
        model = OnnxEmbedder(described(folder, text))
        plain = model._tokenizer.ids
        model.embed_one("otters")
        assert session.fed["input_ids"][0, 1:-1].tolist() == plain("search for otters")
        model.embed(["otters"])
        assert session.fed["input_ids"][0, 1:-1].tolist() == plain("text of otters")

    def test_sees_no_more_tokens_than_it_reads(self, folder, session):
        model = OnnxEmbedder(described(folder, TEXT + "max_tokens = 16"))
        model.embed_one("word " * 100)
        assert session.fed["input_ids"].shape == (1, 16)

    def test_of_other_inputs_is_refused(self, folder, session):
        session.inputs = ("input_ids", "pixels")
        with pytest.raises(EmbeddingFailed, match="takes input_ids, pixels"):
            OnnxEmbedder(Description.read(folder))

    def test_that_pools_otherwise_than_it_says_is_refused(self, folder, session):
        with pytest.raises(EmbeddingFailed, match="right pooling"):
            OnnxEmbedder(described(folder, TEXT.replace("cls", "inside")))

    def test_with_a_vocabulary_of_another_kind_is_refused(self, folder, session):
        (folder / "vocab.txt").write_text("<s>\n</s>\n")
        with pytest.raises(EmbeddingFailed, match="not a WordPiece vocabulary"):
            OnnxEmbedder(Description.read(folder))


def announced(name, folder):
    """What a package announces."""
    package = SimpleNamespace(name="some-package", version="2.0")
    value = "some_package:FOLDER"
    return SimpleNamespace(name=name, value=value, dist=package, load=lambda: folder)


class TestWhatIsAtHand:
    @pytest.fixture
    def offer(self, monkeypatch):
        """Have packages announce these models, and no others."""

        def announce(*entries):
            monkeypatch.setattr(installed_module, "entry_points", lambda group: entries)

        announce()
        return announce

    def test_is_what_comes_with_kb(self, offer):
        at_hand = ModelsAtHand.find()
        assert list(at_hand.installed) == [at_hand.default] == ["all-MiniLM-L6-v2"]
        model = at_hand.installed[at_hand.default]
        assert (model.origin, model.max_tokens, model.languages) == ("kb", 256, "English")
        assert model.public_name == "sentence-transformers/all-MiniLM-L6-v2"
        assert 20e6 < model.size_bytes < 30e6

    def test_is_also_what_packages_bring(self, offer, folder):
        offer(announced("my-model", folder))
        at_hand = ModelsAtHand.find("my-model")
        assert at_hand.fixed == "my-model"
        assert at_hand.installed["my-model"].origin == "some-package 2.0"

    def test_is_not_what_a_package_has_wrong(self, offer, folder, caplog):
        offer(announced("another-name", folder), announced("gone", folder / "nowhere"))
        assert list(ModelsAtHand.find().installed) == ["all-MiniLM-L6-v2"]
        assert "another-name is left out" in caplog.text
        assert "gone is left out" in caplog.text

    def test_is_also_a_folder_that_a_setting_names(self, offer, folder):
        at_hand = ModelsAtHand.find(str(folder))
        assert at_hand.fixed == "my-model"
        assert at_hand.installed["my-model"].origin == str(folder)

    def test_a_folder_without_a_model_is_refused(self, offer, tmp_path):
        with pytest.raises(StartupError, match="is not a model"):
            ModelsAtHand.find(str(tmp_path / "nowhere"))
