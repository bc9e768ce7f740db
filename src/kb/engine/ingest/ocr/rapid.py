"""Pictures of text in Latin letters, Chinese or Japanese in, text out, with rapidocr.

Importing this module takes a second and 100 MB: only `kb.engine.ingest.ocr.load` does.
"""

import numpy as np
from PIL.Image import Image
from rapidocr import RapidOCR
from rapidocr.utils.output import RapidOCROutput

from kb.engine.ingest.ocr import Recognised

# Measured on scans: the direction classifier turns long lines into garbage; larger pictures and
# batches cost time and memory and find no more words; a second thread costs half as much again.
_SETTINGS = {
    "Global.use_cls": False,
    "Global.log_level": "critical",
    "Det.limit_type": "max",
    "Det.limit_side_len": 960,
    "Rec.rec_batch_num": 1,
    "EngineConfig.onnxruntime.intra_op_num_threads": 1,
    "EngineConfig.onnxruntime.inter_op_num_threads": 1,
}


class RapidReader:
    """Holds the models."""

    def __init__(self) -> None:
        self._engine = RapidOCR(params=_SETTINGS)

    def read(self, picture: Image) -> Recognised:
        found = self._engine(np.asarray(picture.convert("RGB"))[:, :, ::-1])
        assert isinstance(found, RapidOCROutput)  # as detection and recognition are both asked for
        texts, scores = found.txts or (), found.scores or ()
        return Recognised("\n".join(texts), sum(scores) / len(scores) if scores else 0.0)
