"""The Dockerfile and compose.yaml in, what they say out; and a program run as its image would.

Docker is not needed: where this machine lets us, the program gets a read-only file system, the
image's user and no capability by the same means of the kernel.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
COMPOSE = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))


@dataclass(frozen=True)
class Stage:
    """One stage of the Dockerfile with its own instructions."""

    name: str
    parent: str
    instructions: list[tuple[str, str]]


def stages() -> dict[str, Stage]:
    text = re.sub(r"^\s*#.*\n", "", (ROOT / "Dockerfile").read_text("utf-8"), flags=re.MULTILINE)
    found: dict[str, Stage] = {}
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        word, _, rest = line.strip().partition(" ")
        if word == "FROM":
            parent, _, name = rest.partition(" AS ")
            found[name] = stage = Stage(name, parent, [])
        elif word:
            stage.instructions.append((word, rest.strip()))
    return found


STAGES = stages()


def instructions(target: str) -> list[tuple[str, str]]:
    """What holds for an image: its own instructions behind those of the stages below it."""
    stage = STAGES[target]
    below = instructions(stage.parent) if stage.parent in STAGES else []
    return [*below, *stage.instructions]


def last(target: str, word: str) -> str:
    return [rest for each, rest in instructions(target) if each == word][-1]


def image_environ(target: str) -> dict[str, str]:
    pairs = [
        pair for word, rest in instructions(target) if word == "ENV" for pair in shlex.split(rest)
    ]
    return dict(pair.split("=", 1) for pair in pairs)


def command(target: str) -> list[str]:
    return json.loads(last(target, "ENTRYPOINT")) + json.loads(last(target, "CMD"))


def health_check(target: str) -> list[str]:
    return json.loads(last(target, "HEALTHCHECK").partition(" CMD ")[2])


def service(name: str, given: dict[str, str] | None = None) -> dict[str, Any]:
    """The service as compose makes it of the variables that are given."""
    return _substituted(COMPOSE["services"][name], given or {})


def service_environ(name: str, given: dict[str, str]) -> dict[str, str]:
    return service(name, given)["environment"]


_VARIABLE = re.compile(r"\$\{(\w+)(:[-?])([^}]*)\}")


def _substituted(value: Any, given: dict[str, str]) -> Any:
    """The same with each `${NAME:-default}` and `${NAME:?complaint}` in its texts replaced."""

    def replace(found: re.Match) -> str:
        name, operator, word = found.groups()
        if given.get(name):
            return given[name]
        if operator == ":?":
            raise ValueError(word)
        return word

    if isinstance(value, dict):
        return {name: _substituted(each, given) for name, each in value.items()}
    if isinstance(value, list):
        return [_substituted(each, given) for each in value]
    return _VARIABLE.sub(replace, value) if isinstance(value, str) else value


USER = int(last("engine", "USER").split(":")[0])

# $1 stays writable. What follows up to `--` is covered by an empty folder that anyone may enter,
# and what follows up to the next one is put back in there: an interpreter in root's own home could
# not be run by another user. The rest is the command.
_LOCK_DOWN = f"""
set -e
mount --make-rprivate /
data=$1; hold=$1.hold; shift
number=0; covered=; kept=
while [ "$1" != -- ]; do covered="$covered $1"; shift; done; shift
while [ "$1" != -- ]; do
    number=$((number + 1)); kept="$kept $1"
    mkdir -p "$hold/$number"; mount --rbind "$1" "$hold/$number"; shift
done; shift
for each in $covered; do mount -t tmpfs -o mode=755 tmpfs "$each"; done
number=0
for each in $kept; do
    number=$((number + 1)); mkdir -p "$each"; mount --rbind "$hold/$number" "$each"
done
mount --bind "$data" "$data"
mount -o remount,ro,bind /
mount -t tmpfs -o size=64m,mode=1777 tmpfs /tmp
exec setpriv --reuid {USER} --regid {USER} --clear-groups --bounding-set=-all --inh-caps=-all \\
    --no-new-privs "$@"
"""


def can_lock_down() -> bool:
    """Root on a Linux that lets it make a file system of its own may do what Docker does."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return False
    if not (shutil.which("unshare") and shutil.which("setpriv")):
        return False
    if Path("/tmp") in Path(sys.prefix).resolve().parents:  # which is empty in a container
        return False
    attempt = ["unshare", "--mount", "mount", "-o", "remount,ro,bind", "/"]
    return subprocess.run(attempt, capture_output=True).returncode == 0


def locked_down(line: list[str], data: Path) -> list[str]:
    """The command line that runs another in what a container would be."""
    needed = [Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve()]
    closed = {path: _closed(path) for path in needed}
    covered = sorted({str(folder) for folder in closed.values() if folder})
    kept = [str(path) for path, folder in closed.items() if folder]
    script = ["sh", "-c", _LOCK_DOWN, "sh", str(data)]
    return ["unshare", "--mount", *script, *covered, "--", *kept, "--", *line]


def _closed(path: Path) -> Path | None:
    """The first folder on the way to `path` that others may not enter."""
    for folder in reversed(path.parents):
        if not folder.stat().st_mode & 0o001:
            return folder
    return None


@dataclass
class Container:
    """One program, run as its image would run it."""

    program: str
    folder: Path  # what `/opt/kb` is in the image
    data: Path
    port: int
    environ: dict[str, str]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        script, *arguments = command(self.program)
        line = [str(self.folder / "bin" / script), *arguments]
        if can_lock_down():
            line = locked_down(line, self.data)
        self.process = subprocess.Popen(line, env=self.environ, cwd="/", stderr=subprocess.PIPE)
        self.log = b""
        while b"listens on" not in self.log:
            read = os.read(self.process.stderr.fileno(), 65536)
            assert read, self.log.decode()
            self.log += read

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
        self.log += self.process.stderr.read()
        self.process.stderr.close()
        return self.process.wait(30)

    def healthy(self) -> bool:
        python, *arguments = health_check(self.program)
        line = [str(self.folder / "bin" / python), *arguments]
        return subprocess.run(line, env=self.environ, capture_output=True).returncode == 0

    def status_of(self, path: str, host: str) -> int:
        headers = {"Host": host, "Authorization": f"Bearer {self.environ['KB_API_KEY']}"}
        request = urllib.request.Request(self.url + path, headers=headers)
        try:
            return urllib.request.urlopen(request, timeout=10).status
        except urllib.error.HTTPError as error:
            return error.code
