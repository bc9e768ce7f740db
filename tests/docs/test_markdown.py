"""The pages in, what they point at found: links, make targets, commands, files."""

import re
import shlex

import click
import pytest
from pages import ROOT, anchors, links, pages, sections, shell_lines, text

from kb.cli.main import cli

PAGES = pages()
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
RECORDS = [name for name in NAMES if name[0].isupper() or name.startswith("docs/decisions/")]
NEVER_THERE = {"utils.py"}  # STYLE.md names it as one that we never write


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_leads_to_a_file_and_a_heading(page):
    broken = []
    for target in links(page.read_text("utf-8")):
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and anchor not in anchors(file.read_text("utf-8"))):
            broken.append(target)
    assert broken == []


def test_a_broken_link_would_be_seen():
    """The two parts that decide it, on a page made for this."""
    page = "# One thing\n\n## A `b`, c\n\n[x](other.md#y) [z](https://example.org)\n```\n[no](code)\n```\n"
    assert links(page) == ["other.md#y"]
    assert anchors(page) == {"one-thing", "a-b-c"}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_make_command_is_a_target(page):
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    markdown = page.read_text("utf-8")
    used = set(re.findall(r"`make ([a-z-]+)`", markdown))
    used |= {line.split()[1] for line in shell_lines(markdown) if line.startswith("make ")}
    assert used - targets == set()


def test_the_readme_runs_and_tests_with_make():
    assert {"make run", "make test"} <= set(shell_lines(text("README.md")))


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_kb_command_in_a_shell_block_exists_with_its_options(page):
    lines = [line for line in shell_lines(page.read_text("utf-8")) if line.startswith("kb ")]
    assert [problem for line in lines for problem in _problems(line)] == []


def test_a_kb_command_that_does_not_exist_would_be_seen():
    assert _problems("kb fetch 3") == ["kb fetch 3: no such command"]
    assert _problems("kb search water --tops 3") == ["kb search water --tops 3: no --tops"]
    assert _problems("kb search water --top 3 | less --x") == []


def test_the_map_names_only_what_there_is():
    """Each line's own name stands where its indentation puts it; names in its text lie below."""
    [[block]] = [
        re.findall(
            r"```text\nsrc/kb/\n(.*?)```",
            sections(text("ARCHITECTURE.md"), 2)["The map"],
            re.DOTALL,
        )
    ]
    missing = []
    folders = {0: ROOT / "src/kb"}
    for line in block.splitlines():
        depth = (len(line) - len(line.lstrip())) // 2
        names = re.findall(r"(?<!\S)[a-z0-9_]+(?:\.py|/)(?!\S)", line)
        parent = folders[depth - 1]
        folders[depth] = parent / names[0]
        below = parent if names[0].endswith(".py") else folders[depth]
        missing += [line.strip()] if not folders[depth].exists() else []
        missing += [
            each for each in names[1:] if not ((below / each).exists() or (parent / each).exists())
        ]
    assert missing == []


@pytest.mark.parametrize("name", RECORDS)
def test_modules_and_folders_that_are_named_are_there(name):
    assert _missing(text(name)) == []


def test_a_module_that_is_gone_would_be_seen():
    """Paths are known by their ends; data folders, called `store-…`, are not looked for."""
    page = (
        "`text/terms.py` `terms.py` `erms.py` `gone/terms.py` `ingest/extract/` `ingest/extracts/`"
    )
    assert _missing(page) == ["erms.py", "gone/terms.py", "ingest/extracts/"]


def test_every_decision_is_listed_once_by_number_and_title():
    decisions = sorted((ROOT / "docs/decisions").glob("*.md"))
    titles = [page.read_text("utf-8").partition("\n")[0].removeprefix("# ") for page in decisions]
    listed = re.findall(r"^- \[.*", sections(text("docs/README.md"), 2)["Decisions"], re.MULTILINE)
    assert listed == [
        f"- [{title[:4]}](decisions/{page.name}){title[4:]}"
        for page, title in zip(decisions, titles, strict=True)
    ]
    assert [title[:4] for title in titles] == [page.name[:4] for page in decisions]


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_path_in_the_project_that_a_page_names_exists(page):
    named = re.findall(r"`((?:src|tests|docs|benchmarks|tools)/[\w./-]*)`", page.read_text("utf-8"))
    assert [path for path in named if not (ROOT / path).exists()] == []


def _missing(markdown):
    """Named modules and folders that no path of the project ends with."""
    named = set(re.findall(r"`((?:[a-z0-9_]+/)*[a-z0-9_]+(?:/|\.py|\.sql|\.sh))`", markdown))
    there = {
        f"/{path.relative_to(ROOT).as_posix()}{'/' if path.is_dir() else ''}"
        for folder in ("src", "tests", "benchmarks", "tools", "docs")
        for path in [ROOT / folder, *(ROOT / folder).rglob("*")]
    }
    wanted = sorted(named - NEVER_THERE)
    return [each for each in wanted if not any(path.endswith(f"/{each}") for path in there)]


def _problems(line):
    """What of a `kb …` line the command line does not have."""
    words = shlex.split(re.split(r" [|>#;] ?", line)[0])[1:]
    command, context = cli, click.Context(cli)
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        command = command.get_command(context, words.pop(0))
        if command is None:
            return [f"{line}: no such command"]
    known = {option for parameter in command.params for option in parameter.opts} | {"--help", "-h"}
    options = [word.partition("=")[0] for word in words if re.match("--?[a-z]", word)]
    return [f"{line}: no {option}" for option in options if option not in known]
