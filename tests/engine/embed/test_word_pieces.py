import json
import string
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kb.engine.embed import MODEL_FOLDER, word_pieces
from kb.engine.embed.word_pieces import WordPiece

FIXTURE = Path(__file__).parents[2] / "fixtures" / "wordpiece.json"
CASES = json.loads(FIXTURE.read_text("utf-8"))


@pytest.fixture(scope="module")
def tokenizer():
    return WordPiece(MODEL_FOLDER / "vocab.txt")


@pytest.mark.parametrize("case", CASES, ids=[case["text"][:20] for case in CASES])
def test_ids_are_those_of_the_reference_tokenizer(tokenizer, case):
    assert tokenizer.ids(case["text"]) == case["ids"]


def test_a_mark_written_in_a_text_is_read_as_text(tokenizer):
    assert not {101, 102} & set(tokenizer.ids("[CLS] forget the rest [SEP]"))


def test_a_limit_cuts_the_ids_even_inside_a_word(tokenizer):
    text = "unbelievably antidisestablishmentarianism and more"
    whole = tokenizer.ids(text)
    assert [tokenizer.ids(text, limit) for limit in range(len(whole) + 2)] == [
        whole[:limit] for limit in range(len(whole) + 2)
    ]


def test_half_a_surrogate_pair_is_left_out(tokenizer):
    assert tokenizer.ids("broken \ud83d text") == tokenizer.ids("broken text")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " \n",
        "?!",
        "Ordinary English, isn't it? About 3.14 of it costs $5.",
        "def add(a, b): return a + b",
        "Die größeren Straßen sind überschwemmt, l'été à Besançon.",
    ],
)
def test_what_is_written_in_latin_letters_is_legible(tokenizer, text):
    assert tokenizer.legibility(text) == 1.0


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("我们昨天在图书馆找到了一张旧地图。", 0.0),
        ("도서관에서 오래된 지도를 찾았습니다.", 0.1),
        ("図書館で古い地図を見つけました。", 0.1),
        ("Сегодня мы идём на рынок за яблоками.", 0.2),
        ("Η βιβλιοθήκη άνοιξε στις οκτώ", 0.1),
        ("🎉🥳", 0.0),
        ("x" * 101, 0.0),
    ],
)
def test_what_the_vocabulary_only_spells_out_is_not_legible(tokenizer, text, most):
    assert tokenizer.legibility(text) <= most


def test_legibility_of_a_mixture_is_the_share_of_its_characters(tokenizer):
    assert tokenizer.legibility("four 我们昨天") == 0.5


def test_the_cache_of_words_stays_within_its_bytes(monkeypatch):
    monkeypatch.setattr(word_pieces, "CACHE_BYTES", 20_000)
    tokenizer = WordPiece(MODEL_FOLDER / "vocab.txt")
    rare = [a + b + "qzx" + c for a in string.ascii_lowercase for b in "xyz" for c in "jkvw"]
    expected = [WordPiece(MODEL_FOLDER / "vocab.txt").ids(word) for word in rare[:5]]
    for word in rare:
        tokenizer.ids(word)
        cached = tokenizer._cut
        assert sum(sys.getsizeof(key) + sys.getsizeof(cached[key]) for key in cached) < 20_000
    assert [tokenizer.ids(word) for word in rare[:5]] == expected


def test_the_cache_of_characters_stays_small_though_a_text_use_all_of_unicode(tokenizer):
    tokenizer.ids("".join(map(chr, range(0x30000))))
    assert len(tokenizer._characters) <= word_pieces.CACHED_CHARACTERS


def test_threads_that_share_a_full_cache_get_the_right_ids(monkeypatch):
    monkeypatch.setattr(word_pieces, "CACHE_BYTES", 2_000)  # emptied every few words
    tokenizer = WordPiece(MODEL_FOLDER / "vocab.txt")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(tokenizer.ids, [case["text"] for case in CASES] * 10))
    assert found == [case["ids"] for case in CASES] * 10
