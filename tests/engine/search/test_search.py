"""POST /search: what is found, in which order, and why."""

from concurrent.futures import Executor, Future

import pytest

from kb.engine.embed import DEFAULT_MODEL, Embedders, HashEmbedder, OnnxEmbedder

NOTES = {
    "Otters": "Otters\n\nThe sea otter floats on its back and cracks mussels with a stone.",
    "Herons": "Herons\n\nA grey heron stands in shallow water and waits for fish.",
    "Invoices": "Invoices\n\nPay invoice KB-1042 for the solar panels before the end of March.",
    "Passwords": "Passwords\n\nTo reset a forgotten password, follow the link in the e-mail.",
    "Bread": "Bread\n\nKnead the dough for ten minutes and let the loaf rise overnight.",
    "Cables": "Cables\n\nThe error ECONNRESET appears when the other side closes the connection.",
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory, open_api):
    """A knowledge base with the real model, for tests that only ask."""
    with open_api(tmp_path_factory.mktemp("search") / "data", embedder="minilm") as api:
        for title, text in NOTES.items():
            api.submit_note(text, tags=["note", f"about:{title.lower()}"])
        rivers = b"# Rivers\n\nOtters and herons live by rivers.\n"
        path = "/docs/nature/rivers.md"
        api.submit_file(rivers, "rivers.md", tags=["nature"], source_path=path)
        toys = b"Heron: a steam-powered toy by Heron of Alexandria.\n"
        path = "/docs/history/toys.txt"
        api.submit_file(toys, "toys.txt", tags=["history", "note"], source_path=path)
        api.engine.worker.finish_jobs()
        yield api


def unmet(kb, query, **fields):
    """The conditions that left nothing."""
    return kb.post("/search", {"query": query, **fields}).json()["unmet"]


def titles(hits):
    return [hit["title"] for hit in hits]


class AtOnce(Executor):
    """Runs in the caller's own thread, before the caller goes on."""

    def submit(self, run, /, *arguments, **options):
        future = Future()
        future.set_result(run(*arguments, **options))
        return future


class TestRanking:
    @pytest.mark.parametrize(
        ("query", "title"),
        [
            ("sea otter", "Otters"),
            ("I cannot log in any more", "Passwords"),
            ("KB-1042", "Invoices"),
            ("baking at home", "Bread"),
            ("ECONNRESET", "Cables"),
            ("bird hunting for fish", "Herons"),
        ],
    )
    def test_what_answers_comes_first(self, kb, query, title):
        assert kb.search(query)[0]["title"] == title

    @pytest.mark.parametrize("mode", [{}, {"fts_only": True}, {"vec_only": True}])
    def test_hits_are_in_order_of_relevance_between_zero_and_one(self, kb, mode):
        hits = kb.search("heron in the water", **mode)
        assert len(hits) > 1
        relevance = [hit["relevance"] for hit in hits]
        assert relevance == sorted(relevance, reverse=True)
        assert all(0 <= value <= 1 for value in relevance)
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)

    def test_words_alone_find_only_what_has_the_words(self, kb):
        assert titles(kb.search("password", fts_only=True)) == ["Passwords"]
        assert kb.search("credentials", fts_only=True) == []

    def test_vectors_alone_find_what_is_meant(self, kb):
        assert kb.search("credentials", vec_only=True)[0]["title"] == "Passwords"

    @pytest.mark.parametrize("mode", [{}, {"vec_only": True}])
    def test_a_query_that_is_embedded_before_all_else_finds_the_same(self, kb, monkeypatch, mode):
        hits = kb.search("a bird by the river", **mode)
        assert hits
        monkeypatch.setattr(kb.engine.searcher, "_legs", AtOnce())
        assert kb.search("a bird by the river", **mode) == hits

    def test_word_forms_find_each_other(self, kb):
        assert "Otters" in titles(kb.search("OTTER", fts_only=True))
        assert titles(kb.search("crack", fts_only=True)) == ["Otters"]

    def test_no_more_than_asked_for_is_returned(self, kb):
        assert len(kb.search("heron", top=1)) == 1
        assert len(kb.search("heron", top=2)) == 2
        assert 2 < len(kb.search("heron", top=100)) <= 8

    @pytest.mark.parametrize("query", ["?!", "the", '"', "*", "NEAR(a b)", "a OR", "col:x", "😀"])
    def test_any_text_is_a_query(self, kb, query):
        for mode in ({}, {"fts_only": True}, {"vec_only": True}):
            assert kb.post("/search", {"query": query, **mode}).status_code == 200


class TestAnswers:
    def test_an_answer_carries_all_that_a_reader_needs(self, kb):
        answer = kb.post("/search", {"query": "rivers", "top": 1}).json()
        assert answer["query"] == "rivers"
        assert answer["total"] == len(answer["results"]) == 1
        assert answer["took_ms"] > 0
        assert (answer["mode"], answer["degraded"]) == ("hybrid", None)
        [hit] = answer["results"]
        document = kb.document(hit["document_id"])
        for name in ("title", "filename", "doc_type", "format", "source_path", "tags"):
            assert hit[name] == document[name]
        assert hit["document_uid"] == document["uid"]
        [chunk] = [chunk for chunk in document["chunks"] if chunk["id"] == hit["chunk_id"]]
        assert (hit["chunk_uid"], hit["page"]) == (chunk["uid"], chunk["page"])
        assert hit["text"] == chunk["text"].strip()
        assert (hit["created_at"], hit["updated_at"]) == (document["created_at"], None)

    def test_highlights_are_where_the_words_of_the_query_stand(self, kb):
        [hit] = kb.search("mussel stones", fts_only=True)
        marked = [hit["text"][start:end] for start, end in hit["highlights"]]
        assert marked == ["mussels", "stone"]

    def test_highlights_count_characters_not_bytes(self, api):
        api.add_note("Grüße 😀 aus dem Süden: otters!")
        [hit] = api.search("otters")
        assert [hit["text"][start:end] for start, end in hit["highlights"]] == ["otters"]

    def test_an_explanation_adds_up_to_the_score(self, kb):
        for mode in ({}, {"fts_only": True}, {"vec_only": True}):
            for hit in kb.search("grey heron standing in water", explain=True, **mode):
                parts = hit["explain"]
                names = ("words", "vector", "neighbour", "document", "recency")
                total = sum(parts[name] for name in names)
                assert total == pytest.approx(hit["score"], abs=3e-6)
                found = [*parts["terms"].values(), *parts["pairs"].values()]
                assert sum(found) == pytest.approx(parts["words"], abs=1e-5)
                if parts["cosine"] is not None:
                    expected = max(parts["cosine"], 0) * parts["vector_weight"]
                    assert parts["vector"] == pytest.approx(expected, abs=1e-5)

    def test_nothing_is_explained_unasked(self, kb):
        assert kb.search("heron")[0]["explain"] is None

    def test_a_floor_cuts_off_what_is_less_relevant(self, kb):
        hits = kb.search("heron")
        floor = hits[1]["relevance"]
        assert kb.search("heron", min_relevance=floor) == [
            hit for hit in hits if hit["relevance"] >= floor
        ]
        assert kb.search("heron", min_relevance=1.0) == []


class TestFilters:
    @pytest.mark.parametrize(
        ("fields", "found"),
        [
            ({"tags": ["nature"]}, {"Rivers"}),
            ({"tags": ["note", "history"]}, {"toys"}),
            ({"tags": ["nature", "history"]}, set()),
            ({"tags": ["never"]}, set()),
            ({"doc_type": "markdown"}, {"Rivers"}),
            ({"doc_type": ["markdown", "text"]}, {"Rivers", "toys"}),
            ({"doc_type": "MD"}, {"Rivers"}),
            ({"doc_type": ["plain text", "markdown"]}, {"Rivers", "toys"}),
            ({"doc_type": "spreadsheet"}, set()),
            ({"format": "txt"}, {"toys"}),
            ({"format": ["md", "txt"]}, {"Rivers", "toys"}),
            ({"format": ".MD"}, {"Rivers"}),
            ({"source_path": "/docs/history/toys.txt"}, {"toys"}),
            ({"source_path": "/docs/history"}, set()),
            ({"path_prefix": "/docs/"}, {"Rivers", "toys"}),
            ({"path_prefix": "/docs/n", "tags": ["nature"]}, {"Rivers"}),
            ({"created_after": "2020-01-01", "doc_type": "text"}, {"toys"}),
            ({"created_before": "2020-01-01"}, set()),
            ({"created_after": "2999-01-01T00:00:00+02:00"}, set()),
        ],
    )
    @pytest.mark.parametrize("mode", [{}, {"fts_only": True}, {"vec_only": True}])
    def test_only_what_passes_is_found(self, kb, fields, found, mode):
        assert set(titles(kb.search("herons", **fields, **mode))) == found

    def test_a_day_includes_its_end(self, kb):
        day = kb.search("heron")[0]["created_at"][:10]
        assert kb.search("heron", created_after=day, created_before=day) == kb.search("heron")

    def test_both_ends_of_a_span_of_time_belong_to_it(self, kb):
        hit = kb.search("sea otter")[0]
        span = {"created_after": hit["created_at"], "created_before": hit["created_at"]}
        assert [found["chunk_id"] for found in kb.search("sea otter", **span)] == [hit["chunk_id"]]

    def test_filters_come_before_ranking(self, api):
        """The wanted note is worse than hundreds of others, and is found all the same."""
        store = api.engine.store
        wanted = api.add_note("A long note that names otters once. " + "Filler words. " * 30)
        api.put(f"/documents/{wanted['document_id']}/tags", {"tags": ["mine"]})
        api.add_note("\n\n".join(f"# {n}\n\n" + "Otters otters. " * 120 for n in range(100)))
        assert store.totals.current().chunks > 100
        for mode in ({}, {"fts_only": True}, {"vec_only": True}):
            hits = api.search("otters", tags=["mine"], top=5, **mode)
            assert [hit["document_id"] for hit in hits] == [wanted["document_id"]]

    def test_one_long_document_does_not_keep_others_out(self, api):
        long = api.add_note("\n\n".join(f"# {n}\n\n" + "Otters otters. " * 120 for n in range(100)))
        others = [
            api.add_note(f"Note {number} names otters once. " + "Filler words. " * 30)
            for number in range(3)
        ]
        assert long["chunk_count"] > 60
        hits = api.search("otters", per_document=1, fts_only=True)
        expected = [long["document_id"], *(other["document_id"] for other in others)]
        assert sorted(hit["document_id"] for hit in hits) == expected
        hits = api.search("otters", per_document=2, top=4, fts_only=True)
        assert [hit["document_id"] for hit in hits[:2]] == [long["document_id"]] * 2
        assert len({hit["document_id"] for hit in hits}) == 3


class TestConditions:
    def test_quoted_words_must_stand_side_by_side(self, kb):
        assert titles(kb.search('"grey heron"')) == ["Herons"]
        assert unmet(kb, '"heron grey"') == ['"heron grey"']
        assert titles(kb.search('water "sea otters"')) == ["Otters"]

    def test_a_phrase_that_goes_on_in_the_next_passage_is_found_where_it_begins(self, api):
        filler = " ".join(f"word{number}" for number in range(400))
        note = api.add_note(f"{filler} {filler[::-1]}")
        first, second, *_ = api.get(f"/documents/{note['document_id']}").json()["chunks"]
        ends, goes_on = first["text"].split()[-2:], second["text"].split()[:2]
        [hit] = api.search(f'"{" ".join(ends + goes_on)}"', fts_only=True)
        assert hit["chunk_id"] == first["id"]
        assert unmet(api, f'"{" ".join(ends[::-1] + goes_on)}"')

    def test_a_title_can_hold_what_is_quoted(self, kb):
        assert "Invoices" in titles(kb.search('"invoices"'))

    def test_an_identifier_in_quotes_is_found_however_it_is_written(self, kb):
        for query in ('"KB-1042"', '"kb 1042"', '"KB1042"'):
            assert titles(kb.search(query)) == ["Invoices"]

    def test_a_name_is_one_word_in_a_condition_and_none_of_its_parts(self, api):
        names = ("C", "C#", "C++", "e-mail", "email", ".NET")
        notes = {name: api.add_note(f"{name} for zebus")["document_id"] for name in names}

        def found(query):
            hits = {hit["document_id"] for hit in api.search(query)}
            return [name for name, note in notes.items() if note in hits]

        assert found('"C++"') == ["C++"]
        assert found('"C#"') == ["C#"]
        assert found("zebus -C++") == ["C", "C#", "e-mail", "email", ".NET"]
        assert found('"e-mail"') == found('"email"') == ["e-mail", "email"]
        assert found("zebus -e-mail") == ["C", "C#", "C++", ".NET"]
        assert found("zebus -.NET") == ["C", "C#", "C++", "e-mail", "email"]

    def test_a_word_with_a_hyphen_before_it_must_not_be_there(self, kb):
        assert {"Herons", "toys"} <= set(titles(kb.search("heron")))
        found = titles(kb.search("heron -alexandria -fish"))
        assert "Rivers" in found
        assert not {"Herons", "toys"} & set(found)
        assert "Herons" not in titles(kb.search('heron -"grey heron"'))

    def test_tags_in_the_query_join_those_of_the_request(self, kb):
        assert titles(kb.search("heron tag:nature")) == ["Rivers"]
        assert titles(kb.search("heron tag:history", tags=["note"])) == ["toys"]
        assert unmet(kb, "heron tag:history", tags=["nature"]) == ["tag:history"]
        assert unmet(kb, "heron tag:never") == ["tag:never"]
        assert unmet(kb, "-heron") == ["-heron"]  # nothing else is there to be looked for
        assert "toys" not in titles(kb.search("heron -tag:history"))

    def test_where_one_condition_leaves_nothing_the_others_still_hold(self, kb):
        query = 'water "sea otter" Tag:never'
        assert titles(kb.search(query)) == ["Otters"]
        assert unmet(kb, query) == ["Tag:never"]
        assert titles(kb.search("heron -toy “sea urchin” tag:nature")) == ["Rivers"]
        assert unmet(kb, "heron -toy “sea urchin” tag:nature") == ["“sea urchin”"]

    def test_of_two_conditions_that_leave_nothing_together_the_worse_one_goes(self, kb):
        assert titles(kb.search('"sea otter" tag:history')) == ["Otters"]
        assert unmet(kb, '"sea otter" tag:history') == ["tag:history"]
        assert unmet(kb, 'tag:history "sea otter"') == ["tag:history"]

    def test_where_no_condition_alone_leaves_nothing_all_of_them_go(self, kb):
        all_of_them = ["tag:never", "tag:neither", "-fish"]
        assert unmet(kb, "heron tag:never tag:neither -fish") == all_of_them
        assert "Herons" in titles(kb.search("heron tag:never tag:neither -fish"))
        many = [f"tag:never{number}" for number in range(20)]
        assert unmet(kb, " ".join(["heron", *many])) == many

    def test_conditions_that_are_met_or_make_no_difference_are_not_named(self, kb):
        assert unmet(kb, 'heron -toy "grey heron" tag:note') == []
        assert unmet(kb, "heron tag:never", min_relevance=1) == []
        assert kb.search("heron tag:never", min_relevance=1) == []
        assert unmet(kb, "heron tag:never", plain=True) == []
        assert unmet(kb, "zzzyyy tag:never", fts_only=True) == []

    def test_a_plain_query_has_no_conditions(self, kb):
        assert "Herons" in titles(kb.search('"heron grey"', plain=True))
        assert "toys" in titles(kb.search("heron -alexandria", plain=True))

    @pytest.mark.parametrize("mode", [{}, {"fts_only": True}, {"vec_only": True}])
    @pytest.mark.parametrize(
        "query", ['foo -bar "x', "-heron", "-", '"', 'tag:"', "tag:note", "--x -y", '"the" -the']
    )
    def test_no_query_is_an_error(self, kb, query, mode):
        answer = kb.post("/search", {"query": query, **mode})
        assert answer.status_code == 200
        assert answer.json()["query"] == query

    def test_what_is_left_out_makes_room_for_others(self, api):
        api.add_note("\n\n".join(f"# {n}\n\n" + "Otters otters. " * 120 for n in range(100)))
        wanted = api.add_note("A note that names otters and a heron once. " + "Filler words. " * 30)
        api.add_note("Otters. " + "Filler words. " * 30)
        [hit] = api.search('"otters and a heron"')
        assert hit["document_id"] == wanted["document_id"]
        hits = api.search("otters -filler", fts_only=True, top=100)
        assert len(hits) == 100
        assert wanted["document_id"] not in {hit["document_id"] for hit in hits}


def test_two_words_find_what_is_written_as_one_and_mark_it(api):
    api.submit_note("Records of the bird club: the nestbox was cleaned in March")
    for number in range(5):
        api.submit_note(f"A box for letters, number {number}, and a nest of tables")
    api.engine.worker.finish_jobs()
    best = api.search("when was the nest box cleaned", fts_only=True)[0]
    assert [best["text"][start:end] for start, end in best["highlights"]] == ["nestbox", "cleaned"]
    assert {"nest", "box"} <= set(
        api.search("nest box", fts_only=True, explain=True)[0]["explain"]["terms"]
    )


class TestNothingFits:
    @pytest.mark.parametrize("query", ["qwertz asdfgh", "xyzzy plugh", "zzzz"])
    def test_nonsense_is_answered_with_a_warning_and_all_that_is_near(self, kb, query):
        answer = kb.post("/search", {"query": query}).json()
        assert answer["nothing_fits_well"] is True
        assert len(answer["results"]) > 3
        assert not kb.post("/search", {"query": query, "fts_only": True}).json()["results"]

    @pytest.mark.parametrize(
        "query", ["sea otter", "I cannot log in any more", "baking at home", "KB-1042"]
    )
    def test_what_is_answered_carries_no_warning(self, kb, query):
        assert kb.post("/search", {"query": query}).json()["nothing_fits_well"] is False

    def test_where_nothing_is_found_nothing_fits(self, kb):
        answer = kb.post("/search", {"query": "credentials", "fts_only": True}).json()
        assert answer["results"] == []
        assert answer["nothing_fits_well"] is True


CODE = (
    "git clean -fdx takes out all that git does not know",
    "git push --no-verify leaves the hooks out, --force does more",
    "std::vector<int> numbers; numbers.push_back(5);",
    "if (list->next == NULL) return head->next;",
    "retries: 5 and timeout: 30",
    'the header "Content-Type: text/plain" is sent',
    "npm install @types/node",
    r"a number is \d+ and a word \w+",
    "#include <stdio.h>",
    "write to foo@bar.org",
    "see https://x.y/z?a=b&c=d",
    "export PATH=$HOME/bin:$PATH",
    "the lambda x => x + 1",
    "for (;;) { i++; }",
)
CODE_QUERIES = (
    ("-fdx", 0),
    ("what does git clean -fdx do", 0),
    ("--no-verify", 1),
    ("--force", 1),
    ("std::vector<int>", 2),
    ("head->next", 3),
    ("retries: 5", 4),
    ('"Content-Type: text/plain"', 5),
    ("@types/node", 6),
    (r"\d+", 7),
    ("#include <stdio.h>", 8),
    ("foo@bar.org", 9),
    ("https://x.y/z?a=b", 10),
    ("$HOME", 11),
    ("=>", 12),
    ("(;;)", 13),
)


@pytest.fixture(scope="module")
def code(tmp_path_factory, open_api):
    """Each text once, among others that have the same words without the signs."""
    with open_api(tmp_path_factory.mktemp("signs") / "data", embedder="minilm") as api:
        for text in CODE:
            api.submit_note(text)
        for text in CODE:
            words = "".join(c if c.isalnum() else " " for c in text)
            api.submit_note(f"{words}, {words}")
            api.submit_note(f"About {words}")
        api.engine.worker.finish_jobs()
        yield api


class TestSigns:
    """What is asked for with signs is found letter by letter."""

    @pytest.mark.parametrize(("query", "number"), CODE_QUERIES)
    def test_the_passage_that_has_them_comes_first(self, code, query, number):
        hits = code.search(query, plain=True)
        assert hits[0]["text"] == CODE[number]
        words_alone = code.search(query, plain=True, fts_only=True)
        assert words_alone[0]["text"] == CODE[number]

    def test_they_may_stand_on_two_lines_and_in_capitals(self, code):
        code.add_note("Then  RM\n    -rf /srv/build is run.", tags=["lines"])
        code.add_note("rm rf srv build, srv build rm rf", tags=["lines"])
        hits = code.search("rm -rf /srv/build", plain=True, tags=["lines"], explain=True)
        assert hits[0]["text"].startswith("Then")
        assert [hit["explain"]["literal"] for hit in hits] == [1.5, 0]

    @pytest.mark.parametrize(
        "query", ['where is "not running" raised', "where is `not running` raised"]
    )
    def test_what_stands_in_quotes_is_looked_for_as_it_is(self, code, query):
        code.add_note("It is raised where the engine runs, where runs are raised.", tags=["quoted"])
        code.add_note("Engine not running, said the other one at length.", tags=["quoted"])
        hits = code.search(query, plain=True, tags=["quoted"], explain=True)
        assert hits[0]["text"].startswith("Engine not running")
        assert hits[0]["explain"]["literal"] > 0 == hits[1]["explain"]["literal"]

    def test_the_whole_of_it_is_found_among_many_that_have_a_part(self, api):
        for number in range(60):
            api.add_note(f"call(request) number {number}, request after request after request")
        api.add_note(
            "Only then: if (request) is there, and much more is said that has no place here."
        )
        assert "if (request)" in api.search("if (request)", plain=True)[0]["text"]

    def test_filters_hold_for_them(self, code):
        assert code.search("--no-verify", plain=True, fts_only=True, tags=["never"]) == []

    def test_plain_language_has_none(self, code):
        query = "Which well-known hook, if any, doesn't git push use?"
        assert all(hit["explain"]["literal"] == 0 for hit in code.search(query, explain=True))


class TestNames:
    """File and folder names are words to be found by."""

    @pytest.fixture
    def shelf(self, api):
        for path in (
            "/home/anna/limits/2026/contacts.csv",
            "/home/anna/limits/speed-table.csv",
            "C:\\Users\\otto\\Harbour Dues\\fees.csv",
            "https://example.org/tariffs/air.csv",
        ):
            content = f"name,value\n{len(path)},7\n".encode()
            api.submit_file(content, path.replace("\\", "/").rsplit("/")[-1], source_path=path)
        api.submit_file(b"seven times eight", "contacts.txt")
        api.submit_note("nine times ten", source_path="memory/preferences")
        api.engine.worker.finish_jobs()
        return api

    @pytest.mark.parametrize(
        ("query", "names"),
        [
            ("contacts.csv", ["contacts.csv"]),
            ("contacts", ["contacts.csv", "contacts.txt"]),
            ("limits", ["contacts.csv", "speed-table.csv"]),
            ("speed table", ["speed-table.csv"]),
            ("harbour dues", ["fees.csv"]),
            ("tariffs", ["air.csv"]),
            ("preferences", [None]),
            ("anna", []),
            ("otto", []),
        ],
    )
    def test_a_document_is_found_by_its_name_and_the_folders_around_it(self, shelf, query, names):
        hits = shelf.search(query, fts_only=True)
        if "." in query:
            hits = hits[:1]
        assert sorted(hit["filename"] or "" for hit in hits) == sorted(n or "" for n in names)

    def test_a_new_name_takes_the_place_of_the_old_one(self, api):
        api.add_file(b"one two", "walnut.txt", source_path="shelf/of/mine")
        api.add_file(b"one two three", "hazel.txt", source_path="shelf/of/mine")
        assert api.search("walnut", fts_only=True) == []
        assert len(api.search("hazel", fts_only=True)) == 1
        assert len(api.search("shelf", fts_only=True)) == 1

    @pytest.mark.parametrize("passages", [2, 60])
    def test_a_new_title_leaves_the_names_and_both_go_with_the_document(self, api, passages):
        text = "\n\n".join(f"# {n}\n\n" + "Otters swim. " * 60 for n in range(passages))
        job = api.add_file(text.encode(), "walnut.md", source_path="/srv/cupboard/walnut.md")
        api.patch(f"/documents/{job['document_id']}", {"title": "Hazel"})
        api.settle()
        for name in ("walnut.md", "cupboard", "hazel"):
            assert api.search(name, fts_only=True, top=1), name
        api.delete(f"/documents/{job['document_id']}")
        api.settle()
        [(left,)] = api.engine.store.database.read("SELECT count(*) FROM words_docsize")
        assert left == 0


class TestRecency:
    @pytest.fixture
    def old_and_new(self, api):
        for text in ("Otters swim in the old river.", "Otters swim in the new river."):
            api.add_note(text)
        with api.engine.store.database.transaction() as query:
            query("UPDATE documents SET created_at = '2001-01-01T00:00:00.000000Z' WHERE id = 1")
        return api

    def test_it_is_off_unless_asked_for(self, old_and_new):
        for hit in old_and_new.search("otters old river", explain=True):
            assert hit["explain"]["recency"] == 0
        assert old_and_new.search("otters old river")[0]["document_id"] == 1

    def test_what_is_old_loses_half_of_its_score(self, old_and_new):
        before = {hit["document_id"]: hit for hit in old_and_new.search("otters old river")}
        first, second = old_and_new.search("otters old river", recency=30, explain=True)
        assert (first["document_id"], second["document_id"]) == (2, 1)
        assert first["score"] == pytest.approx(before[2]["score"], abs=1e-3)
        assert second["score"] == pytest.approx(before[1]["score"] / 2, abs=1e-3)
        assert second["explain"]["recency"] == pytest.approx(-second["score"], abs=1e-3)
        assert second["relevance"] < first["relevance"]

    @pytest.mark.filterwarnings("error")
    def test_a_half_life_of_nearly_nothing_makes_everything_old(self, old_and_new):
        before = {hit["document_id"]: hit for hit in old_and_new.search("otters old river")}
        for hit in old_and_new.search("otters old river", recency=5e-324):
            assert hit["score"] == pytest.approx(before[hit["document_id"]]["score"] / 2, abs=1e-3)


class TestMerging:
    @pytest.fixture
    def long(self, api):
        parts = [f"## Part {n}\n\n" + f"Otters of part {n} swim. " * 60 for n in range(3)]
        api.submit_file("\n\n".join(["# Otters", *parts]).encode(), "otters.md")
        api.engine.worker.finish_jobs()
        return api

    def test_passages_that_follow_each_other_are_one_hit(self, long):
        apart = long.search("otters swim", top=100)
        [hit] = long.search("otters swim", top=100, merge=True)
        document = long.document(hit["document_id"])
        assert hit["text"] == "".join(chunk["text"] for chunk in document["chunks"]).strip()
        assert hit["chunk_ids"] == [chunk["id"] for chunk in document["chunks"]]
        best = apart[0]
        assert (hit["chunk_id"], hit["relevance"]) == (best["chunk_id"], best["relevance"])
        marked = {hit["text"][start:end] for start, end in hit["highlights"]}
        assert marked == {"Otters", "swim"}
        assert hit["location"].startswith("lines 1–")

    def test_passages_apart_from_each_other_stay_apart(self, long):
        hits = long.search("otters part", top=2, merge=True)
        chunks = [chunk for hit in hits for chunk in hit["chunk_ids"]]
        assert len(chunks) == len(set(chunks)) == 2

    def test_unmerged_hits_name_their_only_chunk(self, long):
        for hit in long.search("otters swim"):
            assert hit["chunk_ids"] == [hit["chunk_id"]]


class TestRequests:
    @pytest.mark.parametrize(
        "body",
        [
            {"query": ""},
            {"query": "  "},
            {"query": "x" * 2001},
            {"query": 7},
            {"query": "x", "top": 0},
            {"query": "x", "top": 101},
            {"query": "x", "top": "many"},
            {"query": "x", "tags": "a"},
            {"query": "x", "min_relevance": 1.1},
            {"query": "x", "per_document": 0},
            {"query": "x", "recency": 0},
            {"query": "x", "recency": -3},
            {"query": "x", "created_after": "yesterday"},
            {"query": "x", "created_before": "2026-13-01"},
            {"query": "x", "fts_only": True, "vec_only": True},
            {"query": "x", "doc_type": []},
            {"query": "x", "limit": 3},
        ],
    )
    def test_what_cannot_be_meant_is_refused(self, kb, body):
        answer = kb.post("/search", body)
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")

    def test_the_longest_query_is_answered(self, kb):
        assert kb.post("/search", {"query": "otter " * 333}).status_code == 200

    def test_half_a_character_is_refused(self, kb):
        answer = kb.request(
            "POST",
            "/search",
            content='{"query": "half \\ud800"}',
            headers={"content-type": "application/json"},
        )
        assert answer.status_code in (400, 422)

    def test_an_empty_store_answers_with_nothing(self, api):
        for mode in ({}, {"fts_only": True}, {"vec_only": True}):
            assert api.search("otters", **mode) == []


class TestWithoutTheModel:
    @pytest.fixture
    def loading(self, api, monkeypatch):
        """The same engine while its model is still on its way."""
        api.add_note("Otters swim.")
        slow = Embedders({HashEmbedder.name: HashEmbedder})
        monkeypatch.setattr(api.engine.searcher, "_embedders", slow)
        return api

    def test_words_answer_and_say_that_something_is_missing(self, loading):
        answer = loading.post("/search", {"query": "otters"}).json()
        assert (answer["degraded"], answer["mode"]) == ("model_loading", "words")
        assert len(answer["results"]) == 1

    def test_a_search_by_words_lacks_nothing(self, loading):
        answer = loading.post("/search", {"query": "otters", "fts_only": True}).json()
        assert (answer["degraded"], len(answer["results"])) == (None, 1)

    def test_vectors_alone_are_not_to_be_had_yet(self, loading):
        answer = loading.post("/search", {"query": "otters", "vec_only": True})
        assert (answer.status_code, answer.json()["error"]) == (503, "model_loading")

    def test_vectors_alone_are_not_to_be_had_before_they_are_in_memory(self, api):
        api.engine.store._index.vectors_loaded = False
        answer = api.post("/search", {"query": "otters", "vec_only": True})
        assert answer.json()["error"] == "model_loading"

    def test_a_passage_without_a_vector_is_no_answer_by_vectors(self, api):
        first = api.add_note("Otters swim.", tags=["x"])
        second = api.add_note("Otters float.", tags=["x"])
        with api.engine.store.database.transaction() as query:
            query(
                "DELETE FROM vectors WHERE chunk_id IN "
                "(SELECT id FROM chunks WHERE document_id = :id)",
                id=first["document_id"],
            )
        hits = api.search("otters", vec_only=True, tags=["x"])
        assert [hit["document_id"] for hit in hits] == [second["document_id"]]
        assert len(api.search("otters", tags=["x"])) == 2


def test_the_model_that_ranks_here_is_the_one_that_ships(kb):
    embedder = kb.engine.embedder.current()
    assert (type(embedder), embedder.name) == (OnnxEmbedder, DEFAULT_MODEL)
