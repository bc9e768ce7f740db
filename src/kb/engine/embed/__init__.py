"""Text in, vectors out: the models that are installed, each loaded behind the first requests."""

from kb.engine.embed.background import BackgroundEmbedder, Embedders
from kb.engine.embed.description import DIMENSIONS, Description
from kb.engine.embed.hashing import HashEmbedder, OtherHashEmbedder
from kb.engine.embed.installed import (
    DEFAULT_MODEL,
    MODEL_FOLDER,
    InstalledModel,
    MiniLM,
    ModelsAtHand,
)
from kb.engine.embed.onnx import OnnxEmbedder
