"""Figures in, a table for people and JSON for programs out."""

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

_PACKAGES = ("apsw", "fastapi", "numkong", "numpy", "onnxruntime", "uvicorn")
_WIDTHS = (50, 13, 30, 13, 7, 9)


@dataclass(frozen=True)
class Line:
    """A figure, the other side beside it, and the bar. Without a bar it is for information.

    `ratio` is figure over other, or other over figure where more is better (`at_least`).
    """

    name: str
    value: float
    unit: str
    beside: str = ""
    other: float | None = None
    bar: float | None = None
    at_least: bool = False

    @property
    def ratio(self) -> float | None:
        return None if not self.other else self.value / self.other

    @property
    def met(self) -> bool | None:
        """The bar is for the ratio where there is another side, for the figure itself if not."""
        if self.bar is None:
            return None
        measured = self.value if self.ratio is None else self.ratio
        return measured >= self.bar if self.at_least else measured <= self.bar


class Report:
    """Prints each line as it comes, and keeps it for the JSON."""

    def __init__(self) -> None:
        self._lines: list[Line] = []
        self._facts = machine()
        for name, fact in self._facts.items():
            print(f"{name:10} {fact}")

    def section(self, title: str) -> None:
        cells = (title, "measured", "beside", "", "ratio", "bar")
        print(f"\n{_row(cells)}\n{'-' * (sum(_WIDTHS) + len(_WIDTHS))}", flush=True)

    def add(
        self,
        name: str,
        value: float,
        unit: str,
        beside: str = "",
        other: float | None = None,
        bar: float | None = None,
        *,
        at_least: bool = False,
    ) -> None:
        line = Line(name, value, unit, beside, other, bar, at_least)
        self._lines.append(line)
        sign = "≥" if line.at_least else "≤"
        times = "" if line.ratio is None else "×"
        cells = [
            line.name,
            _amount(line.value, line.unit),
            line.beside,
            "" if line.other is None else _amount(line.other, line.unit),
            "" if line.ratio is None else f"{line.ratio:.2f}",
            "" if line.bar is None else f"{sign} {line.bar:g}{times}",
        ]
        verdict = {True: "met", False: "MISSED", None: ""}[line.met]
        print(_row(cells), verdict, flush=True)

    def note(self, text: str) -> None:
        print(f"  {text}", flush=True)

    def end(self, file: Path | None) -> None:
        """How many bars were met; every number goes into the file, if there is one."""
        bars = [line for line in self._lines if line.met is not None]
        missed = [line.name for line in bars if not line.met]
        print(f"\n{len(bars) - len(missed)} of {len(bars)} bars met", flush=True)
        for name in missed:
            print(f"  missed: {name}")
        print(f"load at the end {_load()}")
        if file is not None:
            self._save(file)

    def _save(self, file: Path) -> None:
        lines = [{**asdict(line), "ratio": line.ratio, "met": line.met} for line in self._lines]
        found = {"machine": self._facts, "load_at_end": _load(), "lines": lines}
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")


def percentile(values: Sequence[float], percent: float) -> float:
    """The value that so many per cent do not pass, by nearest rank."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def machine() -> dict[str, Any]:
    cpu = Path("/proc/cpuinfo").read_text("utf-8")
    fields = dict(line.split(":", 1) for line in cpu.splitlines() if ":" in line)
    model = next((v.strip() for k, v in fields.items() if k.strip() == "model name"), "unknown")
    flags = next((v.split() for k, v in fields.items() if k.strip() == "flags"), [])
    wide = [flag for flag in flags if flag in ("avx2", "avx512f", "amx_int8") or "vnni" in flag]
    vnni = any("vnni" in flag for flag in flags)
    packages = ", ".join(f"{name} {version(name)}" for name in _PACKAGES)
    return {
        "processor": f"{model}, {os.cpu_count()} cores",
        "flags": f"{' '.join(wide)} ({'with' if vnni else 'without'} VNNI)",
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GB",
        "system": f"{platform.system()} {platform.release()}, Python {platform.python_version()}",
        "packages": f"kb {version('kb')}, {packages}",
        "load": _load(),
    }


def _load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())


def _amount(value: float, unit: str) -> str:
    digits = 0 if value >= 1000 else 1 if value >= 100 else 2
    return f"{value:.{digits}f} {unit}"


def _row(cells: Sequence[str]) -> str:
    first, measured, beside, other, ratio, bar = cells
    widths = _WIDTHS
    return (
        f"{first:{widths[0]}} {measured:>{widths[1]}}  {beside:{widths[2]}} "
        f"{other:>{widths[3]}} {ratio:>{widths[4]}} {bar:>{widths[5]}}"
    )
