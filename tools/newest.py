"""The newest uvicorn and mcp in, a warning out if our tests fail with them; the gate never does.

    python tools/newest.py [PACKAGE==VERSION ...]

Both are pinned, as kb uses inner parts of them. This tells early what moving the pins will take:
it runs the tests of `serving` and `mcp` with the newest versions, in `.venv-newest`, which has only
those two and what they need, and takes all else from the environment that runs this.
"""

import re
import signal
import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".venv-newest"
PACKAGES = ("uvicorn", "mcp")
TESTS = ("tests/serving", "tests/mcp")
INSTALLING, TESTING, ENDING = 40, 180, 20  # seconds: four minutes at most
_MOST_TOLD = 20


def main() -> None:
    try:
        install(sys.argv[1:] or PACKAGES)
        versions = installed()
        if versions == pinned():
            print(f"{_in_words(versions)} are pinned, and the newest there are.")
        else:
            _tell(versions, *run_tests())
    except (OSError, subprocess.SubprocessError) as error:
        _warn(f"The newest of {' and '.join(PACKAGES)} could not be tried: {error}")


def install(wanted: "tuple[str, ...] | list[str]") -> None:
    venv.create(FOLDER, clear=True)
    ours = sysconfig.get_path("purelib")
    line = f"import site; site.addsitedir({ours!r})\n"  # also reads the files of editable installs
    (_packages() / "others.pth").write_text(line)
    pip = [sys.executable, "-m", "pip", "--python", str(_python()), "--disable-pip-version-check"]
    command = [*pip, "install", "--quiet", "--upgrade", "--retries", "1", *wanted]
    ended = subprocess.run(command, timeout=INSTALLING, capture_output=True, text=True)
    if ended.returncode:
        last = (ended.stderr.strip().splitlines() or ["pip failed"])[-1]
        raise OSError(last)


def installed() -> dict[str, str]:
    """What the tests will import: the folder's own versions, else those of the environment."""
    found: dict[str, str] = {}
    for folder in (str(_packages()), sysconfig.get_path("purelib")):
        for each in distributions(path=[folder]):
            if each.name in PACKAGES:
                found.setdefault(each.name, each.version)
    return {name: found[name] for name in PACKAGES}


def pinned() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    versions = dict(line.split("==") for line in lines if "==" in line)
    return {name: versions[name] for name in PACKAGES}


def run_tests() -> tuple[bool, str]:
    """Whether all passed, and what pytest wrote as far as it came."""
    command = [str(_python()), "-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", "--tb=no"]
    command += ["--maxfail", str(_MOST_TOLD), *TESTS]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            written, _ = process.communicate(timeout=TESTING)
        except subprocess.TimeoutExpired:
            written = _ended(process)
            return False, f"{written}\nNot done after {TESTING} seconds."
    return process.returncode == 0, written


def _ended(process: "subprocess.Popen[str]") -> str:
    """What pytest wrote: interrupted, it ends its workers and tells what has failed so far."""
    process.send_signal(signal.SIGINT)
    try:
        return process.communicate(timeout=ENDING)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[0]


def _tell(versions: dict[str, str], passed: bool, written: str) -> None:
    if passed:
        print(f"The tests of serving and mcp pass with {_in_words(versions)}.")
        return
    told = re.findall(r"^(?:FAILED|ERROR|Not done) .*", written, re.MULTILINE)
    lines = told[:_MOST_TOLD] or written.strip().splitlines()[-3:]
    _warn("\n  ".join([f"With {_in_words(versions)} not all tests pass:", *lines]))


def _in_words(versions: dict[str, str]) -> str:
    return " and ".join(f"{name} {version}" for name, version in versions.items())


def _warn(text: str) -> None:
    print(f"WARNING: {text}", file=sys.stderr)


def _python() -> Path:
    return FOLDER / "bin" / "python"


def _packages() -> Path:
    return Path(sysconfig.get_path("purelib", vars={"base": str(FOLDER)}))


if __name__ == "__main__":
    main()
