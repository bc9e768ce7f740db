"""Adding again: which document a file or note is, by path, tags and content."""

import pytest


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
        assert len(list(api.engine.files.folder.iterdir())) == 1

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
        assert len(list(api.engine.files.folder.iterdir())) == 1

    def test_what_is_said_about_the_same_bytes_is_not_lost(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", metadata='{"by": ["Ada"]}')
        again = api.add_file(
            b"Otters swim.\n", source_path="/a.txt", title="Otters", metadata='{"year": 2026}'
        )
        assert outcome(again) == ("updated", first["document_id"], None)
        document = api.document(first["document_id"])
        assert document["title"] == "Otters"
        assert document["metadata"] == {"by": ["Ada"], "year": 2026}
        assert len(list(api.engine.files.folder.iterdir())) == 1
        for said in ({"title": "Otters"}, {"metadata": '{"by": ["Ada"]}'}, {"force_ocr": "true"}):
            third = api.add_file(b"Otters swim.\n", source_path="/a.txt", **said)
            assert outcome(third) == ("unchanged", first["document_id"], None)

    def test_no_byte_of_the_old_version_is_left(self, api):
        api.add_file(b"The zugzwang of otters.\n", source_path="/a.txt")
        api.add_file(b"Herons wait.\n", source_path="/a.txt")
        folder = api.engine.settings.data_dir
        left = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        assert b"zugzwang" not in left

    def test_without_tags_the_only_document_with_the_path_is_meant_and_keeps_its_tags(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x"])
        same = api.add_file(b"Otters swim.\n", source_path="/a.txt")
        other = api.add_file(b"Herons wait.\n", source_path="/a.txt")
        assert outcome(same) == ("unchanged", first["document_id"], None)
        assert outcome(other) == ("updated", first["document_id"], None)
        assert api.document(first["document_id"])["tags"] == ["x"]

    def test_without_tags_and_two_candidates_a_third_document_is_made(self, api):
        one = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x"])
        two = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["y"])
        three = api.add_file(b"Otters swim.\n", source_path="/a.txt")
        assert outcome(two) == ("added", two["document_id"], one["document_id"])
        assert outcome(three) == ("added", three["document_id"], one["document_id"])
        again = api.add_file(b"Herons wait.\n", source_path="/a.txt")
        assert outcome(again) == ("updated", three["document_id"], None)

    def test_other_tags_make_a_document_of_their_own_that_names_its_twin(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["agent:one"])
        other = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["agent:two"])
        assert outcome(other) == ("added", other["document_id"], first["document_id"])
        assert other["document_id"] != first["document_id"]

    def test_the_order_of_tags_does_not_matter_and_a_subset_is_another(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x", "y"])
        assert (
            api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["y", "x"])["outcome"]
            == "unchanged"
        )
        subset = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x"])
        assert outcome(subset) == ("added", subset["document_id"], first["document_id"])

    def test_tags_as_they_are_now_decide(self, api):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt", tags=["x"])["document_id"]
        api.put(f"/documents/{first}/tags", {"tags": ["y"]})
        again = api.add_file(b"Herons wait.\n", source_path="/a.txt", tags=["y"])
        assert outcome(again) == ("updated", first, None)

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
        failed = api.add_file(b"\0\1" * 100, source_path="/a.txt")
        assert failed["status"] == "failed"
        assert api.document(first) == before
        assert api.get(f"/documents/{first}/file").content == b"Otters swim.\n"


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
