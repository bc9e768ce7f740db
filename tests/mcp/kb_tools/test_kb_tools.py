"""The kb_* tools over a real engine: answers that an agent can use and afford."""

import json
import shlex
import shutil
import uuid

import httpx
import pytest
from knowledge_world import BEARER
from served import tool_call

from kb.kinds import UnknownKind
from kb.mcp.contract import Call
from programs import ended

STORY = [f"Chapter {n}.\n\n" + f"The otter of chapter {n} swims. " * 25 for n in range(40)]
_UID = str(uuid.uuid4())


def tokens(content):
    return len(json.dumps(content, ensure_ascii=False, separators=(",", ":"))) / 4


@pytest.fixture
async def story(kb):
    """A document of many passages."""
    return await kb.upload("\n\n".join(STORY).encode(), "story.txt")


class TestSearch:
    async def test_a_hit_says_what_it_is_where_it_is_from_and_how_relevant(self, kb):
        text = "# Garden\n\nThe tomatoes want water in the morning."
        document_id = await kb.upload(text.encode(), "garden.md", source_path=f"/{kb.tag}/g.md")
        found = await kb("kb_search", query="when to water tomatoes", tags=[kb.tag])
        (hit,) = found["results"]
        assert hit["document_id"] == document_id
        assert hit["text"] == text
        assert hit["source"] == f"/{kb.tag}/g.md, lines 1–3"
        assert hit["tags"] == [kb.tag]
        assert 0 < hit["relevance"] <= 1
        named = ("chunk_id", "score", "title", "filename", "doc_type", "page", "location")
        assert set(named) < set(hit)
        assert found["total"] == 1
        assert "truncated" not in found

    async def test_a_query_that_nothing_answers_says_so(self, kb):
        await kb.note("By day the otter swims, at night it sleeps between two stones.")
        found = await kb("kb_search", query="qqqzzz xxyyzz the wwxxyy", tags=[kb.tag])
        assert "Nothing fits well" in found["hint"]
        assert found["results"]
        found = await kb("kb_search", query="otter swims", tags=[kb.tag])
        assert "hint" not in found

    async def test_an_answer_stays_under_its_budget_and_says_how_to_get_the_rest(self, kb, story):
        for max_tokens in (500, 1000, 2500, 20_000):
            result = await kb.result(
                "kb_search", query="otter swims", tags=[kb.tag], top=30, max_tokens=max_tokens
            )
            found = result.content
            assert len(result.text) / 4 <= max_tokens
            assert len(found["results"]) >= 1
            shown = found["results"]
            assert found.get("omitted", 0) == 30 - len(shown)
            if max_tokens < 20_000:
                assert found["truncated"]
                assert "kb_get" in found["hint"]
                assert f"{max_tokens} tokens" in found["hint"]
            else:
                assert "truncated" not in found

    async def test_a_shortened_passage_is_a_stretch_of_it_around_the_match(self, kb):
        filler = "Nothing of note happens here. " * 12
        await kb.note(f"{filler}The zeppelin landed. {filler}")
        for other in range(20):
            await kb.note(f"{filler}A zeppelin, number {other}. {filler}")
        found = await kb(
            "kb_search", query="zeppelin", tags=[kb.tag], top=20, fts_only=True, max_tokens=3000
        )
        cut = [hit for hit in found["results"] if "excerpt" in hit]
        assert cut
        assert all("zeppelin" in hit["text"] for hit in cut)
        whole = await kb("kb_get", document_id=cut[0]["document_id"])
        assert cut[0]["text"] in "".join(chunk["text"] for chunk in whole["chunks"])

    async def test_the_usual_question_is_answered_with_whole_passages(self, kb, story):
        found = await kb("kb_search", query="otter", tags=[kb.tag])
        assert len(found["results"]) == 10
        assert not any("excerpt" in hit for hit in found["results"])

    async def test_no_hit_comes_with_advice(self, kb):
        found = await kb("kb_search", query="xqzzyv", fts_only=True)
        assert found["results"] == []
        assert "other words" in found["hint"]

    async def test_filters_that_leave_nothing_are_named_as_the_reason(self, kb, collections):
        for agent, filters, named in (
            (kb, {"tags": ["no-such-tag"]}, "tags"),
            (kb, {"tags": ["no-such-tag"], "doc_type": "note"}, "tags and doc_type"),
            (collections, {"doc_type": "pptx", "collection": "memory"}, "collection and doc_type"),
        ):
            found = await agent("kb_search", query="nothing", **filters)
            assert found["results"] == []
            assert f"Nothing matches within {named}: search without" in found["hint"]

    async def test_modes_that_exclude_each_other_are_refused_in_the_engines_words(self, kb):
        failed = await kb.fails("kb_search", query="x", fts_only=True, vec_only=True)
        assert failed["error"] == "invalid_request"
        assert failed["message"].startswith("fts_only and vec_only cannot both be set")
        failed = await kb.fails("kb_search", query=" ")
        assert failed["message"] == "query must not be blank"

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({}, "query is missing: send a text"),
            ({"query": ""}, "query must not be empty"),
            ({"query": "x", "top": 101}, "top must be from 1 to 100"),
            ({"query": "x", "collection": "memory"}, "there is no parameter collection"),
            ({"query": "x", "max_tokens": 20_001}, "max_tokens must be from 500 to 20000"),
        ],
    )
    async def test_bad_arguments_are_named(self, kb, arguments, words):
        failed = await kb.fails("kb_search", **arguments)
        assert failed["error"] in ("invalid_parameter", "missing_required_parameter")
        assert failed["message"].startswith("kb_search: ")
        assert words in failed["message"]


class TestGet:
    async def test_pages_together_are_the_whole_document_in_order(self, kb, story):
        texts, offset, pages = [], 0, 0
        while offset is not None:
            result = await kb.result("kb_get", document_id=story, offset=offset, max_tokens=2000)
            assert len(result.text) / 4 <= 2000
            page = result.content
            assert page["offset"] == offset
            texts += [chunk["text"] for chunk in page["chunks"]]
            offset, pages = page.get("next_offset"), pages + 1
            assert offset is None or f"offset={offset}" in page["hint"]
        assert pages > 3
        assert "".join(texts) == "\n\n".join(STORY)
        assert len(texts) == page["chunk_count"]

    async def test_a_limit_is_kept(self, kb, story):
        page = await kb("kb_get", document_id=story, offset=3, limit=2)
        assert [chunk["seq"] for chunk in page["chunks"]] == [3, 4]
        assert page["next_offset"] == 5

    async def test_the_first_passage_out_of_a_long_table_has_the_columns_above_it(self, kb):
        rows = "".join(f"| ship {number} | {number * 7} |\n" for number in range(300))
        table = await kb.note(f"| Vessel | Tonnage |\n| --- | --- |\n{rows}")
        whole = await kb("kb_get", document_id=table)
        assert [chunk["text"].count("Tonnage") for chunk in whole["chunks"]] == [
            1,
            *[0] * (len(whole["chunks"]) - 1),
        ]
        later = await kb("kb_get", document_id=table, offset=2, limit=2)
        assert [chunk["text"].count("| Vessel | Tonnage |\n") for chunk in later["chunks"]] == [
            1,
            0,
        ]
        asked = whole["chunks"][3]["id"]
        near = await kb("kb_get", document_id=table, around=asked, limit=3)
        assert [chunk["id"] for chunk in near["chunks"] if "Tonnage" in chunk["text"]] == [asked]

    async def test_an_offset_behind_the_end_is_told(self, kb, story):
        page = await kb("kb_get", document_id=story, offset=9999)
        assert page["chunks"] == []
        assert "use an offset below" in page["hint"]

    async def test_the_passages_around_a_hit_are_its_neighbours(self, kb, story):
        found = await kb("kb_search", query="the otter of chapter 20", tags=[kb.tag], top=1)
        (hit,) = found["results"]
        part = await kb("kb_get", document_id=story, around=hit["chunk_id"])
        numbers = [chunk["seq"] for chunk in part["chunks"]]
        ids = [chunk["id"] for chunk in part["chunks"]]
        assert len(numbers) == 5
        assert numbers == list(range(numbers[0], numbers[0] + 5))
        assert ids.index(hit["chunk_id"]) == 2
        wide = await kb("kb_get", document_id=story, around=hit["chunk_id"], limit=9)
        assert len(wide["chunks"]) == 9

    async def test_around_the_first_and_last_passage_there_are_as_many(self, kb, story):
        whole = await kb("kb_get", document_id=story, max_tokens=20_000)
        for end in (0, -1):
            chunk_id = whole["chunks"][end]["id"]
            part = await kb("kb_get", document_id=story, around=chunk_id, limit=3)
            assert len(part["chunks"]) == 3
            assert part["chunks"][end]["id"] == chunk_id

    async def test_around_keeps_to_the_budget_and_to_the_passage_asked_for(self, kb, story):
        whole = await kb("kb_get", document_id=story, max_tokens=20_000)
        middle = whole["chunks"][len(whole["chunks"]) // 2]
        result = await kb.result(
            "kb_get", document_id=story, around=middle["id"], limit=50, max_tokens=1000
        )
        assert len(result.text) / 4 <= 1000
        numbers = [chunk["seq"] for chunk in result.content["chunks"]]
        assert middle["seq"] in numbers
        assert numbers == sorted(numbers)

    async def test_a_passage_that_is_elsewhere_is_not_found(self, kb, story):
        failed = await kb.fails("kb_get", document_id=story, around=999_999)
        assert failed["error"] == "chunk_not_found"
        assert failed["document_id"] == story

    async def test_a_document_is_found_by_its_uid_too(self, kb):
        document_id = await kb.note("By its uid.")
        by_id = await kb("kb_get", document_id=document_id)
        assert await kb("kb_get", uid=by_id["uid"]) == by_id
        assert await kb("kb_get", uid=by_id["uid"].upper()) == by_id

    async def test_a_uid_of_nothing_is_not_found_and_a_malformed_one_is_named(self, kb):
        failed = await kb.fails("kb_get", uid=str(uuid.uuid1()))
        assert failed["error"] == "document_not_found"
        failed = await kb.fails("kb_get", uid="note-7")
        assert (failed["error"], failed["parameter"]) == ("invalid_parameter", "uid")
        assert "uid must be a document's UUID" in failed["message"]

    async def test_one_path_gives_the_whole_and_several_give_a_choice(self, kb):
        path = f"memory/{kb.tag}.md"
        first = await kb.note("First.", source_path=path)
        found = await kb("kb_get", source_path=path)
        assert found["total"] == 1
        assert found["documents"][0]["chunks"][0]["text"] == "First."
        second = await kb.note("Second.", source_path=path)
        found = await kb("kb_get", source_path=path)
        assert {document["id"] for document in found["documents"]} == {first, second}
        assert found["total"] == 2
        assert "document_id" in found["hint"]
        assert not any("metadata" in document for document in found["documents"])
        little = await kb("kb_get", source_path=path, max_tokens=500)
        assert 1 <= len(little["documents"]) <= 2
        nothing = await kb("kb_get", source_path=f"{path}.old")
        assert (nothing["documents"], nothing["total"]) == ([], 0)
        assert path in nothing["hint"]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"document_id": 1, "uid": _UID}, "one of document_id, uid and source_path"),
            ({"uid": _UID, "source_path": "y"}, "not uid and source_path"),
            ({"document_id": 1, "tags": ["a"]}, "document_id reads one document"),
            ({"source_path": "y", "doc_type": "pdf"}, "source_path reads one document"),
            ({"around": 1}, "document_id is missing"),
        ],
    )
    async def test_what_is_neither_one_document_nor_a_list_is_told(self, kb, arguments, words):
        failed = await kb.fails("kb_get", **arguments)
        assert words in failed["message"]

    async def test_metadata_too_large_to_show_is_left_out_and_told(self, kb, engine):
        document_id = await kb.note("Small text.")
        metadata = {f"field {number}": "x" * 100 for number in range(150)}
        await engine.update_document(document_id, metadata=metadata)
        part = await kb("kb_get", document_id=document_id, max_tokens=1000)
        assert "metadata" not in part
        assert "metadata was left out" in part["hint"]
        assert part["chunks"][0]["text"] == "Small text."
        whole = await kb("kb_get", document_id=document_id, max_tokens=20_000)
        assert whole["metadata"] == metadata


class TestLookingAround:
    @pytest.fixture
    async def shelf(self, kb):
        """Three documents, the oldest first."""
        note = await kb.note(f"Ada prefers tea, {kb.tag}.", "house")
        table = await kb.upload(
            b"bed,plants\n1,12\n2,9\n", "beds.csv", source_path=f"/{kb.tag}/beds.csv"
        )
        tags = [kb.tag, "howto"]
        text = await kb.upload(b"# Tea\n\nBoil water.", "tea.md", tags=tags)
        return note, table, text

    async def test_documents_are_listed_newest_first_with_what_they_are_chosen_by(self, kb, shelf):
        found = await kb("kb_get", tags=[kb.tag])
        assert [each["id"] for each in found["documents"]] == list(reversed(shelf))
        assert (found["total"], found["offset"]) == (3, 0)
        assert found["doc_types"] == {"csv": 1, "markdown": 1, "note": 1}
        assert found["tags"] == {kb.tag: 3, "house": 1, "howto": 1}
        newest, table, note = found["documents"]
        assert (newest["title"], newest["source"]) == ("Tea", "tea.md")
        assert newest["tags"] == ["howto", kb.tag]
        assert table["source"] == f"/{kb.tag}/beds.csv"
        assert set(note) == {"id", "title", "doc_type", "tags", "chunk_count", "created_at"}

    async def test_a_list_is_narrowed_by_tags_kind_and_path(self, kb, shelf):
        note, table, text = shelf
        for filters, ids in (
            ({"tags": [kb.tag, "house"]}, [note]),
            ({"tags": [kb.tag], "doc_type": "note"}, [note]),
            ({"tags": [kb.tag], "doc_type": "Spreadsheet"}, [table]),
            ({"tags": [kb.tag], "doc_type": "md"}, [text]),
            ({"path_prefix": f"/{kb.tag}/"}, [table]),
            ({"tags": [kb.tag], "doc_type": "presentation"}, []),
        ):
            found = await kb("kb_get", **filters)
            assert [each["id"] for each in found["documents"]] == ids
            assert found["total"] == len(ids)

    async def test_with_nothing_at_all_everything_is_listed(self, kb, shelf):
        found = await kb("kb_get")
        assert [each["id"] for each in found["documents"][:3]] == list(reversed(shelf))
        assert found["tags"]["house"] >= 1

    async def test_a_changed_document_comes_first_again(self, kb, shelf):
        await kb("kb_update_note", document_id=shelf[0], add_tags=["tea"])
        found = await kb("kb_get", tags=[kb.tag])
        assert found["documents"][0]["id"] == shelf[0]
        assert found["documents"][0]["updated_at"]

    async def test_pages_follow_each_other_and_only_the_first_counts(self, kb, shelf):
        ids, offset = [], 0
        while offset is not None:
            page = await kb("kb_get", tags=[kb.tag], limit=2, offset=offset)
            assert ("tags" in page) == ("doc_types" in page) == (offset == 0)
            ids += [each["id"] for each in page["documents"]]
            offset = page.get("next_offset")
            assert offset is None or f"offset={offset}" in page["hint"]
        assert ids == list(reversed(shelf))
        beyond = await kb("kb_get", tags=[kb.tag], offset=9)
        assert beyond["documents"] == []
        assert "use an offset below 3" in beyond["hint"]

    async def test_nothing_found_comes_with_advice(self, kb):
        found = await kb("kb_get", tags=["no-such-tag"])
        assert (found["documents"], found["total"]) == ([], 0)
        assert "call without filters" in found["hint"]

    async def test_a_list_stays_under_its_budget_and_goes_on_where_it_ended(self, kb):
        notes = []
        for number in range(12):
            tags = [f"{'subject' * 10}:{number}:{part}" for part in range(3)]
            notes.append(await kb.note(f"{number}. " + "A long first line. " * 4, *tags))
        for max_tokens in (500, 1500, 8000):
            ids, offset = [], 0
            while offset is not None:
                result = await kb.result(
                    "kb_get", tags=[kb.tag], limit=100, offset=offset, max_tokens=max_tokens
                )
                assert len(result.text) / 4 <= max_tokens
                ids += [each["id"] for each in result.content["documents"]]
                if offset == 0 and max_tokens < 8000:
                    assert "Only the most used tags are counted" in result.content["hint"]
                    assert next(iter(result.content["tags"])) == kb.tag
                offset = result.content.get("next_offset")
            assert ids == notes[::-1]

    async def test_an_empty_knowledge_base_says_that_it_is(self, kb):
        class Empty:
            async def documents(self, **_filters):
                return {"documents": [], "total": 0}

        call = Call(Empty(), None)
        nothing = await kb.contract.call("kb_get", {}, call)
        assert "The knowledge base is empty" in nothing.content["hint"]
        filtered = await kb.contract.call("kb_get", {"tags": ["a"]}, call)
        assert "without filters" in filtered.content["hint"]

    @pytest.mark.parametrize(
        ("tool", "more"), [("kb_search", {"query": "x"}), ("kb_get", {})], ids=["search", "list"]
    )
    async def test_an_unknown_kind_is_refused_in_the_engines_words(self, kb, tool, more):
        failed = await kb.fails(tool, doc_type="foo", **more)
        assert failed["error"] == "invalid_request"
        assert failed["message"] == f"doc_type: {UnknownKind()}"

    async def test_a_search_takes_the_words_that_stand_for_kinds(self, kb, shelf):
        for word, ids in (("excel", []), ("Spreadsheets", [shelf[1]]), ("csv", [shelf[1]])):
            found = await kb("kb_search", query="plants", tags=[kb.tag], doc_type=word)
            assert [hit["document_id"] for hit in found["results"]] == ids


class TestTags:
    async def test_tags_of_any_document_are_changed_in_one_request(self, remote_kb, asked):
        kb = remote_kb
        document_id = await kb.upload(b"A file.", tags=[kb.tag, "old", "kept"])
        asked.clear()
        changed = await kb(
            "kb_update_note", document_id=document_id, add_tags=["new"], remove_tags=["old"]
        )
        changes = [request.line for request in asked if not request.line.startswith("GET ")]
        assert changes == [f"PATCH /api/v1/documents/{document_id}"]
        assert changed["tags"] == ["kept", "new", kb.tag]
        assert changed["title"] == "file"
        assert "chunks" not in changed

    async def test_a_new_text_and_new_tags_are_one_change(self, kb):
        document_id = await kb.note("Tea.", "old")
        seen = (await kb("kb_get", document_id=document_id))["created_at"]
        change = {"text": "Coffee.", "add_tags": ["new"], "remove_tags": ["old"]}
        update = {"document_id": document_id, "if_updated_at": seen} | change
        changed = await kb("kb_update_note", **update)
        assert changed["tags"] == ["new", kb.tag]
        assert changed["chunks"][0]["text"] == "Coffee."
        assert (await kb.fails("kb_update_note", **update))["error"] == "conflict"

    async def test_the_title_of_a_file_can_be_changed(self, kb):
        document_id = await kb.upload(b"A file.")
        changed = await kb("kb_update_note", document_id=document_id, title="Better")
        assert changed["title"] == "Better"
        failed = await kb.fails("kb_update_note", document_id=document_id, text="Mine.")
        assert failed["error"] == "not_a_note"
        for words in ("Only notes can be updated", "title and tags of a file can be"):
            assert words in failed["message"]

    @pytest.mark.parametrize(
        ("arguments", "error", "words"),
        [
            ({}, "missing_required_parameter", "say what to change"),
            ({"if_updated_at": "x"}, "missing_required_parameter", "say what to change"),
            ({"add_tags": ["a"], "remove_tags": ["a"]}, "invalid_request", "a tag in common"),
            ({"add_tags": [" "]}, "invalid_request", "must not be blank"),
            ({"add_tags": []}, "missing_required_parameter", "title, add_tags, remove_tags"),
        ],
    )
    async def test_what_cannot_be_meant_is_refused(self, kb, arguments, error, words):
        document_id = await kb.note("Unchanged.")
        failed = await kb.fails("kb_update_note", document_id=document_id, **arguments)
        assert failed["error"] == error
        assert words in failed["message"]

    async def test_tags_of_nothing_are_not_found(self, kb):
        failed = await kb.fails("kb_update_note", document_id=10**9, add_tags=["a"])
        assert failed["error"] == "document_not_found"


class TestNotes:
    async def test_a_note_that_was_deleted_can_be_added_again(self, kb):
        note = {"text": "Comes back.", "tags": [kb.tag]}
        first = await kb.ready(await kb("kb_addnote", **note))
        await kb("kb_delete", document_id=first)
        again = await kb.ready(await kb("kb_addnote", **note))
        assert (await kb("kb_get", document_id=again))["chunks"][0]["text"] == "Comes back."

    async def test_a_title_can_be_given_and_changed(self, kb):
        document_id = await kb.note("Some text.", title="First title")
        assert (await kb("kb_get", document_id=document_id))["title"] == "First title"
        changed = await kb("kb_update_note", document_id=document_id, text="Other.", title="Second")
        assert changed["title"] == "Second"

    async def test_an_update_that_would_overwrite_another_is_refused(self, kb):
        document_id = await kb.note("One.")
        seen = (await kb("kb_get", document_id=document_id))["created_at"]
        update = {"document_id": document_id, "if_updated_at": seen}
        await kb("kb_update_note", text="Two.", **update)
        failed = await kb.fails("kb_update_note", text="Three.", **update)
        assert failed["error"] == "conflict"
        assert "kb_get" in failed["message"]

    async def test_updating_to_a_long_text_answers_with_a_part_of_it(self, kb):
        document_id = await kb.note("Short.")
        result = await kb.result(
            "kb_update_note", document_id=document_id, text="A long sentence. " * 3000
        )
        assert not result.is_error
        assert len(result.text) / 4 <= 2000
        assert result.content["next_offset"] == len(result.content["chunks"])

    async def test_a_million_characters_fit_however_json_spells_them(self, kb, kb_server):
        async def call(name, **arguments):
            message = tool_call(name, arguments)
            async with httpx.AsyncClient(headers=headers, timeout=60) as http:
                answer = await http.post(kb_server.url, content=json.dumps(message).encode())
            return answer.json()["result"]

        headers = BEARER | {"content-type": "application/json"}
        text = "🦦" * 1_000_000
        added = await call("kb_addnote", text=text, tags=[kb.tag])
        assert added["isError"] is False
        document_id = await kb.ready(added["structuredContent"])
        changed = await call("kb_update_note", document_id=document_id, text="🐟" + text[1:])
        assert changed["isError"] is False
        whole = await kb.call.engine.document(document_id)
        assert whole["text"] == "🐟" + text[1:]
        refused = await call("kb_addnote", text=text + "x")
        assert refused["structuredContent"]["error"] == "invalid_parameter"
        assert refused["structuredContent"]["message"] == (
            "kb_addnote: text: a note has at most 1,000,000 characters; add a longer text as a file"
        )


class TestUploads:
    async def test_a_start_hands_back_an_address_and_a_curl_command(self, kb):
        begun = await kb("kb_upload_start", filename="it's [1].txt", total_size=3)
        assert begun["put_url"].startswith("http://127.0.0.1:3000/uploads/")
        assert begun["expires_in_seconds"] == 600
        command = shlex.split(begun["curl"])
        assert command[0] == "curl"
        assert command[-3:] == ["-T", "./it's [1].txt", begun["put_url"]]
        assert "--fail-with-body" in command

    @pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
    async def test_the_curl_command_fails_where_the_file_was_not_taken(self, remote_kb, tmp_path):
        (tmp_path / "a.txt").write_bytes(b"longer than announced")
        begun = await remote_kb("kb_upload_start", filename="a.txt", total_size=3)
        sent = ended("sh", "-c", begun["curl"], cwd=tmp_path)
        assert sent.returncode == 22
        assert "file_too_large" in sent.stdout

    async def test_the_size_the_engine_takes_is_the_limit(self, kb):
        failed = await kb.fails("kb_upload_start", filename="big.pdf", total_size=8 * 2**20 + 1)
        assert failed["error"] == "file_too_large"
        assert "KB_MAX_FILE_MB" in failed["message"]

    @pytest.mark.parametrize(
        "arguments",
        [
            {"filename": " "},
            {"filename": "a\nb"},
            {"tags": ["ok", " "]},
            {"title": "two\nlines"},
            {"source_path": "\t"},
        ],
    )
    async def test_what_the_engine_would_refuse_is_refused_at_the_start(self, kb, arguments):
        failed = await kb.fails(
            "kb_upload_start", **{"filename": "a.txt", "total_size": 1} | arguments
        )
        assert "must not be blank or hold line breaks" in failed["message"]


class TestJobsAndStatus:
    async def test_what_was_added_answers_with_no_uid_that_kb_get_would_not_know(self, kb):
        note = await kb("kb_addnote", text="Not lost.", tags=[kb.tag])
        file = await kb.send(b"kept", "kept.txt")
        assert set(note) == set(file) == {"job_id", "status", "estimated_seconds"}

    async def test_one_job_can_be_asked_for(self, kb):
        job = await kb("kb_addnote", text="A job of its own.", tags=[kb.tag])
        document_id = await kb.ready(job)
        (shown,) = (await kb("kb_jobs", job_id=job["job_id"]))["jobs"]
        assert shown["status"] == "done"
        assert shown["outcome"] == "added"
        assert shown["document_id"] == document_id
        assert (await kb.fails("kb_jobs", job_id=10**9))["error"] == "job_not_found"

    async def test_a_failed_job_says_why(self, kb, engine):
        job = await kb.send(bytes(range(256)) * 4, "x.bin")
        await engine.wait_for_job(job["job_id"])
        (shown,) = (await kb("kb_jobs", job_id=job["job_id"]))["jobs"]
        assert shown["status"] == "failed"
        assert shown["error"]["message"]

    async def test_jobs_come_in_pages_and_stay_affordable(self, kb):
        for number in range(3):
            await kb("kb_addnote", text=f"Number {number}.", tags=[kb.tag])
        page = await kb("kb_jobs", limit=2, offset=1)
        assert len(page["jobs"]) == 2
        assert (page["limit"], page["offset"]) == (2, 1)
        everything = await kb("kb_jobs", limit=50)
        assert tokens(everything) < 6000

    async def test_the_status_tells_nothing_about_where_files_are(self, kb, engine_process):
        status = await kb("kb_status")
        assert status["health"]["status"] == "healthy"
        assert set(status["store"]) == {"size_bytes", "files_bytes", "free_bytes"}
        assert "/" not in json.dumps(status["store"])
