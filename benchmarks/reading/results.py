"""Files that were read in, tables by format and maker out."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.reading.measures import Overlap


@dataclass
class Result:
    """One file by one reader. `overlap` is None where it was refused, for `refusal`, or where there
    is nothing that it could be held against."""

    path: str
    group: str
    reader: str
    overlap: Overlap | None = None
    seconds: float = 0.0
    is_read: bool = True
    refusal: str = ""
    is_refused_unjustly: bool = False  # while its reference, or another reader, has words of it
    headings: tuple[int, int] = (0, 0)
    items: tuple[int, int] = (0, 0)
    breaks: tuple[int, int] = (0, 0)  # between paragraphs, inside of sentences and all
    lost_lines: tuple[str, ...] = field(default_factory=tuple)


def append(file: Path | None, results: Iterable[Result]) -> None:
    if file is not None:
        with file.open("a", encoding="utf-8") as lines:
            lines.writelines(json.dumps(asdict(result)) + "\n" for result in results)


def told_before(file: Path | None) -> dict[str, list[Result]]:
    """What an earlier run has written, by the files that were read."""
    found: dict[str, list[Result]] = {}
    if file is not None and file.exists():
        for line in file.read_text("utf-8").splitlines():
            said = json.loads(line)
            result = Result(**said)
            result.overlap = None if said["overlap"] is None else Overlap(**said["overlap"])
            found.setdefault(result.path, []).append(result)
    return found


_COLUMNS = (
    "files", "refused", "unjustly", "judged", "recall: median", "nine in ten", "worst", "mean",
    "precision: median", "mean", "headings", "items", "breaks in sentences", "ms a file",
)  # fmt: skip


def table(title: str, rows: dict[str, Sequence[Result]]) -> str:
    widest = max(map(len, [title, *rows]))
    lines = ["  ".join([title.ljust(widest), *_COLUMNS])]
    for name, results in rows.items():
        cells = _cells(results)
        padded = (cell.rjust(len(column)) for cell, column in zip(cells, _COLUMNS, strict=True))
        lines.append("  ".join([name.ljust(widest), *padded]))
    return "\n".join(lines)


def _cells(results: Sequence[Result]) -> list[str]:
    judged = [result.overlap for result in results if result.overlap is not None]
    recalls = sorted(overlap.recall for overlap in judged) or [0.0]
    precisions = [overlap.precision for overlap in judged] or [0.0]
    return [
        str(len(results)),
        str(sum(not result.is_read for result in results)),
        str(sum(result.is_refused_unjustly for result in results)),
        str(len(judged)),
        f"{median(recalls):.4f}",
        f"{recalls[len(recalls) // 10]:.3f}",
        f"{recalls[0]:.3f}",
        f"{sum(recalls) / len(recalls):.4f}",
        f"{median(precisions):.4f}",
        f"{sum(precisions) / len(precisions):.4f}",
        _share([result.headings for result in results]),
        _share([result.items for result in results]),
        _share([result.breaks for result in results]),
        f"{1000 * sum(result.seconds for result in results) / max(len(results), 1):.1f}",
    ]


def _share(counts: Sequence[tuple[int, int]]) -> str:
    of = sum(all_of for _, all_of in counts)
    return f"{sum(kept for kept, _ in counts) / of:.4f}" if of else "–"


def worst(results: Sequence[Result], most: int) -> str:
    """The files of which most is missing, or too much is there, and which words those are."""
    read = [(result, result.overlap) for result in results if result.overlap is not None]
    lines = ["least of their words kept:"]
    for result, overlap in sorted(read, key=lambda pair: pair[1].recall)[:most]:
        lines += [f"  {overlap.recall:.3f}  {result.path}", f"         {' '.join(overlap.lost)}"]
        lines += [f"         line: {line}" for line in result.lost_lines[:3]]
    lines.append("most words that should not be there:")
    for result, overlap in sorted(read, key=lambda pair: pair[1].precision)[:most]:
        lines += [
            f"  {overlap.precision:.3f}  {result.path}",
            f"         {' '.join(overlap.added)}",
        ]
    for result in results:
        if not result.is_read:
            how = "refused unjustly" if result.is_refused_unjustly else "refused"
            lines.append(f"{how}: {result.path}: {result.refusal}")
    return "\n".join(lines)
