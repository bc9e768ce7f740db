from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.engine.text import terms as terms_module
from kb.engine.text.terms import (
    Places,
    adjacent_pairs,
    query_terms,
    terms,
    written_together,
)
from proportion import assert_in_proportion

FRAGMENTS = """
    word KB-1042 été Ёлка 北京大学 ｶﾞ ไทย हिन्दी x² ½ Ⅷ ﷺ İ ß 😀 ' ’ - . _ @ # ++
"""
SCRIPTS = st.sampled_from([*FRAGMENTS.split(), " ", "\n", "\0", "\ud800", "\u0301", "\u00ad"])
TEXTS = st.one_of(st.text(), st.lists(SCRIPTS).map("".join))


def term_spans(text):
    """The terms, each with where it stands in the text; several may share a place."""
    tokens = terms_module._TOKEN.finditer(text)
    pieces = [terms_module._token_pieces(match[0], match.start()) for match in tokens]
    found = [piece for token in pieces for piece in token.parts]
    found += [piece for token in pieces for piece in token.wholes]
    return [(piece.term, piece.start, piece.end) for piece in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("KB-1042", ["kb", "1042", "kb1042"]),
        ("KB\u20111042", ["kb", "1042", "kb1042"]),
        ("kb_1042", ["kb", "1042", "kb1042"]),
        ("KB1042", ["kb", "1042", "kb1042"]),
        ("foo_bar.baz", ["foo", "bar", "baz", "foobarbaz"]),
        ("fooBarBaz", ["foo", "bar", "baz", "foobarbaz"]),
        ("__init__", ["init"]),
        ("parseHTTPResponse", ["pars", "http", "respon", "parsehttprespon"]),
        ("iPhones", ["i", "phone", "iphon"]),
        ("iphones", ["iphon"]),
        ("URLs", ["url"]),
        ("PDFs", ["pdf"]),
        ("jane.doe@example.org", ["jane", "doe", "exampl", "org", "janedoexampleorg"]),
        ("3.14", ["3", "14", "3.14"]),
        ("v1.2.3", ["1", "2", "3", "1.2.3"]),
        ("192.168.0.1", ["192", "168", "0", "1", "19216801"]),
        ("utf-8", ["utf", "8", "utf8"]),
        ("e-mail", ["e", "mail", "email"]),
        ("O’Brien", ["o", "brien", "obri"]),
        ("boundary-layer", ["boundari", "layer"]),
        ("1,048,576", ["1048576"]),
        ("$1,250.50", ["1250", "50", "1250.50"]),
        ("1.048.576", ["1", "048", "576", "1048576"]),
        ("12,34", ["12", "34"]),
        ("1,23,456", ["1", "23", "456"]),
        ("978-3-16-148410-0", ["978", "3", "16", "148410", "0", "9783161484100"]),
        ("2026-11-03", ["2026", "11", "03", "20261103"]),
        ("the 1990s", ["the", "1990"]),
        ("19th", ["19", "19th"]),
        ("state-of-the-art", ["state", "of", "the", "art"]),
        ("C++ and C#", ["c", "and", "c", "c++", "c#"]),
        ("R&D", ["r", "d", "rd"]),
        ("U.S.A.", ["usa"]),
        ("well...and 1990--2000", ["well", "and", "1990", "2000"]),
        ("da39a3ee5e6b4b0d", ["da39a3ee5e6b4b0d"]),
    ],
)
def test_names_and_numbers_are_findable_whole_and_in_parts(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("generations", ["generat"]),
        ("John’s don't", ["john", "dont"]),
        ("l’homme", ["homm"]),
        ("café CAFÉ cafe\u0301 cafe", ["cafe"] * 4),
        ("Straße Øre ﬁne", ["strass", "ore", "fine"]),
        ("co\u00adoperate", ["coop"]),
        ("“quoted”—dash", ["quot", "dash"]),
        ("Университета университет", ["университет"] * 2),
        ("ёлка елка", ["елк"] * 2),
        ("Άνθρωπος ανθρωπος", ["ανθρωπ"] * 2),
        ("Müller Mueller Muller", ["mull"] * 3),
        ("Verordnungen Verordnung", ["verordn"] * 2),
        ("العَرَبِيَّة العربية", ["عرب"] * 2),
        ("مكتبه مكتبة", ["مكتب"] * 2),
        ("हिन्दी", ["हिन्द"]),
        ("ｆｕｌｌ １２ ١٢", ["full", "12", "12"]),
        ("10² m² CO₂", ["10", "2", "m", "2", "co", "2"]),
        ("北京大学", ["北京", "京大", "大学", "北", "京", "大", "学"]),
        ("ｶﾞ ガ", ["ガ", "ガ"]),
        ("ไทย", ["ไท", "ทย", "ไ", "ท", "ย"]),
        ("서울에", ["서울", "울에", "서", "울", "에"]),
        ("iPhone手机", ["i", "phone", "手机", "iphon", "手", "机"]),
    ],
)
def test_words_are_folded_and_stemmed_by_their_script(text, expected):
    assert terms(text) == expected


@given(TEXTS)
def test_spans_lie_in_the_text_and_carry_the_same_terms(text):
    spans = term_spans(text)
    assert [term for term, _, _ in spans] == terms(text)
    assert all(0 <= start < end <= len(text) for _, start, end in spans)


@given(TEXTS)
def test_terms_are_short_lower_case_and_clean(text):
    for term in terms(text):
        assert 1 <= len(term) <= 64
        assert not any(c.isspace() or c == "\0" or "\ud800" <= c <= "\udfff" for c in term)
        assert not any("A" <= c <= "Z" for c in term)


def test_a_span_is_the_part_it_names():
    text = "see KB-1042 in parseHTTP"
    places = {term: text[start:end] for term, start, end in term_spans(text)}
    assert places["1042"] == "1042"
    assert places["kb1042"] == "KB-1042"
    assert places["http"] == "HTTP"
    assert places["parsehttp"] == "parseHTTP"


@given(TEXTS)
def test_the_places_of_wanted_terms_are_their_spans(text):
    spans = term_spans(text)
    wanted = frozenset(term for term, _, _ in spans[::2])
    found = [(a, b) for term, a, b in spans if term in wanted]
    assert sorted(Places(wanted).within(text)) == sorted(found)


def test_a_word_is_marked_whose_stem_leaves_out_a_letter():
    text = "Poetry by Juergen Kroeger"
    for query in ("poetry", "Jürgen", "kröger"):
        [(start, end)] = Places(query_terms(query)).within(text)
        assert text[start:end] in text.split()


def test_stop_words_are_dropped_from_a_query_unless_nothing_else_is_there():
    assert query_terms("What is the capital of France?") == ["capit", "franc"]
    assert query_terms("To be or not to be") == ["to", "be", "or", "not"]
    assert query_terms("Wann wurde das Schloss gebaut") == ["schloss", "gebaut"]
    assert query_terms("Когда был построен замок") == ["постро", "замок"]


def test_words_of_other_languages_that_mean_something_in_english_stay():
    assert query_terms("soldiers who die in war") == ["soldi", "die", "war"]
    assert query_terms("comment on the eu era of sin") == ["comment", "eu", "era", "sin"]
    assert query_terms("MIT licence") == ["mit", "licenc"]


def test_capitals_make_a_name_of_a_stop_word_unless_everything_is_in_capitals():
    assert query_terms("guidelines of the WHO") == ["guidelin", "who"]
    assert query_terms("GUIDELINES OF THE WHO") == ["guidelin"]
    assert query_terms("cats AND dogs") == ["cat", "dog"]


def test_query_terms_keep_their_order_come_once_and_are_capped():
    assert query_terms("red blue red green") == ["red", "blue", "green"]
    assert len(query_terms(" ".join(f"word{i}x" for i in range(100)))) == 32


def test_pairs_are_words_side_by_side_in_the_query():
    assert adjacent_pairs("history of the steam engine") == [("steam", "engin")]
    assert adjacent_pairs("to be") == [("to", "be")]
    assert adjacent_pairs("engine") == []
    assert adjacent_pairs("北京大学") == []


def test_a_query_has_a_bounded_number_of_pairs():
    words = [f"{letter}alder" for letter in "bcdfghjklmnpqrstvwz"]
    query = " ".join(f"{one} {other}" for one in words for other in words)
    assert len(adjacent_pairs(query)) == 64


def test_the_pairs_of_a_name_hold_in_text_written_with_and_without_its_hyphen():
    pairs = adjacent_pairs("KB-1042 crashes")
    assert pairs == [("kb", "1042"), ("1042", "crash")]
    for text in ("the KB-1042 crashes", "the KB 1042 crashes", "why kb1042 crashed"):
        assert set(pairs) <= set(pairwise(terms(text)))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("zones added at run time", "runtime"),
        ("best buy in 2023", "BESTBUY_2023.pdf"),
        ("the Time Zone of a user", "timezones"),
        ("a time-zone", "TimeZone"),
    ],
)
def test_two_words_of_a_query_are_also_looked_for_as_one(query, text):
    assert not {*written_together(query).values()}.isdisjoint(terms(text))


@pytest.mark.parametrize("query", ["to be", "run at time", "1042 crashes", "go home", "北京大学"])
def test_words_that_are_short_or_apart_or_no_words_are_not_put_together(query):
    assert written_together(query) == {}


@given(TEXTS)
def test_what_is_written_together_are_pairs_and_no_term_that_is_asked_for_anyway(query):
    found = written_together(query)
    assert set(found) <= set(adjacent_pairs(query))
    assert set(found.values()).isdisjoint(query_terms(query))


@given(TEXTS)
def test_pairs_only_hold_query_terms_and_stand_side_by_side_in_the_terms_of_the_query(text):
    found = terms(text)
    neighbours = set(pairwise(found))
    for pair in adjacent_pairs(text):
        assert pair in neighbours
        assert set(pair) <= set(query_terms(text))


def test_threads_get_the_same_terms(monkeypatch):
    monkeypatch.setattr(terms_module, "_cache", terms_module._Cache())
    text = " ".join(f"generations{i} nationalities{i} университета" for i in range(300))
    expected = terms(text)
    monkeypatch.setattr(terms_module, "_cache", terms_module._Cache())
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(terms, [text] * 4)) == [expected] * 4


def test_the_cache_stays_within_its_size(monkeypatch):
    monkeypatch.setattr(terms_module, "_CACHE_SIZE", 100)
    terms(" ".join(f"word{i}" for i in range(1_000)))
    assert len(terms_module._cache) <= 100


@pytest.mark.parametrize(
    "unit",
    [
        *("a", "a.", "a-", "-", "'", "#", "A1", "é", "中", "aÄ中я"),
        *("\u0301", "\u0315\u0300", "ก\u0e38\u0e48"),
    ],
)
def test_hostile_text_takes_time_in_proportion_to_its_length(unit):
    assert_in_proportion(lambda length: terms(unit * (length // len(unit))), 5_000)
