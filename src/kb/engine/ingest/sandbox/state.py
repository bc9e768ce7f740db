"""What keeps readers locked in on this machine."""

import sys
from dataclasses import dataclass
from typing import Literal

from kb.engine.errors import SandboxMissing
from kb.engine.ingest.sandbox.confinement import landlock, seccomp

Mode = Literal["auto", "strict"]


@dataclass(frozen=True, slots=True)
class SandboxState:
    """Which locks there are, whether or not anything was read. `landlock` is the version of the
    kernel's interface, 0 for none; `limits` is whether memory, processor time and files are
    limited. In mode `strict` nothing is read unless all are there."""

    mode: Mode
    landlock: int
    seccomp: bool
    limits: bool

    @classmethod
    def of_this_machine(cls, mode: Mode) -> "SandboxState":
        limits = sys.platform.startswith("linux")
        return cls(mode, landlock.version(), seccomp.available(), limits)

    @property
    def complete(self) -> bool:
        return bool(self.landlock) and self.seccomp and self.limits

    @property
    def reads_files(self) -> bool:
        return self.complete or self.mode == "auto"

    @property
    def problem(self) -> str:
        """What lacks and what that means, where something lacks."""
        lacking = []
        if not self.landlock:
            lacking.append("no Landlock (Linux 5.13 or newer, where it is turned on)")
        if not self.seccomp:
            lacking.append("no seccomp (Linux on x86-64 or ARM64)")
        what = f"this system has {' and '.join(lacking)}"
        if self.mode == "strict":
            return (
                f"KB_SANDBOX=strict, and {what}: run the engine on a system that has it, or set"
                " KB_SANDBOX=auto"
            )
        return (
            f"{what}, so a file that takes its reader over may read what the engine's user can;"
            " KB_SANDBOX=strict reads no file then"
        )

    def check(self, filename: str) -> None:
        """Raises SandboxMissing where a file must not be read."""
        if not self.reads_files:
            raise SandboxMissing(f"{filename} was not read: {self.problem}", filename=filename)
