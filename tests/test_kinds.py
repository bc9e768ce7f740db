"""One list of kinds, and everything that shows kinds to people or agents in step with it."""

import re
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from kb.cli.main import cli
from kb.kinds import DOC_TYPES, KINDS, OFFERED, UnknownKind, as_format, kinds_of

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("word", "kinds"),
    [
        ("note", {"note"}),
        ("spreadsheet", {"xlsx", "ods", "csv"}),
        ("document", {"pdf", "docx", "odt", "rtf", "iwork", "html", "epub", "markdown", "text"}),
        ("presentation", {"pptx", "odp"}),
        ("webpage", {"html"}),
        ("image", {"image"}),
        ("email", {"email"}),
        ("Word", {"docx"}),
        ("EXCEL", {"xlsx"}),
        ("powerpoint", {"pptx"}),
        ("picture", {"image"}),
        ("mail", {"email"}),
        ("table", {"xlsx", "ods", "csv"}),
        ("web", {"html"}),
        ("md", {"markdown"}),
        (".md", {"markdown"}),
        ("plain", {"text"}),
        ("web page", {"html"}),
        ("Web-Pages", {"html"}),
        (" PDFs ", {"pdf"}),
        ("slides", {"pptx", "odp"}),
    ],
)
def test_a_word_stands_for_the_kinds_that_people_mean(word, kinds):
    assert set(kinds_of(word)) == kinds


def test_several_words_stand_for_all_of_their_kinds_each_once():
    assert kinds_of("excel", "spreadsheet", "note") == ("xlsx", "ods", "csv", "note")


@pytest.mark.parametrize("word", ["", "s", "foo", "pdf,note", "notee", "нота"])
def test_any_other_word_is_refused_with_every_kind_there_is(word):
    with pytest.raises(UnknownKind) as caught:
        kinds_of(word)
    named = re.findall(r"\w+", str(caught.value).partition(":")[2])
    assert set(OFFERED) <= set(named)


def test_no_synonym_hides_a_kind():
    assert not {word for kind in KINDS for word in kind.synonyms} & set(DOC_TYPES)


@pytest.mark.parametrize(
    ("ending", "name"), [("JPEG", "jpg"), (".htm", "html"), ("tif", "tiff"), ("py", "py")]
)
def test_a_format_has_one_name(ending, name):
    assert as_format(ending) == name


def test_the_docs_list_the_kinds_with_their_names_and_words():
    page = (ROOT / "docs/formats.md").read_text("utf-8")
    section = page.partition("## Kinds of document\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| ([^|]*)\|$", section, re.MULTILINE)
    listed = [(kind, name, tuple(re.findall(r"`(\w+)`", words))) for kind, name, words in rows]
    assert listed[1:] == [(kind.doc_type, kind.name, kind.synonyms) for kind in KINDS]


def test_the_docs_say_of_every_format_which_kind_it_is():
    page = (ROOT / "docs/formats.md").read_text("utf-8").partition("## Kinds of document\n")[0]
    cells = [line.split("|")[3] for line in page.splitlines() if line.startswith("| `")]
    assert {re.search(r"`(\w+)`", cell)[1] for cell in cells} == set(DOC_TYPES) - {"note"}


def test_the_page_calls_every_kind_by_its_name():
    script = (ROOT / "src/kb/engine/web/words.js").read_text("utf-8")
    [names] = re.findall(r"^const TYPES = \{(.*?)\};", script, re.DOTALL | re.MULTILINE)
    assert dict(re.findall(r'(\w+): "([^"]+)"', names)) == {
        kind.doc_type: kind.name for kind in KINDS
    }


def test_the_page_has_drawings_for_no_kind_that_does_not_exist():
    script = (ROOT / "src/kb/engine/web/parts/icon.js").read_text("utf-8")
    [drawn] = re.findall(r"^const KINDS = \{(.*?)\};", script, re.DOTALL | re.MULTILINE)
    kinds = re.findall(r"(\w+): ", drawn)
    assert len(kinds) > 10
    assert set(kinds) <= set(DOC_TYPES)


def test_the_skill_names_kinds_that_exist():
    skill = (ROOT / "src/kb/skills/kb/SKILL.md").read_text("utf-8")
    [listed] = re.findall(r"`doc_type`\s+\(([^)]*)\)", skill)
    words = re.findall(r"`(\w+)`", listed)
    assert len(words) > 3
    assert kinds_of(*words)


@pytest.mark.parametrize("command", ["search", "list", "eval"])
@pytest.mark.parametrize(
    ("begun", "offered"),
    [("", list(OFFERED)), ("spr", ["spreadsheet"]), ("PD", ["pdf"]), ("foo", [])],
)
def test_shells_complete_the_kind(command, begun, offered):
    completion = ShellComplete(cli, {}, "kb", "_KB_COMPLETE")
    found = completion.get_completions([command, "--type"], begun)
    assert [item.value for item in found] == offered
