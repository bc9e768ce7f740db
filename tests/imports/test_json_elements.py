import json

import pytest

from kb.imports import json_elements
from kb.imports.json_elements import BadJson, elements


def written(folder, text: str):
    path = folder / "list.json"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(params=[1, 7, 1 << 20])
def _block(request, monkeypatch):
    monkeypatch.setattr(json_elements, "_BLOCK", request.param)


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize(
    "values",
    [
        [],
        [{"a": 1}],
        [{"text": 'äöü \U0001f600 "quoted" \\ [{,}]', "n": [1, 2.5, None, True]}] * 9,
        [{"a": {"b": [{"c": "x" * 500}]}}, {}, {"d": ""}],
    ],
)
def test_elements_come_one_by_one_however_the_file_is_cut(tmp_path, values):
    plain, spaced = json.dumps(values), json.dumps(values, indent=2, ensure_ascii=False)
    for text in (plain, spaced, "\ufeff" + spaced):
        assert list(elements(written(tmp_path, text))) == values


def test_a_single_object_is_itself(tmp_path):
    assert list(elements(written(tmp_path, ' {"a": 1} '))) == [{"a": 1}]


@pytest.mark.usefixtures("_block")
@pytest.mark.parametrize(
    "text",
    [
        '[{"a": 1}, {"b": 2]',
        '[{"a": 1} {"b": 2}]',
        '[{"a": 1}, {"b": "cut',
        '[{"a": 1}, ',
        '[{"a": 1}',
        '[{"a": 1}, nonsense and much more of it behind that]',
    ],
)
def test_what_stands_before_a_mistake_is_read(tmp_path, text):
    values = elements(written(tmp_path, text))
    assert next(values) == {"a": 1}
    with pytest.raises(BadJson):
        next(values)


@pytest.mark.parametrize("text", ["", "   ", '"text"', "12", "PK\x03\x04"])
def test_anything_but_a_list_or_an_object_is_refused(tmp_path, text):
    with pytest.raises(BadJson):
        list(elements(written(tmp_path, text)))


def test_deep_nesting_is_refused_and_not_a_crash(tmp_path):
    with pytest.raises(BadJson):
        list(elements(written(tmp_path, "[" + "[" * 100_000)))


def test_one_value_of_endless_length_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(json_elements, "_LONGEST_VALUE", 1_000)
    monkeypatch.setattr(json_elements, "_BLOCK", 100)
    with pytest.raises(BadJson, match="more than 1,000 characters"):
        list(elements(written(tmp_path, '["' + "x" * 10_000)))
