"""Files, folders and patterns in, the files to add out."""

import os
from pathlib import Path

import pytest

from kb.cli.adding.files_to_add import collect


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder that is the current one, below no repository."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(home)
    return home


def write(folder: Path, *names: str, content: str = "words") -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def names(folder: Path, *arguments: str, take_all: bool = False) -> list[str]:
    collected = collect(arguments or [str(folder)], take_all)
    return [path.relative_to(folder).as_posix() for path in collected.files]


def test_a_folder_gives_all_files_below_it_in_order(folder):
    write(folder, "b.txt", "a.txt", "deep/er/c.txt", "deep/a.txt")
    assert names(folder) == ["a.txt", "b.txt", "deep/a.txt", "deep/er/c.txt"]


def test_paths_are_absolute_wherever_the_command_runs(folder):
    write(folder, "sub/a.txt")
    assert collect(["sub"]).files == [folder / "sub" / "a.txt"]
    assert collect(["sub/../sub/a.txt"]).files == [folder / "sub" / "a.txt"]


def test_hidden_files_and_folders_are_left_out_and_counted(folder):
    write(folder, "a.txt", ".hidden", ".cache/b.txt")
    assert names(folder) == ["a.txt"]
    assert collect([str(folder)]).left_out == 2


def test_all_takes_hidden_and_ignored_files_but_never_the_git_folder(folder):
    write(folder, "a.txt", ".hidden", "b.log", ".git/config")
    write(folder, ".gitignore", content="*.log")
    assert names(folder, take_all=True) == [".gitignore", ".hidden", "a.txt", "b.log"]


def test_a_file_named_by_itself_is_taken_whatever_it_is_called(folder):
    write(folder, ".hidden", "b.log", "empty", content="x")
    write(folder, ".gitignore", content="*.log")
    (folder / "empty").write_text("")
    assert names(folder, ".hidden", "b.log", "empty") == [".hidden", "b.log", "empty"]


def test_ignored_files_are_left_out_as_git_would(folder):
    write(folder, "a.txt", "a.log", "keep.log", "build/x.txt", "sub/build/y.txt", "doc/a.tmp")
    write(folder, ".gitignore", content="*.log\n!keep.log\n/build/\n# words\n!\n\ndoc/*.tmp\n")
    assert names(folder) == ["a.txt", "keep.log", "sub/build/y.txt"]


def test_a_deeper_gitignore_decides_for_its_folder(folder):
    write(folder, "a.log", "sub/a.log", "sub/b.txt", "sub/deep/c.txt", "sub/deep/d.txt")
    write(folder, ".gitignore", content="*.log")
    write(folder, "sub/.gitignore", content="!a.log\n/b.txt\n")
    write(folder, "sub/deep/.gitignore", content="d.txt")
    assert names(folder) == ["sub/a.log", "sub/deep/c.txt"]


def test_a_file_in_an_ignored_folder_cannot_be_taken_back(folder):
    write(folder, "out/keep.txt", "a.txt")
    write(folder, ".gitignore", content="out/\n!out/keep.txt")
    assert names(folder) == ["a.txt"]


def test_the_repository_around_the_folder_counts(folder):
    write(folder, ".git/info/exclude", content="secret.txt")
    write(folder, ".gitignore", content="*.log\n/docs/draft.txt")
    write(folder, "docs/a.txt", "docs/a.log", "docs/draft.txt", "docs/secret.txt")
    assert names(folder, "docs") == ["docs/a.txt"]


def test_a_gitignore_above_the_repository_does_not_count(folder):
    write(folder, ".gitignore", content="*.txt")
    write(folder, "repo/.git/config", "repo/docs/a.txt")
    assert names(folder, "repo/docs") == ["repo/docs/a.txt"]


def test_empty_files_of_a_folder_are_left_out(folder):
    write(folder, "a.txt")
    write(folder, "empty.txt", content="")
    assert names(folder) == ["a.txt"]
    assert collect([str(folder)]).left_out == 1


def test_patterns_are_expanded_where_the_shell_did_not(folder):
    write(folder, "a.md", "b.md", "c.txt", "sub/d.md")
    assert names(folder, "*.md") == ["a.md", "b.md"]
    assert names(folder, "**/*.md") == ["a.md", "b.md", "sub/d.md"]


def test_a_name_with_brackets_is_a_name_first(folder):
    write(folder, "a[1].txt", "a1.txt")
    assert names(folder, "a[1].txt") == ["a[1].txt"]


def test_what_is_named_twice_is_taken_once(folder):
    write(folder, "a.txt", "sub/b.txt")
    assert names(folder, "a.txt", ".", "sub", "./a.txt") == ["a.txt", "sub/b.txt"]


def test_what_does_not_exist_is_a_problem_and_the_rest_goes_on(folder):
    write(folder, "a.txt")
    collected = collect(["missing.txt", "a.txt", "*.nothing"])
    assert collected.problems == [
        ("missing.txt", "no such file or folder"),
        ("*.nothing", "no such file or folder"),
    ]
    assert [path.name for path in collected.files] == ["a.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_what_is_not_a_regular_file_is_never_opened(folder):
    write(folder, "a.txt")
    os.mkfifo(folder / "pipe")
    assert names(folder) == ["a.txt"]
    assert collect(["pipe"]).problems == [("pipe", "not a regular file")]


def test_links_are_not_followed_out_of_the_folder(folder, tmp_path):
    write(tmp_path, "outside/secret.txt")
    write(folder, "docs/a.txt")
    (folder / "docs" / "file-link.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (folder / "docs" / "folder-link").symlink_to(tmp_path / "outside")
    (folder / "docs" / "loop").symlink_to(folder / "docs")
    (folder / "docs" / "dangling").symlink_to(folder / "nothing")
    assert names(folder, "docs") == ["docs/a.txt"]
    assert collect(["docs"]).left_out == 4


def test_a_link_inside_the_folder_stands_for_a_file_that_was_left_out(folder):
    write(folder, ".versions/3.txt", "plain.txt")
    (folder / "current.txt").symlink_to(folder / ".versions" / "3.txt")
    (folder / "again.txt").symlink_to(folder / "plain.txt")
    assert names(folder) == ["plain.txt", "current.txt"]


def test_a_link_that_is_named_is_followed(folder, tmp_path):
    write(tmp_path, "outside/a.txt")
    (folder / "link").symlink_to(tmp_path / "outside")
    assert names(folder, "link") == ["link/a.txt"]


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_cannot_be_read_is_a_problem(folder):
    write(folder, "closed/a.txt", "b.txt")
    (folder / "closed").chmod(0)
    collected = collect([str(folder)])
    (folder / "closed").chmod(0o700)
    assert [path.name for path in collected.files] == ["b.txt"]
    assert collected.problems == [(str(folder / "closed"), "cannot be read: Permission denied")]
