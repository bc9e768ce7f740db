"""Documents as callers see them: reading, listing, changing, tagging, deleting."""

import hashlib
import uuid

import pytest

from kb.kinds import DOC_TYPES, UnknownKind

FIELDS = {
    "id",
    "uid",
    "title",
    "filename",
    "doc_type",
    "format",
    "source_path",
    "origin",
    "tags",
    "metadata",
    "content_hash",
    "size_bytes",
    "chunk_count",
    "processing_method",
    "processing_status",
    "how_read",
    "created_at",
    "updated_at",
}
LONG_AGO = "2020-01-01T00:00:00.000000Z"


def listed(api, query=""):
    answer = api.get(f"/documents{query}")
    assert answer.status_code == 200, answer.text
    return [document["title"] for document in answer.json()["documents"]]


def add(api, title, **fields):
    job = api.add_note(f"{title} is what this note is about.", title=title, **fields)
    return job["document_id"]


def test_a_file_is_kept_with_all_that_was_said_about_it(api):
    content = b"# Herons\n\nThey stand and wait.\n"
    said = {"tags": ["bird", "river"], "source_path": "/home/me/heron.md"}
    job = api.add_file(content, "heron.md", **said, metadata='{"author": "me"}')
    document = api.document(job["document_id"])
    assert set(document) == FIELDS | {"text", "chunks"}
    assert {name: document[name] for name in said} == said
    assert document["metadata"]["author"] == "me"
    known = ("filename", "doc_type", "format", "processing_status")
    assert [document[name] for name in known] == ["heron.md", "markdown", "md", "completed"]
    assert document["content_hash"] == hashlib.sha256(content).hexdigest()
    assert (document["size_bytes"], document["updated_at"], document["text"]) == (31, None, None)
    assert document["chunk_count"] == len(document["chunks"]) == job["chunk_count"]
    [chunk] = document["chunks"]
    assert set(chunk) >= {"id", "uid", "seq", "text", "page", "location"}
    assert "They stand and wait." in chunk["text"]


def test_what_is_known_about_a_document_can_be_had_without_its_passages(api):
    note = api.add_note("About otters.")["document_id"]
    file = api.add_file(b"About herons.\n", "heron.txt")["document_id"]
    for key in (note, file):
        whole = api.document(key)
        short = api.get(f"/documents/{key}?chunks=false").json()
        assert short == whole | {"chunks": [], "text": None}
        assert short["chunk_count"] == 1
    assert api.get(f"/documents/{file}?chunks=true").json() == whole


def test_an_empty_store_lists_nothing(api):
    assert api.get("/documents").json() == {"documents": [], "total": 0, "limit": 50, "offset": 0}
    assert api.get("/tags").json() == {"tags": [], "total": 0}


def test_a_uid_works_wherever_an_id_does(api):
    job = api.add_file(b"About herons.\n", "heron.txt", tags=["bird"])
    note = api.add_note("About otters.")
    uid, note_uid = job["document_uid"], note["document_uid"]
    assert uuid.UUID(uid).version == 4
    assert api.document(uid) == api.document(job["document_id"])
    assert api.get(f"/documents/{uid}/file").content == b"About herons.\n"
    assert api.patch(f"/documents/{uid}", {"title": "Herons"}).json()["title"] == "Herons"
    assert api.put(f"/documents/{uid}/tags", {"tags": ["a"]}).json()["tags"] == ["a"]
    assert api.post(f"/documents/{uid}/tags", {"tags": ["b"]}).json()["tags"] == ["a", "b"]
    assert api.delete(f"/documents/{uid}/tags", {"tags": ["a"]}).json()["tags"] == ["b"]
    assert api.patch(f"/notes/{note_uid}", {"text": "Voles."}).json()["text"] == "Voles."
    assert api.job(job["uid"])["id"] == job["id"]
    assert api.delete(f"/documents/{uid}").json()["document_id"] == job["document_id"]
    assert api.get(f"/documents/{uid}").status_code == 404


def test_any_uuid_is_looked_for_in_small_and_in_capital_letters(api):
    job = api.add_note("About otters.")
    assert api.document(job["document_uid"].upper())["id"] == job["document_id"]
    assert api.job(job["uid"].upper())["id"] == job["id"]
    for unknown in (uuid.uuid1(), uuid.UUID(int=0), str(uuid.uuid4()).upper()):
        for kind in ("document", "job"):
            answer = api.get(f"/{kind}s/{unknown}")
            assert (answer.status_code, answer.json()["error"]) == (404, f"{kind}_not_found")


def test_ids_are_never_used_twice(api):
    first = add(api, "First")
    api.delete(f"/documents/{first}")
    assert add(api, "Second") > first


class TestListing:
    def test_the_latest_change_comes_first(self, api):
        first, second, third = (add(api, title) for title in ("One", "Two", "Three"))
        assert listed(api) == ["Three", "Two", "One"]
        api.patch(f"/documents/{first}", {"metadata": {"seen": True}})
        assert listed(api) == ["One", "Three", "Two"]
        assert [second, third] == [first + 1, first + 2]

    @pytest.mark.parametrize(
        ("query", "titles"),
        [
            ("?sort=created", ["b", "C", "a"]),
            ("?sort=created&order=asc", ["a", "C", "b"]),
            ("?sort=title&order=asc", ["a", "b", "C"]),
            ("?sort=title", ["C", "b", "a"]),
            ("?sort=size&order=asc", ["a", "C", "b"]),
            ("?sort=filename&order=asc", ["C", "a", "b"]),
        ],
    )
    def test_every_order_can_be_asked_for(self, api, query, titles):
        api.add_file(b"1\n", "y.txt", title="a")
        api.add_file(b"12\n", "X.txt", title="C")
        api.add_file(b"123\n", "z.txt", title="b")
        assert listed(api, query) == titles

    def test_notes_stand_among_the_names_of_files_by_their_titles(self, api):
        add(api, "zebra")
        api.add_file(b"1\n", "middle.txt", title="m")
        add(api, "Ant")
        assert listed(api, "?sort=filename&order=asc") == ["Ant", "m", "zebra"]

    def test_pages_follow_each_other_without_gap_or_overlap(self, api):
        titles = [f"Title {number}" for number in range(7)]
        for title in titles:
            add(api, title)
        pages = [api.get(f"/documents?limit=3&offset={offset}").json() for offset in (0, 3, 6, 9)]
        assert [len(page["documents"]) for page in pages] == [3, 3, 1, 0]
        assert {page["total"] for page in pages} == {7}
        shown = [document["title"] for page in pages for document in page["documents"]]
        assert shown == titles[::-1]

    def test_filters_narrow_the_list_and_the_total(self, api):
        api.add_file(b"1\n", "a.txt", title="A", tags=["x"], source_path="/docs/a.txt")
        api.add_file(b"# 2\n", "b.md", title="B", tags=["x", "y"], source_path="/docs/b.md")
        add(api, "C", tags=["y"], source_path="/docs2/c")
        add(api, "D")
        assert listed(api, "?tag=x") == ["B", "A"]
        assert listed(api, "?tag=x&tag=y") == ["B"]
        assert listed(api, "?tag=z") == []
        assert listed(api, "?doc_type=note") == ["D", "C"]
        assert listed(api, "?format=md") == ["B"]
        assert listed(api, "?source_path=/docs/a.txt") == ["A"]
        assert listed(api, "?source_path=/docs") == []
        assert listed(api, "?path_prefix=/docs/") == ["B", "A"]
        assert listed(api, "?path_prefix=/docs") == ["C", "B", "A"]
        assert api.get("/documents?tag=x&limit=1").json()["total"] == 2

    def test_a_kind_is_named_by_any_word_for_it_in_any_case(self, api):
        api.add_file(b"a,b\n1,2\n3,4\n", "t.csv", title="T")
        api.add_file(b"# M\n\nText.", "m.md", title="M")
        assert listed(api, "?doc_type=spreadsheet") == ["T"]
        assert listed(api, "?doc_type=CSV") == ["T"]
        assert listed(api, "?doc_type=Tables") == ["T"]
        assert listed(api, "?doc_type=md") == ["M"]
        assert listed(api, "?doc_type=document") == ["M"]

    @pytest.mark.parametrize("path", ["/documents?doc_type=foo", "/stats?doc_type=foo", "/search"])
    def test_an_unknown_kind_is_refused_with_the_list_in_the_same_words(self, api, path):
        body = {"query": "x", "doc_type": ["pdf", "foo"]}
        answer = api.post(path, body) if path == "/search" else api.get(path)
        [field] = answer.json()["fields"]
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
        assert answer.json()["message"] == f"doc_type: {UnknownKind()}"
        assert field == {"field": "doc_type", "message": str(UnknownKind())}

    def test_the_kinds_are_told_with_the_words_for_them(self, api):
        kinds = api.get("/kinds").json()["kinds"]
        assert [kind["doc_type"] for kind in kinds] == list(DOC_TYPES)
        named = {kind["doc_type"]: kind for kind in kinds}
        assert named["xlsx"]["name"] == "Excel"
        assert "spreadsheet" in named["xlsx"]["synonyms"]
        assert "spreadsheet" in named["csv"]["synonyms"]

    def test_a_format_is_found_by_any_spelling_of_its_ending(self, api):
        api.add_file(b"<h1>W</h1><p>Words in a paragraph of a page.</p>", "w.htm", title="W")
        assert listed(api, "?format=htm") == listed(api, "?format=.HTML") == ["W"]

    def test_a_value_that_looks_like_sql_is_only_a_value(self, api):
        add(api, "Safe", tags=["it's 100% \" OR TRUE --"])
        assert listed(api, "?tag=x' OR '1'='1") == []
        assert listed(api, "?path_prefix=%25") == []
        assert api.get("/documents", params={"tag": "it's 100% \" OR TRUE --"}).json()["total"] == 1


class TestChanging:
    def test_updated_at_is_null_until_something_changes(self, api):
        document_id = add(api, "Otters")
        assert api.document(document_id)["updated_at"] is None
        changed = api.patch(f"/documents/{document_id}", {"title": "Sea otters"}).json()
        assert changed["updated_at"] > changed["created_at"]

    def test_a_new_title_is_found_and_the_old_one_is_not(self, api):
        document_id = add(api, "Wombats")
        text = "Nothing but this."
        api.patch(f"/notes/{document_id}", {"text": text, "title": "Wombats"})
        assert api.search("platypus", fts_only=True) == []
        api.patch(f"/documents/{document_id}", {"title": "Platypus"})
        [hit] = api.search("platypus", fts_only=True)
        assert (hit["title"], hit["text"]) == ("Platypus", text)
        assert api.search("wombats", fts_only=True) == []

    def test_metadata_is_replaced_whole_and_the_title_stays(self, api):
        document_id = add(api, "Otters", metadata={"a": 1, "b": 2})
        changed = api.patch(f"/documents/{document_id}", {"metadata": {"c": [3, None]}}).json()
        assert changed["metadata"] == {"c": [3, None]}
        assert changed["title"] == "Otters"

    @pytest.mark.parametrize(
        "body",
        [
            {},
            {"title": ""},
            {"title": "   "},
            {"title": "two\nlines"},
            {"title": "x" * 501},
            {"metadata": []},
            {"metadata": {"x" * 201: 1}},
            {"text": "not here"},
        ],
    )
    def test_what_cannot_be_used_changes_nothing(self, api, body):
        document_id = add(api, "Otters")
        answer = api.patch(f"/documents/{document_id}", body)
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
        assert api.document(document_id)["updated_at"] is None

    @pytest.mark.parametrize(
        "body",
        [
            *(f'{{"metadata": {{"x": {number}}}}}' for number in ("NaN", "Infinity", "-1e999")),
            '{"metadata": {"x": 1e999}}',
            '{"metadata": {"x": "\\ud800"}}',
            '{"title": "\\ud800"}',
        ],
    )
    def test_numbers_that_are_none_and_half_characters_are_refused(self, api, body):
        path = f"/documents/{add(api, 'Otters')}"
        answer = api.send("PATCH", path, body)
        assert answer.status_code in ((422,) if "ud800" in body else (400, 422))
        assert api.get(path).status_code == 200


class TestTags:
    def test_tags_are_replaced_added_and_removed(self, api):
        document_id = add(api, "Otters", tags=["a", "b"])
        path = f"/documents/{document_id}/tags"
        assert api.post(path, {"tags": ["c", "a"]}).json()["tags"] == ["a", "b", "c"]
        assert api.delete(path, {"tags": ["b", "never there"]}).json()["tags"] == ["a", "c"]
        assert api.put(path, {"tags": ["z", "z"]}).json()["tags"] == ["z"]
        assert api.put(path, {"tags": []}).json()["tags"] == []

    def test_tags_are_added_and_removed_in_one_change(self, api):
        document_id = add(api, "Otters", tags=["a", "b"])
        path = f"/documents/{document_id}"
        change = {"add_tags": ["c"], "remove_tags": ["b", "never there"]}
        changed = api.patch(path, change).json()
        assert (changed["tags"], changed["title"]) == (["a", "c"], "Otters")
        assert changed["updated_at"] is not None
        assert api.patch(path, change).json()["updated_at"] == changed["updated_at"]
        assert "b" not in [each["tag"] for each in api.get("/tags").json()["tags"]]

    def test_a_note_gets_its_new_text_and_tags_together_or_not_at_all(self, api):
        document_id = add(api, "Otters", tags=["old"])
        change = {"text": "Seals.", "add_tags": ["new"], "remove_tags": ["old"]}
        late = api.patch(f"/notes/{document_id}", change | {"if_updated_at": LONG_AGO})
        assert late.status_code == 409
        assert api.document(document_id)["tags"] == ["old"]
        changed = api.patch(f"/notes/{document_id}", change).json()
        assert (changed["text"], changed["tags"]) == ("Seals.", ["new"])
        assert api.search("seals", tags=["new"])
        assert api.search("seals", tags=["old"]) == []

    def test_a_change_that_came_too_late_changes_nothing(self, api):
        document_id = add(api, "Otters", tags=["a"])
        seen = api.document(document_id)["created_at"]
        change = {"add_tags": ["b"], "if_updated_at": seen}
        assert api.patch(f"/documents/{document_id}", change).status_code == 200
        late = api.patch(f"/documents/{document_id}", change | {"title": "Seals"})
        assert (late.status_code, late.json()["error"]) == (409, "conflict")
        assert api.document(document_id)["title"] == "Otters"

    @pytest.mark.parametrize(
        ("route", "body"),
        [
            ("documents", {"add_tags": ["a"], "remove_tags": ["a"]}),
            ("notes", {"text": "x", "add_tags": ["a"], "remove_tags": [" a "]}),
            ("documents", {"add_tags": [], "remove_tags": []}),
            ("documents", {"if_updated_at": LONG_AGO}),
            ("documents", {"add_tags": [" "]}),
        ],
    )
    def test_a_change_of_tags_that_says_nothing_clear_is_refused(self, api, route, body):
        document_id = add(api, "Otters", tags=["kept"])
        assert api.patch(f"/{route}/{document_id}", body).status_code == 422
        assert api.document(document_id)["tags"] == ["kept"]

    def test_a_change_of_tags_sets_updated_at_and_none_does_not(self, api):
        document_id = add(api, "Otters", tags=["a", "b"])
        path = f"/documents/{document_id}/tags"
        assert api.post(path, {"tags": ["a"]}).json()["updated_at"] is None
        assert api.put(path, {"tags": ["b", "a"]}).json()["updated_at"] is None
        assert api.delete(path, {"tags": ["c"]}).json()["updated_at"] is None
        assert api.post(path, {"tags": ["c"]}).json()["updated_at"] is not None

    def test_every_tag_is_listed_with_its_count_and_forgotten_with_its_last_document(self, api):
        first = add(api, "One", tags=["a", "agent:mybot"])
        add(api, "Two", tags=["a"])
        assert api.get("/tags").json() == {
            "tags": [{"tag": "a", "count": 2}, {"tag": "agent:mybot", "count": 1}],
            "total": 2,
        }
        api.delete(f"/documents/{first}")
        assert api.get("/tags").json()["tags"] == [{"tag": "a", "count": 1}]

    @pytest.mark.parametrize(
        "tags", [None, "a", [1], [""], [" "], ["a\nb"], ["x" * 201], ["x"] * 101, {"a": 1}]
    )
    def test_what_is_no_list_of_tags_is_refused(self, api, tags):
        document_id = add(api, "Otters", tags=["kept"])
        for method in ("PUT", "POST", "DELETE"):
            answer = api.request(method, f"/documents/{document_id}/tags", json={"tags": tags})
            assert answer.status_code == 422
        assert api.document(document_id)["tags"] == ["kept"]

    def test_tags_of_nothing_are_not_found(self, api):
        for method in ("PUT", "POST", "DELETE"):
            answer = api.request(method, "/documents/17/tags", json={"tags": ["a"]})
            assert answer.json()["error"] == "document_not_found"


class TestOriginals:
    def test_an_original_comes_back_as_an_attachment_byte_for_byte(self, api):
        content = "Grüße\r\n".encode() * 1000
        job = api.add_file(content, 'grüße "1".txt')
        answer = api.get(f"/documents/{job['document_id']}/file")
        assert answer.content == content
        assert answer.headers["content-disposition"].startswith("attachment; ")
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["x-content-type-options"] == "nosniff"

    def test_a_note_has_no_original(self, api):
        answer = api.get(f"/documents/{add(api, 'Otters')}/file")
        assert (answer.status_code, answer.json()["error"]) == (404, "file_not_stored")

    def test_an_original_that_is_gone_from_the_disk_is_said_to_be(self, api):
        job = api.add_file(b"About herons.\n")
        for path in api.engine.files.folder.iterdir():
            path.unlink()
        answer = api.get(f"/documents/{job['document_id']}/file")
        assert (answer.status_code, answer.json()["error"]) == (404, "file_missing")
        assert "file.txt" in answer.json()["message"]

    @pytest.mark.parametrize("range_", ["bytes=2-4", "bytes=90-", "bytes=4-2", "lines=1-2", "x"])
    def test_an_original_is_always_sent_whole(self, api, range_):
        job = api.add_file(b"0123456789\n")
        answer = api.get(f"/documents/{job['document_id']}/file", headers={"range": range_})
        assert (answer.status_code, answer.content) == (200, b"0123456789\n")
        assert answer.headers["accept-ranges"] == "none"


class TestDeleting:
    def test_a_deleted_document_is_gone_from_everywhere(self, api):
        keep = add(api, "Kept zebra")
        job = api.add_file(b"The zebra grazes.\n", "zebra.txt", tags=["animal"])
        answer = api.delete(f"/documents/{job['document_id']}").json()
        assert answer == {
            "status": "deleted",
            "document_id": job["document_id"],
            "title": "zebra",
            "chunks_removed": 1,
        }
        assert api.get(f"/documents/{job['document_id']}").status_code == 404
        assert api.get(f"/documents/{job['document_id']}/file").status_code == 404
        assert {hit["document_id"] for hit in api.search("zebra")} == {keep}
        assert {hit["document_id"] for hit in api.search("zebra", vec_only=True)} == {keep}
        assert listed(api) == ["Kept zebra"]
        assert api.get("/tags").json()["total"] == 0
        assert api.engine.files.names() == set()
        assert api.delete(f"/documents/{job['document_id']}").status_code == 404

    @pytest.mark.parametrize("kind", ["note", "file"])
    def test_no_byte_of_a_deleted_text_is_left_below_the_data_folder(self, api, kind):
        secret = "xylophonist " * 3 + "quetzalcoatlus zugzwang\n"
        other = add(api, "Something that stays")
        text = f"A quetzalcoatlus first line\n\n{secret * 60}"
        fields = {"title": "Zugzwang", "source_path": "/zugzwang/quetzalcoatlus"}
        if kind == "note":
            job = api.add_note(text, metadata={"of": "zugzwang"}, tags=["zugzwang"], **fields)
        else:
            fields["metadata"] = '{"of": "zugzwang"}'
            job = api.add_file(text.encode(), "zugzwang.txt", tags=["zugzwang"], **fields)
        assert b"zugzwang" in api.bytes_on_disk()
        digest = api.document(job["document_id"])["content_hash"].encode()
        api.delete(f"/documents/{job['document_id']}")
        left = api.bytes_on_disk()
        for word in (b"xylophonist", b"quetzalcoatlus", b"zugzwang", b"quetzalcoatl", digest):
            assert word not in left
        assert api.document(other)["title"] == "Something that stays"

    def test_no_byte_is_left_of_any_of_many_that_are_deleted_one_after_the_other(self, api):
        ids = [add(api, f"Zugzwang number {number}") for number in range(5)]
        for number, document_id in enumerate(ids):
            api.delete(f"/documents/{document_id}")
            assert f"zugzwang number {number}".encode() not in api.bytes_on_disk()

    def test_the_words_of_a_long_document_are_gone_at_once_and_its_bytes_soon(self, api):
        text = "\n\n".join(f"# Part {n}\n\n" + "The zugzwang of otters. " * 60 for n in range(40))
        job = api.add_note(text)
        assert job["chunk_count"] > 32
        api.delete(f"/documents/{job['document_id']}")
        assert api.search("zugzwang") == []
        assert api.search("zugzwang", fts_only=True) == []
        api.settle()
        assert b"zugzwang" not in api.bytes_on_disk()

    def test_no_byte_of_a_replaced_text_is_left_after_the_note_is_deleted(self, api):
        document_id = add(api, "Otters")
        for text in ("xylophonist", "zugzwang"):
            api.patch(f"/notes/{document_id}", {"text": f"About {text}. " * 50})
        api.patch(f"/documents/{document_id}", {"title": "Quetzalcoatlus"})
        api.delete(f"/documents/{document_id}")
        left = api.bytes_on_disk()
        assert not [word for word in (b"xylophonist", b"zugzwang", b"quetzal") if word in left]


class TestClearing:
    @pytest.mark.parametrize("body", [{}, {"confirm": ""}, {"confirm": "delete all"}])
    def test_nothing_is_cleared_without_the_phrase(self, api, body):
        add(api, "Otters")
        answer = api.delete("/documents", body)
        assert (answer.status_code, answer.json()["error"]) == (422, "confirmation_required")
        assert answer.json()["document_count"] == 1
        assert listed(api) == ["Otters"]

    def test_clearing_without_a_body_is_refused(self, api):
        add(api, "Otters")
        assert api.delete("/documents").status_code == 422
        assert listed(api) == ["Otters"]

    def test_clearing_removes_everything_and_says_how_much(self, api):
        api.add_file(b"The zugzwang of herons.\n", "heron.txt", tags=["bird"])
        add(api, "Zugzwang")
        api.submit_note("Zugzwang still waits.")
        answer = api.delete("/documents", {"confirm": "DELETE ALL"}).json()
        size = len("Zugzwang is what this note is about.") + len("The zugzwang of herons.\n")
        assert answer == {
            "status": "cleared",
            "documents_removed": 2,
            "chunks_removed": 2,
            "jobs_removed": 3,
            "bytes_freed": size,
        }
        assert listed(api) == []
        assert api.get("/jobs").json()["total"] == 0
        assert api.get("/tags").json()["total"] == 0
        assert api.search("zugzwang") == []
        assert api.engine.worker.finish_jobs() == 0
        assert b"zugzwang" not in api.bytes_on_disk()

    def test_a_cleared_store_takes_in_new_things_and_deletes_them_without_a_trace(self, api):
        add(api, "Zugzwang")
        api.delete("/documents", {"confirm": "DELETE ALL"})
        document_id = add(api, "Quetzalcoatlus")
        assert [hit["document_id"] for hit in api.search("quetzalcoatlus")] == [document_id]
        api.delete(f"/documents/{document_id}")
        assert b"quetzalcoatl" not in api.bytes_on_disk()


def test_a_file_that_is_deleted_while_it_is_asked_for_is_missing(api, engine, monkeypatch):
    added = api.add_file(b"Herons stand.\n" * 40, "heron.txt")
    found = engine.files.to_hand_out

    def and_gone(*values, **others):
        path = found(*values, **others)
        path.unlink()
        return path

    monkeypatch.setattr(engine.files, "to_hand_out", and_gone)
    answer = api.get(f"/documents/{added['document_id']}/file")
    assert answer.json()["error"] == "file_missing"
