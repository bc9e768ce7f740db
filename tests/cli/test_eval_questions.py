"""A file of questions in, checked questions or one line about it out."""

import json

import pytest

from kb.cli.eval.questions import BadQuestions, Target, read_questions


@pytest.fixture
def read(tmp_path):
    def questions(content: str | bytes):
        path = tmp_path / "q"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_questions(str(path))

    return questions


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_the_csv_of_any_spreadsheet_is_read(read, separator, mark, end):
    lines = [["Question", " document ", "page"], ["where is it", "a.pdf", "3"], ["", "", ""]]
    file = read(mark + end.join(separator.join(line) for line in lines))
    (question,) = file.questions
    assert (question.line, question.text) == (2, "where is it")
    assert question.targets == (Target("a.pdf", (3, 3), None),)


def test_jsonl_and_csv_say_the_same(read):
    from_csv = read('question,document,page,tags,type\nwhy,a.pdf,2-4,"x, y",PDF\n').questions
    row = {
        "query": "why",
        "document": "a.pdf",
        "page": "2–4",
        "tags": ["x", "y"],
        "doc_type": "pdf",
    }
    from_json = read(f"\n{json.dumps(row)}\n").questions
    assert from_csv[0].targets == from_json[0].targets == (Target("a.pdf", (2, 4), None),)
    assert from_csv[0].tags == from_json[0].tags == ("x", "y")
    assert from_csv[0].doc_type == from_json[0].doc_type == "pdf"


def test_a_line_is_where_a_row_begins_also_after_one_of_several_lines(read):
    file = read('question,passage\n"first",some words\n"second","two\nlines"\nthird,more words\n')
    assert [question.line for question in file.questions] == [2, 3, 5]


def test_numbers_in_json_are_names_too(read):
    row = {"question": 1984, "document": 12, "page": 3}
    (question,) = read(json.dumps(row)).questions
    assert (question.text, question.targets[0].document) == ("1984", "12")


def test_columns_that_mean_nothing_are_named(read):
    assert read("question,document,answer,\nq,d,a,\n").ignored == ["answer"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ": no questions in it"),
        ("question,document\n", ": no questions in it"),
        ("where is it,a.pdf\n", ' line 1: no column "question"; the first line names'),
        ("question,document,document\nq,a,b\n", ' line 1: two columns "document"'),
        ("question,document\n,a.pdf\n", " line 2: no question"),
        ("question,document\nq,\n", " line 2: nothing expected; give a document, a passage"),
        ("question,passage,page\nq,words,3\n", " line 2: a page needs the document"),
        ("question,passage\nq,…\n", " line 2: the passage has no words"),
        ("question,document,page\n\nq,a,three\n", " line 3: 'three' is no page; use 12 or 12-14"),
        ("question,document,page\nq,a,4-2\n", " line 2: '4-2' is no page"),
        ("question,document,page\nq,a,0\n", " line 2: '0' is no page"),
        ("question,document\nwhat, when,a.pdf\n", " line 2: 3 values for 2 columns; put a value"),
        ('question,document\n"q,a.pdf\n', " line 2: not CSV: unexpected end of data"),
        (b"question,document\nq\xe4,a\n", " line 2: not UTF-8 text; save it as UTF-8"),
        (f"question,document\n{'q' * 2001},a\n", ' line 2: "question" is longer than 2,000'),
        ('{"question": "q", "document": "a"}\n{"question": \n', " line 2: not a JSON object"),
        ('[{"question": "q"}]', " line 1: not a JSON object on one line"),
        ("[" * 100_000, " line 1: not a JSON object on one line"),
        ('{"question": "q", "document": ["a"]}', ' line 1: "document" is not a text'),
        ('{"question": "q", "document": true}', ' line 1: "document" is not a text'),
        ('{"question": "\\ud800", "document": "a"}', ' line 1: "question" has half a character'),
        ('{"question": "q", "document": "a", "page": true}', " line 1: 'True' is no page"),
        ('{"question": "q", "document": "a", "tags": [1]}', ' line 1: "tags" is not a text'),
        (b"x" * (20 * 2**20 + 1), ": larger than 20 MB; split it"),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_line(read, tmp_path, content, said):
    with pytest.raises(BadQuestions) as refused:
        read(content)
    assert refused.value.message.startswith(f"{tmp_path / 'q'}{said}")
    assert "\n" not in refused.value.message


def test_too_many_questions_are_refused(read):
    lines = "".join(f"q{number},a\n" for number in range(10_001))
    with pytest.raises(BadQuestions, match="line 10002: more than 10,000 questions"):
        read(f"question,document\n{lines}")


def test_a_file_that_is_not_there_is_one_line_and_exit_code_2(kb, tmp_path):
    path = tmp_path / "gone.csv"
    assert kb("eval", str(path)) == (
        2,
        "",
        f"kb: {path}: cannot be read: No such file or directory\n",
    )


def test_standard_input_is_read_for_a_dash(kb, say):
    say("question,document\n")
    assert kb("eval", "-") == (2, "", "kb: standard input: no questions in it\n")
