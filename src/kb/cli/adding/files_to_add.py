"""Finds the files that `kb add` sends: the named ones, and those in folders and patterns.

Hidden files and what .gitignore files exclude are left out of folders: what people keep out of
their history is rarely what they want to find again.
"""

import glob
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pathspec import GitIgnoreSpec


@dataclass
class Collected:
    """The files to add, in order and each once; what cannot be added; how many were left out."""

    files: list[Path] = field(default_factory=list)
    problems: list[tuple[str, str]] = field(default_factory=list)
    left_out: int = 0


def collect(arguments: Iterable[str], take_all: bool = False) -> Collected:
    """Everything the arguments name. A file named by itself is taken whatever it is called."""
    collected = Collected()
    files: dict[Path, None] = {}
    for argument in arguments:
        try:
            for name in _named(argument):
                files.update(dict.fromkeys(_files_of(name, take_all, collected)))
        except OSError as error:
            collected.problems.append((argument, _why(error)))
    collected.files = list(files)
    return collected


def _named(argument: str) -> list[str]:
    """The files that a name or a pattern means. An existing name is never a pattern."""
    try:
        os.lstat(argument)
    except (FileNotFoundError, NotADirectoryError):
        found = sorted(glob.glob(argument, recursive=True))
        if not found:
            raise
        return found
    return [argument]


def _files_of(name: str, take_all: bool, collected: Collected) -> Iterator[Path]:
    path = Path(os.path.abspath(name))
    try:
        mode = path.stat().st_mode
    except OSError as error:
        lost = isinstance(error, FileNotFoundError) and path.is_symlink()
        collected.problems.append((name, "a link to nothing" if lost else _why(error)))
        return
    if stat.S_ISDIR(mode):
        yield from _Walk(path, take_all, collected).files()
    elif stat.S_ISREG(mode):
        yield path
    else:
        collected.problems.append((name, "not a regular file"))


def _why(error: OSError) -> str:
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        return "no such file or folder"
    return f"cannot be read: {error.strerror}"


# A folder whose rules these are, and the rules.
_Rules = tuple[Path, GitIgnoreSpec]


class _Walk:
    """One folder, from its top to its leaves."""

    def __init__(self, top: Path, take_all: bool, collected: Collected) -> None:
        self._top = top
        self._real_top = top.resolve()
        self._take_all = take_all
        self._collected = collected

    def files(self) -> Iterator[Path]:
        """The files, sorted by name within their folder; links come last."""
        links: list[Path] = []
        seen: set[Path] = set()
        for path in self._under(self._top, self._rules_above(), links):
            seen.add(path)
            yield path
        real = {path.resolve() for path in seen} if links else set()
        for link in links:
            if self._leads_inside(link) and link.resolve() not in real:
                yield link
            else:
                self._collected.left_out += 1

    def _leads_inside(self, link: Path) -> bool:
        """A link to a file of this folder is that file; one that leads out is not followed."""
        try:
            target = link.resolve(strict=True)
        except (OSError, RuntimeError):
            return False
        return os.path.isfile(target) and target.is_relative_to(self._real_top)

    def _under(self, folder: Path, rules: list[_Rules], links: list[Path]) -> Iterator[Path]:
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError as error:
            self._collected.problems.append((str(folder), _why(error)))
            return
        if not self._take_all:
            rules = [*rules, *_rules_of(folder, folder / ".gitignore")]
        folders = []
        for entry in entries:
            path = folder / entry.name
            if entry.name == ".git":
                continue
            is_folder = entry.is_dir(follow_symlinks=False)
            if self._is_left_out(path, is_folder, rules):
                self._collected.left_out += 1
            elif entry.is_symlink():
                links.append(path)
            elif is_folder:
                folders.append(path)
            elif self._is_content(entry):
                yield path
        for path in folders:
            yield from self._under(path, rules, links)

    def _is_left_out(self, path: Path, is_folder: bool, rules: list[_Rules]) -> bool:
        if self._take_all:
            return False
        return path.name.startswith(".") or _is_ignored(path, is_folder, rules)

    def _is_content(self, entry: os.DirEntry[str]) -> bool:
        """A regular file with something in it: an empty file has nothing to find."""
        try:
            status = entry.stat(follow_symlinks=False)
        except FileNotFoundError:  # gone since the folder was read: it was hardly meant
            return False
        except OSError as error:
            self._collected.problems.append((entry.path, _why(error)))
            return False
        is_content = stat.S_ISREG(status.st_mode) and status.st_size > 0
        self._collected.left_out += not is_content
        return is_content

    def _rules_above(self) -> list[_Rules]:
        """The rules of the repository around the folder, from its top down to the folder."""
        if self._take_all:
            return []
        above: list[_Rules] = []
        for folder in (self._top, *self._top.parents):
            if folder != self._top:
                above = [*_rules_of(folder, folder / ".gitignore"), *above]
            if os.path.exists(folder / ".git"):  # a folder out of reach has none, as far as we see
                return [*_rules_of(folder, folder / ".git" / "info" / "exclude"), *above]
        return []


def _rules_of(folder: Path, path: Path) -> list[_Rules]:
    try:
        lines = path.read_text("utf-8", errors="replace").splitlines()
    except OSError:
        return []
    return [(folder, GitIgnoreSpec.from_lines(line for line in lines if _is_rule(line)))]


def _is_rule(line: str) -> bool:
    """Git passes over a line it cannot read, such as a lone `!`; so do we."""
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True


def _is_ignored(path: Path, is_folder: bool, rules: list[_Rules]) -> bool:
    """The deepest folder whose rules say anything about the path decides."""
    for folder, spec in reversed(rules):
        name = path.relative_to(folder).as_posix() + ("/" if is_folder else "")
        verdict = spec.check_file(name).include
        if verdict is not None:
            return verdict
    return False
