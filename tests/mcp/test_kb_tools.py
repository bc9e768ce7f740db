"""The kb_* tools over a real engine: answers that an agent can use and afford."""

import base64
import hashlib
import json
import shlex

import pytest

pytestmark = pytest.mark.anyio

STORY = [f"Chapter {n}.\n\n" + f"The otter of chapter {n} swims. " * 25 for n in range(40)]


def tokens(content):
    return len(json.dumps(content, ensure_ascii=False, separators=(",", ":"))) / 4


async def upload(agent, content, filename="file.txt", **more):
    begun = await agent(
        "kb_upload_start",
        filename=filename,
        total_size=len(content),
        **{"tags": [agent.tag]} | more,
    )
    upload_id = begun["upload_id"]
    for index in range(-(-len(content) // 2**20)):
        piece = content[index * 2**20 : (index + 1) * 2**20]
        data = base64.b64encode(piece).decode()
        await agent("kb_upload_chunk", upload_id=upload_id, data=data, chunk_index=index)
    return await agent.ready(await agent("kb_upload_finish", upload_id=upload_id))


@pytest.fixture
async def story(kb):
    """A document of many passages."""
    return await upload(kb, "\n\n".join(STORY).encode(), "story.txt")


class TestSearch:
    async def test_a_hit_says_what_it_is_where_it_is_from_and_how_relevant(self, kb):
        text = "# Garden\n\nThe tomatoes want water in the morning."
        document_id = await upload(kb, text.encode(), "garden.md", source_path=f"/{kb.tag}/g.md")
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
        found = await kb("kb_search", query="nothing", tags=["no-such-tag"])
        assert found["results"] == []
        assert "other words" in found["hint"]

    async def test_top_n_is_accepted_for_top(self, kb, story):
        found = await kb("kb_search", query="otter", tags=[kb.tag], top_n=2)
        assert len(found["results"]) == 2

    async def test_modes_that_exclude_each_other_are_refused_in_the_engines_words(self, kb):
        failed = await kb.fails("kb_search", query="x", fts_only=True, vec_only=True)
        assert failed["error"] == "invalid_request"
        assert "fts_only and vec_only cannot both be set" in failed["message"]

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
        "arguments", [{}, {"document_id": 1, "uid": "x"}, {"uid": "x", "source_path": "y"}]
    )
    async def test_exactly_one_key_is_wanted(self, kb, arguments):
        failed = await kb.fails("kb_get", **arguments)
        assert "exactly one of document_id, uid and source_path" in failed["message"]

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


class TestNotes:
    async def test_adding_the_same_note_again_makes_no_second_document(self, kb):
        note = {"text": "Said twice.", "tags": [kb.tag]}
        first = await kb.ready(await kb("kb_addnote", **note))
        again = await kb.ready(await kb("kb_addnote", **note))
        assert again == first

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


class TestUploads:
    async def test_a_start_hands_back_an_address_and_a_curl_command(self, kb):
        begun = await kb("kb_upload_start", filename="it's [1].txt", total_size=3)
        assert begun["put_url"].startswith("http://127.0.0.1:3000/uploads/")
        assert begun["expires_in_seconds"] == 600
        command = shlex.split(begun["curl"])
        assert command[0] == "curl"
        assert command[-3:] == ["-T", "./it's [1].txt", begun["put_url"]]

    async def test_a_file_put_at_the_address_is_finished_like_any_other(self, kb, engine):
        content = b"Herons wait for fish."
        begun = await kb(
            "kb_upload_start",
            filename="herons.txt",
            total_size=len(content),
            tags=[kb.tag],
            title="Herons",
            source_path=f"/{kb.tag}/herons.txt",
            sha256=hashlib.sha256(content).hexdigest(),
        )

        async def body():
            yield content

        token = begun["put_url"].rpartition("/")[2]
        await kb.call.uploads.receive(token, len(content), body())
        job = await kb("kb_upload_finish", upload_id=begun["upload_id"])
        assert await kb("kb_upload_finish", upload_id=begun["upload_id"]) == job
        document = await engine.document(await kb.ready(job))
        assert document["title"] == "Herons"
        assert document["filename"] == "herons.txt"
        assert document["source_path"] == f"/{kb.tag}/herons.txt"
        assert document["content_hash"] == hashlib.sha256(content).hexdigest()

    async def test_chunks_in_any_order_arrive_as_the_file_byte_for_byte(self, kb, engine):
        content = b"".join(b"Line %d of a log.\n" % number for number in range(500))
        begun = await kb("kb_upload_start", filename="app.log", total_size=len(content))
        pieces = [content[start : start + 1000] for start in range(0, len(content), 1000)]
        for index in reversed(range(len(pieces))):
            data = base64.b64encode(pieces[index]).decode()
            await kb("kb_upload_chunk", upload_id=begun["upload_id"], chunk_index=index, data=data)
        document_id = await kb.ready(await kb("kb_upload_finish", upload_id=begun["upload_id"]))
        stored = [piece async for piece in engine.document_bytes(document_id)]
        assert b"".join(stored) == content

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

    async def test_uploading_the_same_file_again_makes_no_second_document(self, kb):
        first = await upload(kb, b"The same bytes.")
        assert await upload(kb, b"The same bytes.") == first


class TestJobsAndStatus:
    async def test_one_job_can_be_asked_for(self, kb):
        job = await kb("kb_addnote", text="A job of its own.", tags=[kb.tag])
        document_id = await kb.ready(job)
        (shown,) = (await kb("kb_jobs", job_id=job["job_id"]))["jobs"]
        assert shown["status"] == "done"
        assert shown["outcome"] == "added"
        assert shown["document_id"] == document_id
        failed = await kb.fails("kb_jobs", job_id=10**9)
        assert failed["error"] == "job_not_found"

    async def test_a_failed_job_says_why(self, kb, engine):
        content = bytes(range(256)) * 4
        begun = await kb("kb_upload_start", filename="x.bin", total_size=len(content))
        data = base64.b64encode(content).decode()
        await kb("kb_upload_chunk", upload_id=begun["upload_id"], chunk_index=0, data=data)
        job = await kb("kb_upload_finish", upload_id=begun["upload_id"])
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


class TestDeleting:
    async def test_deleting_again_says_that_it_is_gone(self, kb):
        document_id = await kb.note("Gone soon.")
        await kb("kb_delete", document_id=document_id)
        failed = await kb.fails("kb_delete", document_id=document_id)
        assert failed["error"] == "document_not_found"
        assert f"Document {document_id} not found" in failed["message"]
