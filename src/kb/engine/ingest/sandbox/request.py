"""What the engine asks of its server, and what the server reports about a reader's life."""

import json
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kb.engine.ingest.extract.extraction import Ocr, Source

# How much a server has loaded: the small extractors, all, or a reader of pictures beside them.
Level = Literal["light", "heavy", "ocr"]
LEVELS: tuple[Level, ...] = ("light", "heavy", "ocr")

OcrChoice = tuple[str, str]  # engine and languages, which a reader of pictures is loaded for

LENGTH = struct.Struct("!I")  # goes before a request
STARTED = b"s"
ENDED = struct.Struct("!ciq")  # "e", the exit code (below 0: a signal), peak memory in KB


@dataclass(frozen=True, slots=True)
class Request:
    """What to read, and what it may cost."""

    source: Source
    memory_mb: int
    cpu_seconds: int

    def to_json(self) -> str:
        source, ocr = self.source, self.source.ocr
        fields = {
            "path": str(source.path.absolute()),
            "filename": source.filename,
            "ocr": [ocr.engine, ocr.languages, ocr.force, ocr.inside],
            "start": source.start,
            "careful": source.careful,
            "wanted": source.wanted,
            "memory_mb": self.memory_mb,
            "cpu_seconds": self.cpu_seconds,
        }
        return json.dumps(fields)

    @classmethod
    def from_json(cls, text: str | bytes) -> "Request":
        fields = json.loads(text)
        source = Source(
            Path(fields["path"]),
            fields["filename"],
            Ocr(*fields["ocr"]),
            fields["start"],
            fields["careful"],
            wanted=fields["wanted"],
        )
        return cls(source, fields["memory_mb"], fields["cpu_seconds"])
