"""A person's own questions in, measures, reasons, comparisons and drafts out: `kb eval`."""

import csv
import json
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("engine")


@pytest.fixture
def write(tmp_path):
    """Write a file of questions and return its path as a person would type it."""

    def questions(text: str, name: str = "questions.csv") -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return questions


@pytest.fixture
def shelf(api, tmp_path):
    """A folder of documents on birds, all with one tag of their own."""

    def add(tag: str, **texts: str) -> None:
        folder = tmp_path / "shelf"
        folder.mkdir(exist_ok=True)
        for name, text in texts.items():
            (folder / f"{name}.md").write_text(text)
        api("add", str(folder), "--tags", tag)

    return add


def reasons(result):
    """Line, reason and detail of every miss."""
    return [
        (question["line"], expected["reason"], expected["detail"])
        for question in result["questions"]
        if not question["hit"]
        for expected in question["expected"]
    ]


def test_questions_are_measured_by_the_rank_of_what_they_expect(api, shelf, write):
    shelf(
        "evalrank",
        heron="# Heron\n\nThe heron stands in shallow water.",
        stork="# Stork\n\nThe stork nests on chimneys; a heron does not, heron heron.",
    )
    path = write("question,document\nheron shallow water,heron.md\nheron,heron.md\n")
    result = api("eval", path, "--tags", "evalrank", "--fts-only")
    first, second = result["questions"]
    assert (first["rank"], first["ndcg"], first["reciprocal_rank"]) == (1, 1, 1)
    assert (second["rank"], second["reciprocal_rank"]) in ((1, 1), (2, 0.5))
    assert result["measures"]["hit_rate"] == {
        "value": 1.0,
        "low": 0.3424,
        "high": 1.0,
        "count": 2,
    }
    assert result["measures"]["mrr"]["value"] == (1 + second["reciprocal_rank"]) / 2
    assert result["count"] == 2
    assert result["settings"]["mode"] == "fts-only"


def test_a_document_is_known_by_id_uid_path_name_title_and_path_end(api, shelf, write, tmp_path):
    shelf("evalnames", curlew="# The Curlew\n\nThe curlew has a long bent bill.")
    (document,) = api("list", "--tags", "evalnames")["documents"]
    names = (
        str(document["id"]),
        document["uid"],
        str(tmp_path / "shelf" / "curlew.md"),
        "shelf/curlew.md",
        "CURLEW.md",
        "the curlew",
        "curlew",
    )
    lines = [json.dumps({"question": f"curlew bill {n}", "document": n}) for n in names]
    result = api("eval", write("\n".join(lines), "q.jsonl"), "--tags", "evalnames")
    assert [q["expected"][0]["document_ids"] for q in result["questions"]] == [
        [document["id"]]
    ] * len(names)
    assert result["measures"]["hit_rate"]["value"] == 1


def test_every_miss_has_the_reason_that_is_true(kb, api, shelf, write, tmp_path):
    shelf(
        "evalwhy",
        avocet="# Avocet\n\navocet avocet avocet",
        ruff="# Ruff\n\nThe ruff is a wader, as the avocet is, and dances in spring.",
        snipe="# Snipe\n\nThe snipe drums with its tail feathers.",
    )
    (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing more")
    kb("add", str(tmp_path / "broken.pdf"))
    path = write(
        "question,document,page,passage,tags\n"
        "avocet,ruff.md,,,\n"
        "snipe,snip.md,,,\n"
        "snipe drums,zzqx-nowhere.txt,,,\n"
        "broken,broken.pdf,,,\n"
        "snipe tail,snipe.md,3,,\n"
        "snipe feathers,snipe.md,,sings at night in the reeds,\n"
        "what drums,,,these words stand nowhere at all,\n"
        "snipe drums tail,snipe.md,,,nosuchtag\n"
    )
    result = api("eval", path, "--tags", "evalwhy", "--top", "1", "--fts-only")
    told = reasons(result)
    assert told[0] == (2, "ranked_low", "rank 2")
    assert told[1] == (3, "not_indexed", "no document has this name; there is snipe.md")
    assert told[2] == (4, "not_indexed", "no document has this name")
    line, reason, detail = told[3]
    assert (line, reason) == (5, "not_indexed")
    assert re.match(r"job \d+ failed: broken.pdf", detail)
    assert told[4] == (6, "not_indexed", "snipe.md has no pages")
    assert told[5] == (7, "not_indexed", "no passage of snipe.md has this text")
    assert told[6] == (8, "not_indexed", "no passage has this text")
    assert told[7] == (9, "filtered", "rank 1 without --tags evalwhy,nosuchtag")
    assert result["misses"] == {"ranked_low": 1, "not_indexed": 6, "filtered": 1}


def test_a_page_that_is_not_there_is_told_from_one_without_the_text(api, write):
    fixture = Path(__file__).parents[1] / "fixtures" / "documents" / "report.pdf"
    api("add", str(fixture), "--tags", "evalpages")
    path = write(
        "question,document,page,passage\n"
        "anchorwort,report.pdf,1-2,\n"
        "anchorwort,report.pdf,9,\n"
        "anchorwort shipwort,report.pdf,3,shipwort\n"
    )
    result = api("eval", path, "--tags", "evalpages", "--top", "1", "--fts-only")
    assert [question["hit"] for question in result["questions"]] == [True, False]
    assert result["questions"][0]["recall"] == 0.5
    assert reasons(result) == [(4, "not_indexed", "report.pdf has this text on page 4")]
    path = write("question,document,page\nanchorwort,report.pdf,9\n")
    result = api("eval", path, "--tags", "evalpages", "--fts-only")
    assert reasons(result) == [(2, "not_indexed", "report.pdf ends on page 5")]


def test_a_filter_that_the_engine_refuses_is_told_with_its_line(refusal, write):
    row = {"question": "any", "passage": "some words", "type": "x" * 50, "tags": ["a\nb"]}
    path = write(json.dumps(row), "q.jsonl")
    assert refusal("eval", path).startswith(f"kb: {path} line 1: tags.0")


def test_what_a_limit_keeps_out_is_filtered(api, shelf, write):
    shelf("evallimit", dunlin="# Dunlin\n\nThe dunlin is the commonest small wader of the shore.")
    path = write("question,document\ncommonest dunlin wader or avocet,dunlin.md\n")
    strict = ("eval", path, "--tags", "evallimit", "--fts-only", "--min-relevance", "1")
    assert reasons(api(*strict)) == [
        (2, "filtered", "rank 1 without --tags evallimit --min-relevance 1")
    ]


def test_a_condition_in_a_question_filters_unless_it_is_plain(api, shelf, write):
    shelf(
        "evalcondition",
        ouzel="# Ouzel\n\nThe ring ouzel sings on the moor at dawn: sings, sings.",
        dipper="# Dipper\n\nIt is no moor ouzel and lives by the stream.",
    )
    path = write('question,document\n"""moor ouzel"" sings",ouzel.md\n')
    run = ("eval", path, "--tags", "evalcondition", "--fts-only")
    without = "--tags evalcondition and the conditions in the question"
    assert reasons(api(*run)) == [(2, "filtered", f"rank 2 without {without}")]
    assert reasons(api(*run, "--plain")) == []
    answer = api(*run, "--against", "plain,recency=30")
    assert answer["b"]["name"] == "plain,recency=30"
    assert answer["comparison"]["measures"]["hit_rate"]["difference"] == 1


def test_a_document_without_the_words_is_filtered_if_the_filter_alone_would_do(api, shelf, write):
    shelf("evaltag", knot="# Knot\n\nThe knot flies in dense flocks over the mud.")
    path = write("question,document,type\nzzyzx,knot.md,pdf\nzzyzx,knot.md,\nzzyzx,knot.md,MD\n")
    result = api("eval", path, "--tags", "evaltag", "--fts-only")
    assert reasons(result) == [
        (2, "filtered", "knot.md is of the type markdown"),
        (3, "ranked_low", "not among the first 100"),
        (4, "ranked_low", "not among the first 100"),
    ]


def test_a_question_on_several_lines_has_several_right_answers(api, shelf, write):
    shelf(
        "evalseveral",
        wigeon="# Wigeon\n\nThe wigeon whistles.",
        teal="# Teal\n\nThe teal whistles too.",
    )
    path = write(
        "question,document\nwhistles,wigeon.md\nwhistles,teal.md\nwhistles,zzqx-gone.txt\n"
    )
    result = api("eval", path, "--tags", "evalseveral", "--fts-only")
    (question,) = result["questions"]
    assert question["hit"]
    assert question["recall"] == pytest.approx(2 / 3, abs=1e-5)
    assert question["ndcg"] == pytest.approx(0.765361, abs=1e-5)
    assert result["measures"]["hit_rate"]["count"] == 1


def test_a_name_of_two_documents_is_told(kb, api, shelf, write, tmp_path):
    shelf("evaltwin", smew="# Smew\n\nThe smew is white.")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "smew.md").write_text("# Another\n\nAnother smew is white.")
    api("add", str(tmp_path / "other"), "--tags", "evaltwin")
    path = write("question,document\nsmew,smew.md\n")
    code, _, err = kb("eval", path, "--tags", "evaltwin")
    assert code == 0
    assert re.search(r"line 2: 2 documents are called smew.md \(\d+, \d+\); any counts", err)


def test_a_hit_rate_below_the_least_is_exit_code_1(kb, shelf, write):
    shelf("evalleast", gadwall="# Gadwall\n\nThe gadwall is grey.")
    path = write("question,document\ngadwall grey,gadwall.md\ngadwall,zzqx-gone.txt\n")
    run = ("eval", path, "--tags", "evalleast")
    assert kb(*run)[0] == 0
    assert kb(*run, "--min-hit-rate", "0.5")[0] == 0
    assert kb(*run, "--min-hit-rate", "0.5", "--against", "fts-only")[0] == 0
    code, _, err = kb(*run, "--min-hit-rate", "0.51")
    assert (code, err) == (1, "kb: the hit rate 0.5 is below 0.51\n")


def test_a_pipe_gets_a_line_for_each_measure_and_each_miss(kb, shelf, write, rows):
    shelf("evalpipe", pintail="# Pintail\n\nThe pintail has a long tail.")
    path = write(
        "question,document,passage\npintail tail,pintail.md,\npintail,zzqx-gone.txt,one two\n"
    )
    code, out, err = kb("eval", path, "--tags", "evalpipe")
    assert (code, err) == (0, "")
    lines = rows(out)
    assert [row[:2] for row in lines[:-1]] == [
        ["measure", "hit_rate"],
        ["measure", "hit_rate_at_1"],
        ["measure", "ndcg"],
        ["measure", "mrr"],
    ]
    assert lines[0][2:] == ["0.5", "0.0945", "0.9055", "2"]
    assert lines[-1] == [
        "miss",
        "3",
        "pintail",
        "not_indexed",
        "no document has this name",
        "zzqx-gone.txt, “one two”",
    ]


def test_a_terminal_shows_it_all_within_its_width(shelf, write, seen_on_terminal):
    shelf("evalwide", eider="# Eider\n\nThe eider lines its nest with down.")
    long = "where is the softest down of them all to be found " * 4
    path = write(f"question,document,passage\neider nest,eider.md,\n{long},zzqx-gone.txt,{long}\n")
    for columns in (60, 80, 120):
        shown = seen_on_terminal("eval", path, "--tags", "evalwide", columns=columns)
        assert max(map(len, shown.splitlines())) <= columns
        assert re.search(r"hit rate @10 +0\.50 +0\.09 to 0\.91 +1 of 2", shown)
        assert "1 miss: 1 not indexed" in shown
        assert "not indexed: no document has this name" in " ".join(shown.split())
    shown = seen_on_terminal("eval", path, "--tags", "evalwide", "--misses", "0")
    assert "1 more; --misses 1 shows them all" in shown


def test_a_question_cannot_steer_the_terminal(kb, write):
    evil = {"question": "evil \x1b[2J\u202e", "passage": "no\x1b[2J where to be found", "x\x1b": 1}
    path = write(json.dumps(evil), "evil.jsonl")
    code, out, err = kb("eval", path)
    assert code == 0
    assert "unknown columns, which are ignored: x␛" in err
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", out + err)


def test_a_saved_result_is_the_json_and_not_overwritten_unasked(
    kb, refusal, api, shelf, write, tmp_path
):
    shelf("evalout", scaup="# Scaup\n\nThe scaup dives.")
    path, out = write("question,document\nscaup dives,scaup.md\n"), tmp_path / "result.json"
    shown = api("eval", path, "--tags", "evalout", "--out", str(out))
    assert json.loads(out.read_text()) == shown
    err = refusal("eval", path, "--out", str(out))
    assert err == f"kb: {out} exists; use --force to overwrite it\n"
    assert kb("eval", path, "--out", str(out), "--force")[0] == 0
    assert json.loads(out.read_text())["settings"]["tags"] == []


def test_two_settings_are_compared_question_by_question(printed, api, shelf, write, rows):
    shelf(
        "evalagainst",
        merlin="# Merlin\n\n" + "\n\n".join(f"## Merlin {n}\n\nmerlin merlin." for n in range(4)),
        hobby="# Hobby\n\nThe hobby hunts dragonflies; so does a merlin.",
    )
    path = write("question,document\nmerlin,hobby.md\nhobby dragonflies,hobby.md\n")
    run = ("eval", path, "--tags", "evalagainst", "--fts-only", "--top", "2")
    answer = api(*run, "--against", "per-document=1")
    assert answer["a"]["name"] == "fts-only"
    assert answer["b"]["name"] == "per-document=1"
    comparison = answer["comparison"]
    hit_rate = comparison["measures"]["hit_rate"]
    assert (hit_rate["a"], hit_rate["b"], hit_rate["difference"]) == (0.5, 1.0, 0.5)
    assert hit_rate["p"] == 1  # one question that differs may be chance
    assert comparison["verdict"] == "unclear"
    (better,) = comparison["better"]
    assert (better["line"], better["b"]) == (2, {"hit": True, "rank": 2})
    assert not better["a"]["hit"]
    assert (comparison["worse"], comparison["same"]) == ([], 1)
    assert rows(printed(*run, "--against", "per-document=1"))[-1][:3] == ["better", "2", "merlin"]


def test_two_saved_results_are_compared_where_they_share_questions(
    kb, api, shelf, write, tmp_path, seen_on_terminal
):
    shelf("evalsaved", osprey="# Osprey\n\nThe osprey catches fish.")
    first, second = str(tmp_path / "before.json"), str(tmp_path / "after.json")
    lines = [f"osprey fish {n},osprey.md\n" for n in range(8)]
    path = write("question,document\n" + "".join(lines) + "osprey,zzqx-gone.txt\n")
    api("eval", path, "--tags", "nobodyhasthis", "--out", first)
    path = write("question,document\n" + "".join(lines) + "osprey,new.md\n")
    api("eval", path, "--tags", "evalsaved", "--out", second)
    code, out, err = kb("eval", "--compare", first, second, "--json")
    assert code == 0
    assert "1 question of before left out: not in the other" in err
    comparison = json.loads(out)["comparison"]
    assert (comparison["count"], comparison["verdict"]) == (8, "better")
    assert comparison["measures"]["hit_rate"]["p"] == 0.0078
    shown = seen_on_terminal("eval", "--compare", first, second)
    assert "after is better by nDCG, and hardly by chance (p 0.008): 8 better, 0 worse" in shown
    assert max(map(len, shown.splitlines())) <= 80


def test_what_is_no_result_cannot_be_compared(refusal, write, tmp_path):
    other = write('{"kb_eval": 1, "questions": [{}]}', "other.json")
    for path, said in (
        (str(tmp_path / "gone.json"), "cannot be read: No such file or directory"),
        (write("not json", "text.json"), "not JSON; --compare takes what --out saved"),
        (write('{"comparison": 1}', "both.json"), "a comparison; --compare takes"),
        (other, "no result of kb eval; --compare takes what --out saved"),
    ):
        assert refusal("eval", "--compare", path, other, code=2).startswith(f"kb: {path}: {said}")


def test_drafts_are_of_telling_headings_and_are_found(kb, api, shelf, tmp_path):
    shelf(
        "evalmake",
        puffin="# Puffin\n\nThe puffin lives on steep islands.\n\n"
        "## Introduction\n\nThis is an introduction that says nothing of note.\n\n"
        "## How puffins carry many fish\n\nA rough tongue holds them against the upper bill.\n\n"
        "## 2.1 Breeding\n\nIt digs a burrow and lays one egg in it.\n",
        razorbill="# Razorbill\n\nThe razorbill nests on ledges.\n\n"
        "## Breeding\n\nIt lays one egg on the bare rock of a ledge.\n",
    )
    out = tmp_path / "drafts.csv"
    code, _, err = kb("eval", "--make", "--tags", "evalmake", "--out", str(out))
    assert code == 0
    assert "from 2 documents" in err
    assert f"then run: kb eval {out}" in err
    with out.open(newline="") as file:
        drafts = {row["question"]: row for row in csv.DictReader(file)}
    assert drafts["How puffins carry many fish"]["document"].endswith("/puffin.md")
    assert drafts["How puffins carry many fish"]["passage"].startswith("A rough tongue holds")
    assert {"Puffin: Breeding", "Razorbill: Breeding"} <= set(drafts)
    assert not [question for question in drafts if "Introduction" in question]
    assert api("eval", str(out), "--tags", "evalmake")["measures"]["hit_rate"]["value"] == 1
    again = api("eval", "--make", "--tags", "evalmake", "--count", "1")
    assert len(again["questions"]) == 1


def test_drafts_of_a_text_without_headings_are_its_sentences(kb, api, tmp_path):
    text = "It was late. The nightjar churrs on warm evenings over the heath in June. Then it left."
    (tmp_path / "nightjar.txt").write_text(text)
    api("add", str(tmp_path / "nightjar.txt"), "--tags", "evalquote")
    out = tmp_path / "drafts.jsonl"
    assert kb("eval", "--make", "--tags", "evalquote", "--out", str(out))[0] == 0
    (draft,) = map(json.loads, out.read_text().splitlines())
    assert draft["question"] == "The nightjar churrs on warm evenings over the heath in June."
    assert api("eval", str(out), "--tags", "evalquote")["measures"]["hit_rate"]["value"] == 1


def test_a_draft_is_no_formula_where_a_spreadsheet_opens_it(kb, shelf):
    shelf("evalformula", shrike='# =HYPERLINK("x") of the shrike\n\n=cmd of a shrike on a thorn.\n')
    _, out, _ = kb("eval", "--make", "--tags", "evalformula")
    row = list(csv.reader(out.splitlines()))[1]
    assert row[0].startswith("HYPERLINK")
    assert row[3].startswith("cmd of a shrike")


def test_nothing_to_draft_from_is_one_line(refusal):
    err = refusal("eval", "--make", "--tags", "nobodyhasthis")
    assert err.startswith("kb: nothing to draft from")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "give one file of questions; --make drafts one"),
        (("a.csv", "b.csv"), "give one file of questions"),
        (("--make", "a.csv"), "--make takes no file"),
        (("--make", "--top", "3"), "--top does not go with --make"),
        (("--compare", "a.json"), "--compare takes two results"),
        (("--compare", "a.json", "b.json", "--tags", "x"), "--tags does not go with --compare"),
        (("--compare", "--make"), "use --make or --compare, not both"),
        (("a.csv", "--count", "3"), "--count does not go with questions"),
        (("a.csv", "--force"), "--force goes with --out"),
        (("a.csv", "--fts-only", "--vec-only"), "--fts-only and --vec-only exclude each other"),
        (("a.csv", "--against", "hybrid"), "--against has the settings that are set already"),
        (("a.csv", "--against", "faster"), "'faster' is no setting"),
        (("a.csv", "--against", "min-relevance=nan"), "'min-relevance=nan' is no setting"),
        (("a.csv", "--against", "recency=0"), "'recency=0' is no setting"),
        (("--make", "--plain"), "--plain does not go with --make"),
        (("a.csv", "--top", "101"), "101 is not in the range"),
    ],
)
def test_options_that_do_not_fit_are_refused(refusal, arguments, said):
    assert said in refusal("eval", *arguments, code=2)
