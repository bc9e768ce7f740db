"""Recognises Latin, Chinese and Japanese text with rapidocr, whose import takes a second and 100
MB: only `kb.engine.ingest.ocr.load` does that."""

from math import atan2, degrees
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image as Images
from PIL import ImageDraw, ImageFont
from PIL.Image import Image, Transpose
from rapidocr import RapidOCR
from rapidocr.main import RapidOCRError
from rapidocr.utils.process_img import map_boxes_to_original

from kb.engine.ingest.ocr.boxes import Box
from kb.engine.ingest.ocr.word_boxes import turned_back, with_words

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
_LEAST_SCORE = 0.5  # of a piece that is kept; rapidocr's own mark
_SURE_ON_END = 0.9  # of a piece that stands on its end, and need not be read the other way
_TALL = 1.5  # times as high as wide: rapidocr takes such a piece for one that stands on its end


class RapidEngine:
    """Holds the models, loaded at once: a process that reads documents may open no file."""

    dpi = 200
    sure = 0.8  # .99 upright, .56 to .65 on its head
    turns = (Transpose.ROTATE_180,)
    shrinks = True

    def __init__(self) -> None:
        cv2.setNumThreads(0)  # threads do not live on in the forks that do the reading
        self._engine = RapidOCR(params=_SETTINGS)
        self.boxes(_some_words())

    def boxes(self, picture: Image) -> list[Box]:
        """The pieces of text; those that cannot be read have none. A page on its side is turned
        once they are found, which is quick: a short one is read rightly only if it stands
        upright."""
        try:
            crops, corners = self._pieces(picture)
            lies = _lies(corners)
            if lies:
                crops, corners = self._pieces(picture.transpose(Transpose.ROTATE_90))
            read = self._read(crops)
        except RapidOCRError:  # its way to say that it has found nothing
            return []
        for number in np.flatnonzero(_on_end(corners)):
            # rapidocr reads it from top to bottom; the axes of charts go from bottom to top
            if read[number][1] < _SURE_ON_END:
                [other] = self._read([np.rot90(crops[number], 2)])
                if other[1] > read[number][1]:
                    read[number], corners[number] = other, np.roll(corners[number], 2, axis=0)
        boxes = [
            _box(quad, text if score >= _LEAST_SCORE else "", score)
            for quad, (text, score) in zip(corners, read, strict=True)
        ]
        return turned_back(boxes, Transpose.ROTATE_90, picture.size) if lies else boxes

    def _read(self, crops: list[NDArray[Any]]) -> list[tuple[str, float]]:
        found = self._engine.recognize_txt(crops)
        scores = map(float, found.scores or ())
        return list(zip(found.txts or (), scores, strict=True))

    def _pieces(self, picture: Image) -> tuple[list[NDArray[Any]], NDArray[Any]]:
        """Where there is text: what it looks like, and its corners in the picture."""
        pixels = np.ascontiguousarray(np.asarray(picture.convert("RGB"))[:, :, ::-1])
        image, steps = self._engine.preprocess_img(pixels)
        crops, found = self._engine.detect_and_crop(image, steps)
        assert found.boxes is not None  # or it would have raised
        return crops, map_boxes_to_original(found.boxes, steps, *pixels.shape[:2])


def _lies(corners: NDArray[Any]) -> bool:
    """Whether most of the text runs from top to bottom."""
    widths, heights, on_end = *_sizes(corners), _on_end(corners)
    return bool(heights[on_end].sum() > widths[~on_end].sum())


def _on_end(corners: NDArray[Any]) -> NDArray[np.bool_]:
    widths, heights = _sizes(corners)
    return np.asarray(heights >= _TALL * widths)


def _sizes(corners: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    widths = np.hypot(*(corners[:, 1] - corners[:, 0]).T)
    heights = np.hypot(*(corners[:, 3] - corners[:, 0]).T)
    return widths, heights


def _some_words() -> Image:
    picture = Images.new("L", (400, 100), 255)
    font = ImageFont.load_default(40)
    ImageDraw.Draw(picture).text((20, 20), "Some words", fill=0, font=font)
    return picture


def _box(quad: NDArray[Any], text: str, score: float) -> Box:
    """A piece by its corners: upper left, upper right, lower right, lower left."""
    middle = quad.mean(axis=0)
    along, across = quad[1] - quad[0], quad[3] - quad[0]
    width, height = float(np.hypot(*along)), float(np.hypot(*across))
    if height >= _TALL * width:
        width, height, along = height, width, across
    angle = degrees(atan2(along[1], along[0]))
    return with_words(Box(text, score, float(middle[0]), float(middle[1]), width, height, angle))
