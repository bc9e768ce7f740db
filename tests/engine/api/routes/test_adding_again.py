"""Adding again: which document a file or note is, by path, tags and content."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from kb.engine.store import jobs

ROOT = "http://127.0.0.1"
ONE_THING = [
    "/home/anna/a.txt",
    "C:\\Users\\anna\\a.txt",
    "c:/Users/anna/a.txt",
    "\\\\server\\share\\a.txt",
    "https://example.org/a.txt",
    "file:///home/anna/a.txt",
]
BARE_NAMES = ["memory/preferences", "a.txt", "./a.txt", "agent:mybot", "C:a.txt", "~/a.txt"]


def outcome(job):
    return job["outcome"], job["document_id"], job["duplicate_of"]


class TestFilesWithAPath:
    def test_the_same_bytes_are_unchanged(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x"])
        again = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x"])
        assert outcome(first) == ("added", first["document_id"], None)
        assert outcome(again) == ("unchanged", first["document_id"], None)
        assert again["chunk_count"] == first["chunk_count"]
        assert api.document(first["document_id"])["updated_at"] is None
        assert len(api.engine.files.names()) == 1

    def test_other_bytes_update_the_document_in_place(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x"])
        before = api.document(first["document_id"])
        again = api.add_file(b"Herons wait.\n", source_path="/a.txt", tags=["x"])
        assert outcome(again) == ("updated", first["document_id"], None)
        after = api.document(first["document_id"])
        same = ("id", "uid", "created_at", "tags", "source_path")
        assert {name: after[name] for name in same} == {name: before[name] for name in same}
        assert after["updated_at"] is not None
        assert api.get(f"/documents/{after['id']}/file").content == b"Herons wait.\n"
        assert api.search("otters", fts_only=True) == []
        assert [hit["document_id"] for hit in api.search("herons", fts_only=True)] == [after["id"]]
        assert len(api.engine.files.names()) == 1

    def test_what_is_said_about_the_same_bytes_is_not_lost(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", metadata='{"by": ["Ada"]}')
        again = api.add_file(
            b"Otters swim.\n", source_path="/a.txt", title="Otters", metadata='{"year": 2026}'
        )
        assert outcome(again) == ("updated", first["document_id"], None)
        document = api.document(first["document_id"])
        assert document["title"] == "Otters"
        assert document["metadata"] == {"by": ["Ada"], "year": 2026}
        assert len(api.engine.files.names()) == 1
        for said in ({"title": "Otters"}, {"metadata": '{"by": ["Ada"]}'}, {"force_ocr": "true"}):
            third = api.add_file(b"Otters swim.\n", source_path="/a.txt", **said)
            assert outcome(third) == ("unchanged", first["document_id"], None)

    def test_no_byte_of_the_old_version_is_left(self, api):
        api.add_file(b"The zugzwang of otters.\n", source_path="/a.txt")
        api.add_file(b"Herons wait.\n", source_path="/a.txt")
        assert b"zugzwang" not in api.bytes_on_disk()

    def test_an_update_keeps_a_title_that_someone_gave_and_renews_one_that_was_found(self, api):
        found = api.add_file(b"# Otters\n", "a.md", source_path="/a.md")["document_id"]
        given = api.add_file(b"# Otters\n", "b.md", source_path="/b.md")["document_id"]
        api.patch(f"/documents/{given}", {"title": "Mine"})
        for name in ("a.md", "b.md"):
            api.add_file(b"# Herons\n", name, source_path=f"/{name}")
        assert api.document(found)["title"] == "Herons"
        assert api.document(given)["title"] == "Mine"
        api.add_file(b"# Voles\n", "b.md", source_path="/b.md", title="Newer")
        assert api.document(given)["title"] == "Newer"

    def test_another_path_makes_a_document_of_its_own_that_names_its_twin(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt")["document_id"]
        other = api.add_file(b"Otters swim.\n", source_path="/b.txt")
        assert outcome(other) == ("added", other["document_id"], first)

    def test_an_update_to_bytes_that_are_elsewhere_names_the_twin(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt")["document_id"]
        second = api.add_file(b"Herons wait.\n", source_path="/b.txt")["document_id"]
        again = api.add_file(b"Otters swim.\n", source_path="/b.txt")
        assert outcome(again) == ("updated", second, first)

    def test_a_note_with_the_path_is_never_meant_by_a_file(self, api):
        note = api.add_note("Otters swim.", source_path="/a.txt")["document_id"]
        added = api.add_file(b"Otters swim.", source_path="/a.txt")
        assert outcome(added) == ("added", added["document_id"], note)
        assert api.document(note)["updated_at"] is None

    def test_two_versions_in_the_queue_end_as_one_document(self, api):
        jobs = [
            api.submit_file(content, source_path="/a.txt")["job_id"]
            for content in (b"One otter.\n", b"Two otters.\n", b"Two otters.\n")
        ]
        api.engine.worker.finish_jobs()
        ended = [api.job(job) for job in jobs]
        assert [job["outcome"] for job in ended] == ["added", "updated", "unchanged"]
        assert len({job["document_id"] for job in ended}) == 1

    def test_a_failed_update_leaves_the_old_version(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt")["document_id"]
        before = api.document(first)
        assert api.add_file(b"\0\1" * 100, source_path="/a.txt")["status"] == "failed"
        assert api.document(first) == before
        assert api.get(f"/documents/{first}/file").content == b"Otters swim.\n"


class TestTagsOfOneThing:
    """An absolute path or a URL names one thing in the world, whatever its tags."""

    @pytest.mark.parametrize("path", ONE_THING)
    def test_other_tags_are_added_to_the_document(self, api, path):
        first = api.add_file(b"Otters swim.\n", source_path=path, tags=["x"])
        again = api.add_file(b"Otters swim.\n", source_path=path, tags=["y", "x"])
        assert outcome(again) == ("updated", first["document_id"], None)
        assert (again["changed"], again["message"]) == (["tags"], "Tags added")
        document = api.document(first["document_id"])
        assert document["tags"] == ["x", "y"]
        assert document["updated_at"] is not None
        assert api.get("/documents").json()["total"] == 1
        assert len(api.engine.files.names()) == 1

    @pytest.mark.parametrize("path", BARE_NAMES)
    def test_under_a_bare_name_other_tags_make_a_document_of_their_own(self, api, path):
        first = api.add_file(b"Otters swim.\n", source_path=path, tags=["agent:one"])
        other = api.add_file(b"Otters swim.\n", source_path=path, tags=["agent:two"])
        none = api.add_file(b"Otters swim.\n", source_path=path)
        assert outcome(other) == ("added", other["document_id"], first["document_id"])
        assert outcome(none) == ("added", none["document_id"], first["document_id"])
        again = api.add_file(b"Herons wait.\n", source_path=path, tags=["agent:two"])
        assert outcome(again) == ("updated", other["document_id"], None)
        assert again["changed"] == ["content"]
        assert api.document(first["document_id"])["updated_at"] is None

    @pytest.mark.parametrize("tags", [[], ["x"], ["x", "y"]])
    def test_none_is_taken_away_and_some_of_them_are_nothing_new(self, api, tags):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x", "y"])
        same = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=tags)
        assert outcome(same) == ("unchanged", first["document_id"], None)
        assert same["changed"] is None
        other = api.add_file(b"Herons wait.\n", source_path="/a.txt", tags=tags)
        assert outcome(other) == ("updated", first["document_id"], None)
        assert other["changed"] == ["content"]
        assert api.document(first["document_id"])["tags"] == ["x", "y"]

    def test_new_bytes_bring_their_tags_along(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x"])
        again = api.add_file(b"Herons wait.\n", source_path="/a.txt", tags=["y"], title="Herons")
        assert outcome(again) == ("updated", first["document_id"], None)
        assert again["changed"] == ["content", "title", "tags"]
        assert api.document(first["document_id"])["tags"] == ["x", "y"]

    def test_for_tags_alone_nothing_is_read_or_embedded(self, api, monkeypatch):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x"])["document_id"]
        before = api.document(first)
        monkeypatch.setattr(api.engine.pipeline, "_read", None)
        monkeypatch.setattr(api.engine.pipeline, "_embed", None)
        again = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["y"])
        assert outcome(again) == ("updated", first, None)
        assert "kb_chunks_embedded_total 1.0" in api.get(f"{ROOT}/metrics").text
        after = api.document(first)
        changed = {name for name in after if after[name] != before[name]}
        assert changed == {"tags", "updated_at"}
        assert api.get("/documents", params={"tag": ["x", "y"]}).json()["total"] == 1

    def test_tags_that_were_taken_away_by_hand_are_new_again(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x"])["document_id"]
        api.put(f"/documents/{first}/tags", {"tags": ["y"]})
        again = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x"])
        assert outcome(again) == ("updated", first, None)
        assert api.document(first)["tags"] == ["x", "y"]

    def test_tags_for_one_of_two_copies_name_the_other(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt")["document_id"]
        second = api.add_file(b"Otters swim.\n", source_path="/b.txt")["document_id"]
        again = api.add_file(b"Otters swim.\n", source_path="/b.txt", tags=["x"])
        assert outcome(again) == ("updated", second, first)

    def test_sent_at_the_same_time_with_different_tags_they_end_as_one_document(self, api):
        def send(number):
            content = f"Otter {number % 2}.\n".encode()
            return api.submit_file(content, source_path="/a.txt", tags=[f"tag{number}"])

        with ThreadPoolExecutor(8) as threads:
            jobs = [sent["job_id"] for sent in threads.map(send, range(8))]
            list(threads.map(lambda _: api.engine.worker.finish_jobs(), range(4)))
        ended = [api.job(job) for job in jobs]
        assert len({job["document_id"] for job in ended}) == 1
        assert sorted(job["outcome"] for job in ended) == ["added", *["updated"] * 7]
        [document] = api.get("/documents").json()["documents"]
        assert document["tags"] == [f"tag{number}" for number in range(8)]
        last = max(ended, key=lambda job: job["id"])
        assert api.get(f"/documents/{document['id']}/file").content == (
            f"Otter {jobs.index(last['id']) % 2}.\n".encode()
        )


class TestOrigins:
    """The same path on another machine is another thing."""

    def test_another_machine_has_a_document_of_its_own(self, api):
        here = api.add_file(b"Otters swim.\n", source_path="/a.txt", origin="here")
        there = api.add_file(b"Otters swim.\n", source_path="/a.txt", origin="there")
        assert outcome(there) == ("added", there["document_id"], here["document_id"])
        again = api.add_file(b"Herons wait.\n", source_path="/a.txt", origin="here", tags=["x"])
        assert outcome(again) == ("updated", here["document_id"], None)
        assert api.document(here["document_id"])["origin"] == "here"
        assert api.document(there["document_id"])["origin"] == "there"
        assert api.document(there["document_id"])["updated_at"] is None

    @pytest.mark.parametrize("content", [b"Otters swim.\n", b"Herons wait.\n"])
    def test_a_document_without_one_is_whose_first_adds_it_again(self, api, content):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt")["document_id"]
        assert api.document(first)["origin"] is None
        again = api.add_file(content, source_path="/a.txt", origin="here")
        assert again["document_id"] == first
        assert again["outcome"] == ("unchanged" if content == b"Otters swim.\n" else "updated")
        assert api.document(first)["origin"] == "here"
        other = api.add_file(content, source_path="/a.txt", origin="there")
        assert outcome(other) == ("added", other["document_id"], first)

    def test_who_names_no_machine_means_the_only_one_there_is(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", origin="here")["document_id"]
        again = api.add_file(b"Herons wait.\n", source_path="/a.txt")
        assert outcome(again) == ("updated", first, None)
        assert api.document(first)["origin"] == "here"

    def test_who_names_no_machine_changes_nothing_where_there_are_two(self, api):
        for origin in ("here", "there"):
            api.add_file(b"Otters swim.\n", source_path="/a.txt", origin=origin)
        unnamed = api.add_file(b"Herons wait.\n", source_path="/a.txt")
        assert unnamed["outcome"] == "added"
        again = api.add_file(b"Voles dig.\n", source_path="/a.txt")
        assert outcome(again) == ("updated", unnamed["document_id"], None)
        here = api.add_file(b"Otters swim.\n", source_path="/a.txt", origin="here")
        assert here["outcome"] == "unchanged"

    def test_for_a_bare_name_the_machine_does_not_matter(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="memory/a", origin="here")
        again = api.add_file(b"Herons wait.\n", source_path="memory/a", origin="there")
        assert outcome(again) == ("updated", first["document_id"], None)

    @pytest.mark.parametrize("origin", ["", " ", "a" * 201, "two\nlines"])
    def test_a_name_that_is_none_is_refused(self, api, origin):
        fields = {"source_path": "/a.txt", "origin": origin}
        answer = api.post("/jobs", files={"file": ("a.txt", b"Otters swim.\n")}, data=fields)
        assert answer.status_code == 422
        assert answer.json()["fields"][0]["field"] == "origin"
        assert api.get("/jobs").json()["total"] == 0


class TestFilesWithoutAPath:
    def test_the_same_name_bytes_and_tags_are_unchanged(self, api):
        first = api.add_file(b"Otters swim.\n", "a.txt", tags=["x"])["document_id"]
        assert outcome(api.add_file(b"Otters swim.\n", "a.txt", tags=["x"])) == (
            "unchanged",
            first,
            None,
        )

    @pytest.mark.parametrize(
        ("filename", "fields"),
        [("b.txt", {"tags": ["x"]}), ("a.txt", {"tags": ["y"]}), ("a.txt", {})],
    )
    def test_another_name_or_other_tags_make_a_twin(self, api, filename, fields):
        first = api.add_file(b"Otters swim.\n", "a.txt", tags=["x"])["document_id"]
        other = api.add_file(b"Otters swim.\n", filename, **fields)
        assert outcome(other) == ("added", other["document_id"], first)

    def test_other_bytes_under_the_same_name_are_another_document(self, api):
        first = api.add_file(b"Otters swim.\n", "a.txt")["document_id"]
        other = api.add_file(b"Herons wait.\n", "a.txt")
        assert outcome(other) == ("added", other["document_id"], None)
        assert api.document(first)["updated_at"] is None

    def test_a_document_with_a_path_is_not_meant(self, api):
        first = api.add_file(b"Otters swim.\n", "a.txt", source_path="/a.txt")["document_id"]
        other = api.add_file(b"Otters swim.\n", "a.txt")
        assert outcome(other) == ("added", other["document_id"], first)


class TestNotes:
    def test_the_same_text_path_and_tags_are_unchanged(self, api):
        fields = {"tags": ["x", "y"], "source_path": "/n"}
        first = api.add_note("Otters swim.", **fields)["document_id"]
        assert outcome(api.add_note("Otters swim.", **fields)) == ("unchanged", first, None)
        assert outcome(
            api.add_note("Otters swim.", tags=["y", "x"], source_path="/n", title="Other")
        ) == ("unchanged", first, None)

    @pytest.mark.parametrize("tags", [None, []])
    def test_no_tags_and_an_empty_list_are_the_same(self, api, tags):
        first = api.add_note("Otters swim.")["document_id"]
        assert outcome(api.add_note("Otters swim.", tags=tags)) == ("unchanged", first, None)

    @pytest.mark.parametrize("fields", [{}, {"tags": ["y"]}, {"tags": ["x"], "source_path": "/n"}])
    def test_other_tags_or_another_path_make_a_twin(self, api, fields):
        first = api.add_note("Otters swim.", tags=["x"])["document_id"]
        other = api.add_note("Otters swim.", **fields)
        assert outcome(other) == ("added", other["document_id"], first)

    def test_a_note_is_never_changed_by_adding(self, api):
        first = api.add_note("Otters swim.", source_path="/n", tags=["x"])["document_id"]
        other = api.add_note("Herons wait.", source_path="/n", tags=["x"])
        assert outcome(other) == ("added", other["document_id"], None)
        assert api.document(first)["text"] == "Otters swim."
        assert api.document(first)["updated_at"] is None

    def test_the_text_as_it_is_now_decides(self, api):
        first = api.add_note("Otters swim.")["document_id"]
        api.patch(f"/notes/{first}", {"text": "Herons wait."})
        assert outcome(api.add_note("Herons wait.")) == ("unchanged", first, None)
        again = api.add_note("Otters swim.")
        assert outcome(again) == ("added", again["document_id"], None)


def foreseen(api, content, filename="file.txt", **fields):
    known = {"content_hash": hashlib.sha256(content).hexdigest(), "size_bytes": len(content)}
    answer = api.post("/jobs/check", {"filename": filename, **known, **fields})
    assert answer.status_code == 200, answer.text
    return answer.json()


class TestBeforeSending:
    """What is foreseen is what comes of it."""

    OTTERS = b"Otters swim.\n"

    @pytest.mark.parametrize(
        "fields",
        [
            {"source_path": "/a.txt"},
            {"source_path": "/a.txt", "tags": ["x"]},
            {"source_path": "/a.txt", "tags": ["x", "new"]},
            {"source_path": "/a.txt", "title": "Otters"},
            {"source_path": "/a.txt", "title": "Of otters"},
            {"source_path": "/a.txt", "metadata": {"by": "Ada"}},
            {"source_path": "/a.txt", "metadata": {"by": "Eve"}},
            {"source_path": "/a.txt", "force_ocr": True},
            {"source_path": "/a.txt", "origin": "desk"},
            {"source_path": "/a.txt", "origin": "lap"},
            {"source_path": "/b.txt", "origin": "desk", "tags": ["x", "y"]},
            {"source_path": "a.txt", "tags": ["x", "y"]},
            {"tags": ["x", "y"]},
            {},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("content", [OTTERS, b"Herons wait.\n"], ids=["same", "other"])
    def test_unchanged_is_foreseen_if_it_would_be(self, api, fields, content):
        said = {"title": "Otters", "metadata": '{"by": "Ada"}', "tags": ["x", "y"]}
        api.add_file(self.OTTERS, source_path="/a.txt", origin="desk", **said)
        api.add_file(self.OTTERS, tags=["x", "y"])
        told = foreseen(api, content, **fields)
        if "metadata" in fields:
            fields = fields | {"metadata": json.dumps(fields["metadata"])}
        job = api.add_file(content, **fields)
        if job["outcome"] != "unchanged":
            assert set(told.values()) == {None}
        else:
            same = ("outcome", "document_id", "document_uid", "chunk_count")
            assert {name: told[name] for name in same} == {name: job[name] for name in same}
            assert (told["job_id"], told["error"]) == (None, None)

    def test_nothing_is_foreseen_while_another_version_waits(self, api):
        api.add_file(self.OTTERS, source_path="/a.txt")
        api.submit_file(b"Herons wait.\n", source_path="/a.txt")
        assert foreseen(api, self.OTTERS, source_path="/a.txt")["outcome"] is None
        api.engine.worker.finish_jobs()
        assert foreseen(api, b"Herons wait.\n", source_path="/a.txt")["outcome"] == "unchanged"

    def test_a_document_of_no_known_machine_is_sent_once_more(self, api):
        api.add_file(self.OTTERS, source_path="/a.txt")
        desk = {"source_path": "/a.txt", "origin": "desk"}
        assert foreseen(api, self.OTTERS, **desk)["outcome"] is None
        api.add_file(self.OTTERS, **desk)
        assert foreseen(api, self.OTTERS, **desk)["outcome"] == "unchanged"

    def test_a_failure_is_foreseen_of_the_same_bytes_name_and_version(self, api, monkeypatch):
        noise = b"\0\1" * 100
        failed = api.add_file(noise, "a.bin")
        api.add_file(b"", "empty.txt")  # which may have text another day
        told = foreseen(api, noise, "a.bin", source_path="/elsewhere/a.bin")
        assert (told["outcome"], told["job_id"]) == ("failed", failed["id"])
        assert told["error"] == failed["error"]
        for content, name in ((noise, "b.bin"), (noise[::-1], "a.bin"), (b"", "empty.txt")):
            assert foreseen(api, content, name)["outcome"] is None
        assert foreseen(api, noise, "a.bin", force_ocr=True)["outcome"] is None
        monkeypatch.setattr(jobs, "__version__", "99.0.0")
        assert foreseen(api, noise, "a.bin")["outcome"] is None
