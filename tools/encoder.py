"""A BERT's weights in, an int8 ONNX file out: what the builders of kb's models share.

The graph takes texts of equal length and so needs no mask: kb runs one text at a time. Pooling and
the length of 1 are inside.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from kb.engine.embed import MODEL_FOLDER
from kb.engine.embed.word_pieces import WordPiece

Array = NDArray[np.float32]

TOOLS = Path(__file__).parent
FIXTURES = TOOLS.parent / "tests" / "fixtures"
HEADS, WIDTH, EPSILON = 12, 384, 1e-12
CALIBRATING = 32  # passages; the others show how texts fare that set no range
SHORT_TEXTS = ["", "?", "ok", "dog", "tax", "error 404", "how to sleep"]  # queries are like these
SMOOTHING = 0.7  # how far outliers move from activations into weights: .5 harms, .8 gains no more
ONNXRUNTIME = "com.microsoft"  # the domain of its own operators

ODD_TEXTS = [
    "",
    " \n\t ",
    "?",
    "ok",
    "🎉🎉 party 🥳 tonight 🍕",
    "知识库在本地保存文件和笔记，并且能够重新找到它们。",
    "Сегодня мы идём на рынок за яблоками.",
    "def mean(values):\n    total = sum(values)\n    return total / len(values) if values else 0.0",
    "SELECT d.title, count(*) FROM documents d JOIN chunks c ON c.document_id = d.id GROUP BY 1;",
    "x" * 500,
    "4 8 15 16 23 42 " * 30,
    "<div class='note'><p>Hello, <b>world</b>&nbsp;!</p></div>",
    "Straße, naïve, œuvre, Łódź, İstanbul, ångström",
]


class Graph:
    """The nodes and constants of an ONNX graph, in the order they are added."""

    gelu = "none"  # approximated by

    def __init__(self) -> None:
        self.nodes: list[object] = []
        self.constants: list[object] = []

    def constant(self, name: str, array: NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, operator: str, inputs: list[str], *outputs: str, **attributes: object) -> str:
        """Add a node named after its first output; returns that name."""
        made = helper.make_node(operator, inputs, outputs, outputs[0], **attributes)
        self.nodes.append(made)
        return outputs[0]

    def linear(self, x: str, name: str, weight: Array, bias: Array) -> str:
        product = self.node("MatMul", [x, self.constant(f"{name}.w", weight)], f"{name}.product")
        return self.node("Add", [product, self.constant(f"{name}.b", bias)], f"{name}.y")

    def words(self, table: Array) -> str:
        return self.node("Gather", [self.constant("words", table), "input_ids"], "words.y")


class QuantisedGraph(Graph):
    """The same in int8: weights per column, word vectors per row, activations as they come.

    A few input channels carry values far above the rest, which leaves the others few of the eight
    bits. Where `peaks` knows the largest value of each channel, part of that size is moved into
    the weights, which changes nothing but the rounding.
    """

    gelu = "tanh"  # faster, and its error is far below that of the rounding

    def __init__(self, peaks: dict[str, Array]) -> None:
        super().__init__()
        self._peaks = peaks

    def linear(self, x: str, name: str, weight: Array, bias: Array) -> str:
        if name in self._peaks:
            size = self._peaks[name] ** SMOOTHING / np.abs(weight).max(1) ** (1 - SMOOTHING)
            size = (size / np.exp(np.log(size).mean())).astype(np.float32)
            x = self.node("Mul", [x, self.constant(f"{name}.smooth", 1 / size)], f"{name}.x")
            weight = weight * size[:, None]
        whole, step = round_columns(weight)
        inputs = [
            x,
            self.constant(f"{name}.q", whole),
            self.constant(f"{name}.step", step),
            "",  # the zero point of the weights: none
            self.constant(f"{name}.b", bias),
        ]
        return self.node("DynamicQuantizeMatMul", inputs, f"{name}.y", domain=ONNXRUNTIME)

    def words(self, table: Array) -> str:
        scale = (np.abs(table).max(1, keepdims=True) / 127).astype(np.float32)
        rows = self.constant("words", np.round(table / scale).astype(np.int8))
        rows = self.node("Gather", [rows, "input_ids"], "words.q")
        rows = self.node("Cast", [rows], "words.f", to=TensorProto.FLOAT)
        scales = self.node("Gather", [self.constant("words.scale", scale), "input_ids"], "words.s")
        return self.node("Mul", [rows, scales], "words.y")


def round_columns(weight: Array) -> tuple[NDArray[np.int8], Array]:
    """Weights in steps of their column, and the steps, such that no processor's sums overflow.

    x86 without VNNI multiplies unsigned activations (up to 255) with two neighbouring rows of the
    weights at a time and adds the two products in 16 bits. So neighbours of one sign may reach 128
    together: 255 * 128 < 2 ** 15. Halving all weights would guard as well, at twice the rounding.
    """
    upper, lower = weight[0::2], weight[1::2]
    pairs = np.abs(np.where(upper * lower > 0, upper + lower, 0)).max(0)
    step = np.maximum(np.abs(weight).max(0) / 127, pairs / 128).astype(np.float32)
    whole = np.round(weight / step)
    upper, lower = whole[0::2], whole[1::2]
    both_rounded_up = (upper * lower > 0) & (np.abs(upper + lower) > 128)
    upper -= np.where(both_rounded_up, np.sign(upper), 0)
    return whole.astype(np.int8), step


@dataclass(frozen=True, slots=True)
class Encoder:
    """A BERT of twelve heads and 384 dimensions: its weights under their usual names, and what it
    makes of the last layer: the mean of all tokens or the first token's (`cls`)."""

    weights: dict[str, Array]
    layers: int
    max_tokens: int
    pooling: Literal["mean", "cls"]


class EncoderGraph:
    """Draws the model into a graph. Adding and normalising fused into one node would be slower."""

    def __init__(self, graph: Graph, encoder: Encoder) -> None:
        self._graph = graph
        self._encoder = encoder
        self._weights = encoder.weights
        self._zero, self._one, self._two = (
            graph.constant(f"i{number}", np.array([number])) for number in range(3)
        )

    def draw(self, watched: list[str]) -> bytes:
        """From `input_ids` to `embedding`. The `watched` tensors become outputs beside it."""
        x = self._embeddings()
        for layer in range(self._encoder.layers):
            x = self._feed_forward(self._attention(x, layer), layer)
        self._pool(x)
        tensor = helper.make_tensor_value_info
        outputs = [tensor("embedding", TensorProto.FLOAT, ["texts", WIDTH])]
        outputs += [tensor(name, TensorProto.FLOAT, ["texts", "tokens", None]) for name in watched]
        inputs = [tensor("input_ids", TensorProto.INT64, ["texts", "tokens"])]
        nodes, constants = self._graph.nodes, self._graph.constants
        graph = helper.make_graph(nodes, "encoder", inputs, outputs, constants)
        opsets = [helper.make_opsetid("", 20), helper.make_opsetid(ONNXRUNTIME, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
        return bytes(model.SerializeToString(deterministic=True))

    def _embeddings(self) -> str:
        graph, weights = self._graph, self._weights
        words = graph.words(weights["embeddings.word_embeddings.weight"])
        table = weights["embeddings.position_embeddings.weight"][: self._encoder.max_tokens]
        table = table + weights["embeddings.token_type_embeddings.weight"][0]
        shape = graph.node("Shape", ["input_ids"], "shape")
        length = graph.node("Slice", [shape, self._one, self._two], "length")
        places = [graph.constant("positions", table), self._zero, length, self._zero]
        return self._add_norm(words, graph.node("Slice", places, "places"), "x0", "embeddings")

    def _attention(self, x: str, layer: int) -> str:
        graph, source = self._graph, f"encoder.layer.{layer}.attention"
        (q, q_bias), (k, k_bias), (v, v_bias) = (
            self._dense(f"{source}.self.{part}") for part in ("query", "key", "value")
        )
        weight, bias = np.concatenate([q, k, v], 1), np.concatenate([q_bias, k_bias, v_bias])
        y = graph.linear(x, f"qkv{layer}", weight, bias)
        parts = [f"{part}{layer}" for part in "qkv"]
        graph.node("Split", [y], *parts, axis=2, num_outputs=3)
        heads = {"domain": ONNXRUNTIME, "num_heads": HEADS}
        y = graph.node("MultiHeadAttention", parts, f"mixed{layer}", **heads)
        y = graph.linear(y, f"out{layer}", *self._dense(f"{source}.output.dense"))
        return self._add_norm(y, x, f"h{layer}", f"{source}.output")

    def _feed_forward(self, h: str, layer: int) -> str:
        graph, source = self._graph, f"encoder.layer.{layer}"
        y = graph.linear(h, f"up{layer}", *self._dense(f"{source}.intermediate.dense"))
        y = graph.node("Gelu", [y], f"gelu{layer}", approximate=graph.gelu)
        y = graph.linear(y, f"down{layer}", *self._dense(f"{source}.output.dense"))
        return self._add_norm(y, h, f"x{layer + 1}", f"{source}.output")

    def _pool(self, x: str) -> None:
        graph = self._graph
        if self._encoder.pooling == "mean":
            pooled = graph.node("ReduceMean", [x, self._one], "mean", keepdims=0)
        else:
            first = graph.node("Gather", [x, self._zero], "first", axis=1)
            pooled = graph.node("Squeeze", [first, self._one], "cls")
        length = graph.node("ReduceL2", [pooled, self._one], f"{pooled}.length", keepdims=1)
        graph.node("Div", [pooled, length], "embedding")

    def _dense(self, source: str) -> tuple[Array, Array]:
        return self._weights[f"{source}.weight"].T, self._weights[f"{source}.bias"]

    def _add_norm(self, x: str, y: str, name: str, source: str) -> str:
        graph = self._graph
        parts = [
            graph.constant(f"{name}.{part}", self._weights[f"{source}.LayerNorm.{part}"])
            for part in ("weight", "bias")
        ]
        total = graph.node("Add", [x, y], f"{name}.sum")
        return graph.node("LayerNormalization", [total, *parts], name, axis=-1, epsilon=EPSILON)


def quantise(encoder: Encoder, texts: list[str]) -> bytes:
    """The int8 model. The texts show how large each input channel of the linears becomes.

    The attention's output is not smoothed: it has no outliers, and it would only cost time.
    """
    inputs = {
        f"{linear}{layer}": f"{x}{layer}"
        for layer in range(encoder.layers)
        for linear, x in (("qkv", "x"), ("up", "h"), ("down", "gelu"))
    }
    exact = EncoderGraph(Graph(), encoder).draw(list(inputs.values()))
    runs = [values for _, *values in run(exact, encoder, texts)]
    peaks = {
        linear: np.maximum(1e-5, np.max([np.abs(value).max((0, 1)) for value in values], 0))
        for linear, values in zip(inputs, zip(*runs, strict=True), strict=True)
    }
    return EncoderGraph(QuantisedGraph(peaks), encoder).draw([])


def vectors(model: bytes, encoder: Encoder, texts: list[str]) -> Array:
    return np.concatenate([outputs[0] for outputs in run(model, encoder, texts)])


def run(model: bytes, encoder: Encoder, texts: list[str]) -> Iterator[list[Array]]:
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    wordpiece = WordPiece(MODEL_FOLDER / "vocab.txt")
    for text in texts:
        ids = wordpiece.ids(text, encoder.max_tokens - 2)
        ids = np.array([[wordpiece.start, *ids, wordpiece.end]])
        yield session.run(None, {"input_ids": ids})


def passages() -> tuple[list[str], list[str], list[str]]:
    """Texts that set the ranges, ordinary ones that do not, and odd ones."""
    lines = (TOOLS / "passages.txt").read_text("utf-8").splitlines()
    words = " ".join(reversed(lines)).split()
    odd = [*ODD_TEXTS, " ".join((words * 10)[:10_000])]
    return lines[:CALIBRATING], lines[CALIBRATING:], odd


def compare(model: bytes, encoder: Encoder) -> tuple[list[str], Array]:
    """Print how near the model is to the exact one; the texts, and the exact one's vectors."""
    groups = passages()
    texts = [text for group in groups for text in group]
    exact = vectors(EncoderGraph(Graph(), encoder).draw([]), encoder, texts)
    cosines = (vectors(model, encoder, texts) * exact).sum(1)
    for name, group in zip(("calibrating", "others", "odd texts"), groups, strict=True):
        part, cosines = cosines[: len(group)], cosines[len(group) :]
        print(f"{name}: cosine mean {part.mean():.4f}, least {part.min():.4f}")
    return texts, exact
