"""An engine and a picture in, the boxes of the picture as it is meant to be read out."""

from PIL.Image import Image

from kb.engine.ingest.ocr.boxes import Box, Engine, mean_score


def upright(engine: Engine, picture: Image) -> list[Box]:
    """The boxes, after turning the picture where that makes the engine surer of its letters.

    A picture without a letter is not turned: it would have none on its head either.
    """
    best = engine.boxes(picture)
    for turn in engine.turns:
        if not 0 < mean_score(best) < engine.sure:
            break
        turned = engine.boxes(picture.transpose(turn))
        best = max(best, turned, key=mean_score)
    return best
