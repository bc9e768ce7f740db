"""Passages and documents out: `kb search`, `get`, `list`."""

import contextlib
import json
import re

import pytest

from kb.cli.commands.documents import full_text
from kb.client import EngineClient
from kb.kinds import UnknownKind

pytestmark = pytest.mark.usefixtures("engine")


def test_a_query_that_no_engine_takes_was_asked_wrongly(refusal):
    assert refusal("search", "x" * 2001, code=2).startswith("kb: query: ")


def test_search_options_reach_the_engine(api, note, tmp_path):
    note("zebra crossing in the rain", "--tags", "options")
    (tmp_path / "zebra.md").write_text("# Zebra\n\nzebra stripes")
    api("add", str(tmp_path), "--tags", "options")
    both = ("search", "zebra", "--tags", "options", "--fts-only")
    assert len(api(*both)["results"]) == 2
    assert len(api(*both, "--top", "1")["results"]) == 1
    assert [hit["doc_type"] for hit in api(*both, "--type", "note")["results"]] == ["note"]
    assert [hit["format"] for hit in api(*both, "--format", "md")["results"]] == ["md"]
    assert len(api(*both, "--path-prefix", str(tmp_path))["results"]) == 1
    assert len(api(*both, "--source-path", str(tmp_path / "zebra.md"))["results"]) == 1
    assert len(api(*both, "--after", "1h")["results"]) == 2
    assert not api(*both, "--before", "1h")["results"]
    assert not api(*both, "--after", "2999-01-01")["results"]
    assert api(*both, "--explain")["results"][0]["explain"]
    assert not api(*both, "--min-relevance", "1")["results"]
    assert len(api(*both, "--per-document", "1")["results"]) == 2


def test_a_kind_may_be_named_by_a_word_for_it(api, tmp_path):
    (tmp_path / "ships.csv").write_text("ship,crew\nkittiwake,4\ngannet,3\n")
    api("add", str(tmp_path), "--tags", "kinds")
    for word in ("Spreadsheet", "csv"):
        found = api("search", "kittiwake", "--tags", "kinds", "--fts-only", "--type", word)
        assert [hit["doc_type"] for hit in found["results"]] == ["csv"]
        assert api("list", "--tags", "kinds", "--type", word)["total"] == 1
    assert api("list", "--tags", "kinds", "--type", "presentation")["total"] == 0


@pytest.mark.parametrize(
    "command",
    [("search", "x"), ("list",), ("eval", "{questions}"), ("eval", "--make")],
    ids=" ".join,
)
def test_an_unknown_kind_is_refused_in_the_engines_words(refusal, tmp_path, command):
    questions = tmp_path / "questions.csv"
    questions.write_text("question,passage\nwhere,here\n")
    words = [word.format(questions=questions) for word in command]
    assert f"kb: doc_type: {UnknownKind()}\n" in refusal(*words, "--type", "foo", code=2)


def test_nothing_found_is_no_failure(kb):
    code, out, err = kb("search", "qqqqzzzz", "--fts-only")
    assert (code, out) == (0, "")
    assert err == "kb: nothing found for: qqqqzzzz\n"


def test_a_search_that_gave_up_is_said_to_have(kb, monkeypatch):
    async def late(_client, query, **_options):
        return {"query": query, "results": [], "total": 0, "degraded": "search_timeout"}

    monkeypatch.setattr(EngineClient, "search", late)
    code, _, err = kb("search", "marmot")
    assert code == 0
    assert "kb: the search took too long: this is what was found until then" in err


def test_a_condition_that_leaves_nothing_is_named_above_what_is_found_without_it(kb, note):
    note("the marmot whistles", "--tags", "alps")
    code, out, err = kb("search", "marmot tag:never", "--tags", "alps", "--fts-only")
    assert (code, err) == (0, "kb: nothing found with tag:never; without it:\n")
    assert "the marmot whistles" in out
    _, out, err = kb("search", "marmot tag:never -whistles", "--tags", "alps", "--fts-only")
    assert err == "kb: nothing found with tag:never, -whistles; without them:\n"


def test_of_what_fits_badly_a_terminal_shows_few_and_programs_all(api, kb, note, seen_on_terminal):
    for number in range(5):
        note(f"note {number} of the gentians", "--tags", "meadow")
    search = ("search", "xxqqzz of yyqqzz", "--tags", "meadow")
    shown = seen_on_terminal(*search)
    assert shown.startswith("kb: nothing fits well; the nearest:\n")
    assert shown.count("of the gentians") == 2 * 3  # as a title and as a passage
    assert seen_on_terminal(*search, "--top", "5").count("of the gentians") == 2 * 5
    answer = api(*search)
    assert answer["nothing_fits_well"]
    assert len(answer["results"]) == 5
    _, out, err = kb(*search)
    assert out.count("of the gentians") == 2 * 5
    assert "nothing fits well" in err
    assert not api("search", "gentians", "--tags", "meadow")["nothing_fits_well"]


def test_a_passage_repeats_no_heading_and_keeps_its_lines(api, kb, seen_on_terminal, tmp_path):
    path = tmp_path / "sowing.md"
    path.write_text("# Sowing\n\nIntro.\n\n## Early peas\n\n- soak the peas\n- wait a\n  day\n")
    api("add", str(path), "--tags", "sowing")
    search = ("search", "soak peas", "--tags", "sowing", "--top", "1")
    shown = seen_on_terminal(*search).splitlines()
    assert " · Early peas · " in " ".join(shown[1:3])
    assert shown[-2:] == ["    - soak the peas", "    - wait a day"]
    assert sum("Early peas" in line for line in shown) == 1
    _, out, _ = kb(*search)
    assert out.splitlines()[-1] == "    - soak the peas - wait a day"


def test_found_words_are_marked_on_a_terminal_and_plain_in_a_pipe(kb, note, on_terminal):
    note("the lighthouse keeper climbs", "--tags", "lamp")
    search = ("search", "lighthouse", "--tags", "lamp", "--fts-only")
    shown = on_terminal(*search)
    assert re.search(r"\x1b\[1;33mlighthouse\x1b\[0m keeper", shown)
    _, out, _ = kb(*search)
    assert "the lighthouse keeper climbs" in out
    assert "\x1b" not in out


def test_a_document_cannot_steer_the_terminal(kb, printed, note, on_terminal):
    evil = "evil \x1b[2J\x1b]0;owned\x07 text\r\noverwrite \u202e gnp.exe"
    note_id = note(evil, "--tags", "evil")
    for arguments in (("get", note_id), ("search", "evil", "--tags", "evil"), ("list",)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", printed(*arguments))
    shown = on_terminal("get", note_id)
    assert "\x1b[2J" not in shown
    assert "\x07" not in shown
    assert json.loads(kb("get", note_id, "--json")[1])["text"] == evil


def test_get_saves_the_original(kb, refusal, api, tmp_path):
    original = tmp_path / "original.txt"
    original.write_bytes(b"bytes as they were\r\n")
    document_id = str(api("add", str(original))["files"][0]["document_id"])
    target = tmp_path / "copy.txt"
    assert kb("get", document_id, "--file", str(target)) == (0, f"saved {target}\n", "")
    assert target.read_bytes() == original.read_bytes()
    assert (
        refusal("get", document_id, "--file", str(target))
        == f"kb: {target} exists; use --force to overwrite it\n"
    )
    assert kb("get", document_id, "--file", str(target), "--force")[0] == 0
    (tmp_path / "folder").mkdir()
    assert kb("get", document_id, "--file", str(tmp_path / "folder"))[0] == 0
    assert (tmp_path / "folder" / "original.txt").read_bytes() == original.read_bytes()
    assert kb("get", document_id, "--file", "-")[1] == "bytes as they were\r\n"


def test_a_note_has_no_original_to_save(refusal, note, tmp_path):
    assert refusal("get", note("only text"), "--file", str(tmp_path / "x")).startswith("kb: ")
    assert not (tmp_path / "x").exists()


def test_get_joins_the_passages_of_a_file_to_its_text(kb, printed, tmp_path):
    text = "\n\n".join(f"Paragraph {n} says something of its own. " * 8 for n in range(40))
    path = tmp_path / "long.txt"
    path.write_text(text)
    kb("add", str(path))
    assert printed("get", str(path), "--text") == f"{text}\n"


def chunk(text, page=None, location=None):
    return {"text": text, "page": page, "location": location}


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([chunk("a", 1), chunk("b", 1), chunk("c", 2)], "[page 1]\nab\n\n[page 2]\nc"),
        ([chunk("a", 1), chunk("b", None, "sheet Prices")], "[page 1]\na\n\n[sheet Prices]\nb"),
    ],
)
def test_a_page_begins_with_a_line_that_names_it(chunks, text):
    assert full_text({"chunks": chunks}) == text


def test_a_text_comes_in_the_order_of_the_file():
    sections = ["page.html#top", "section Bravo", "page.html#charlie", "section November", None]
    chunks = [chunk(f"{number} ", None, section) for number, section in enumerate(sections)]
    assert full_text({"doc_type": "html", "chunks": chunks}) == "0 1 2 3 4 "
    book = [chunk("a", None, "Notes"), chunk("b", None, "One"), chunk("c", None, "Notes")]
    assert full_text({"doc_type": "epub", "chunks": book}) == "[Notes]\na\n\n[One]\nb\n\n[Notes]\nc"
    mail = [chunk("Hello", None, "section Bravo"), chunk("b", None, "attachment b.txt")]
    assert full_text({"doc_type": "email", "chunks": mail}) == "Hello\n\n[attachment b.txt]\nb"


def test_a_relative_path_is_looked_up_as_typed_and_then_from_here(kb, api, note, tmp_path):
    (tmp_path / "shelf").mkdir()
    (tmp_path / "shelf" / "quagga.txt").write_text("the quagga is gone")
    api("add", str(tmp_path / "shelf"))
    with contextlib.chdir(tmp_path):
        assert len(api("search", "quagga", "--path-prefix", "shelf")["results"]) == 1
        assert len(api("search", "quagga", "--path-prefix", "./shelf/")["results"]) == 1
        assert len(api("search", "quagga", "--source-path", "shelf/quagga.txt")["results"]) == 1
        assert api("list", "--path-prefix", "shel")["total"] == 1
        assert api("list", "--path-prefix", "elsewhere")["total"] == 0
        note_id = note("a note about quagga", "--source-path", "shelf/note")
        assert [str(row["id"]) for row in api("list", "--path-prefix", "shelf/")["documents"]] == [
            note_id
        ]


def test_get_takes_a_uid(api, note):
    document = api("get", note("has a uid"))
    assert api("get", document["uid"]) == document


def test_a_path_of_two_documents_is_not_guessed(refusal, note):
    first, second = (
        note("for two agents", "--source-path", "todo/shared", "--tags", tag) for tag in "ab"
    )
    assert f"use an id: {second}, {first}" in refusal("get", "todo/shared")


@pytest.mark.parametrize("reference", ["999999", "00000000-0000-4000-8000-000000000000", "no/such"])
def test_what_is_not_there_is_one_line_and_exit_code_1(refusal, reference):
    assert refusal("get", reference).startswith("kb: ")


def test_a_list_in_a_pipe_is_one_line_each_and_nothing_is_cut(kb, printed, tmp_path, rows):
    folder = tmp_path / ("a-long-folder-name-" * 8)
    folder.mkdir()
    path = folder / ("a-long-file-name-" * 8 + ".txt")
    path.write_text("words " * 20)
    kb("add", str(path), "--tags", "listed", "--title", "T" * 300)
    out = printed("list", "--tags", "listed")
    (row,) = rows(out)
    assert row[1:5] == ["T" * 300, "text", "listed", "120"]
    assert row[6] == str(path)


def test_a_list_on_a_terminal_fits_its_width_and_keeps_the_ids(api, tmp_path, seen_on_terminal):
    path = tmp_path / "wide.txt"
    path.write_text("words")
    api("add", str(path), "--title", "wide " * 60, "--tags", "wide")
    document_id = api("list", "--tags", "wide")["documents"][0]["id"]
    for columns in (60, 80, 120, 200):
        shown = seen_on_terminal("list", "--tags", "wide", columns=columns)
        assert max(map(len, shown.splitlines())) <= columns
        assert f"\n{document_id} " in shown or f" {document_id} " in shown
        assert "wide… " in shown
    assert shown.rstrip().endswith("wide.txt")


def test_lists_are_sorted_and_paged(api, note):
    for title in ("b", "a", "c"):
        note(f"paged {title}", "--tags", "paged", "--title", title)
    by_title = ("list", "--tags", "paged", "--sort", "title", "--order", "asc")
    assert [d["title"] for d in api(*by_title)["documents"]] == ["a", "b", "c"]
    page = api(*by_title, "--limit", "1", "--offset", "1")
    assert [d["title"] for d in page["documents"]] == ["b"]
    assert page["total"] == 3


def test_what_was_not_read_whole_is_listed_and_a_document_says_how(kb, api, tmp_path, rows):
    mail = (
        "Subject: Plans\nMIME-Version: 1.0\n"
        'Content-Type: multipart/mixed; boundary="x"\n\n--x\n\nSee the plans.\n--x\n'
        'Content-Type: application/x; name="a.dwg"\nContent-Transfer-Encoding: base64\n\n'
        "AAEC/wD+AAEC/wD+\n--x--\n"
    )
    (tmp_path / "plans.eml").write_text(mail)
    (tmp_path / "whole.txt").write_text("nothing is missing")
    api("add", str(tmp_path), "--tags", "how")
    warning = "attachment a.dwg was not read: it is a binary file of unknown type"
    (row,) = rows(kb("list", "--warnings", "--tags", "how")[1])
    assert row[1:] == ["Plans", "7 words", warning]
    shown = kb("get", row[0], "--how")[1]
    assert "read by" in shown
    assert "eml" in shown
    assert warning in shown
    assert "See the plans" not in shown
    assert api("get", row[0], "--how")["how_read"]["warnings"] == [warning]
