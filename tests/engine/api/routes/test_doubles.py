"""Doubles: documents that an older kb made of one path, listed and joined."""

import pytest

from kb.engine.pages import Box, PlacedWord
from kb.engine.store.rows.page_words import pack
from kb.engine.values import Chunk, Draft


def forget_origins(api):
    """Documents of an older kb: two machines' become two of one path."""
    with api.engine.store.database.transaction() as query:
        query("UPDATE documents SET origin = NULL")


@pytest.fixture
def double(api):
    """Add a file as often as there are contents, each a document of its own; their ids."""

    def add(*contents, path="/home/anna/a.txt", **fields):
        ids = []
        for number, content in enumerate(contents):
            job = api.add_file(
                content,
                "a.md",
                source_path=path,
                origin=f"machine {number}",
                **{name: values[number] for name, values in fields.items()},
            )
            ids.append(job["document_id"])
        forget_origins(api)
        assert len(set(ids)) == len(contents)
        return ids

    return add


def doubles(api, **options):
    answer = api.get("/doubles", params=options)
    assert answer.status_code == 200, answer.text
    return answer.json()


def join(api, group=None):
    group = group or doubles(api)["doubles"][0]
    ids = [document["id"] for document in group["documents"]]
    return api.post("/doubles/join", {"ids": ids, "if_updated_at": group["updated_at"]})


class TestListing:
    def test_a_group_tells_what_joining_it_would_make(self, api, double):
        first, second = double(b"Otters swim.\n", b"Herons wait.\n", tags=[["x"], ["y", "x"]])
        page = doubles(api)
        assert (page["total"], page["limit"], page["offset"]) == (1, 50, 0)
        [group] = page["doubles"]
        assert group["source_path"] == "/home/anna/a.txt"
        assert (group["keep_id"], group["content_id"]) == (first, second)
        assert group["tags"] == ["x", "y"]
        assert [document["id"] for document in group["documents"]] == [first, second]
        assert group["documents"][1] == {
            name: value
            for name, value in api.document(second).items()
            if name not in ("text", "chunks")
        }
        assert group["updated_at"] == api.document(second)["created_at"]

    def test_bytes_that_were_sent_last_are_the_newest_whatever_else_was_changed(self, api, double):
        first, second = double(b"Otters swim.\n", b"Herons wait.\n", tags=[["x"], ["y"]])
        api.patch(f"/documents/{first}", {"title": "Later, but not its bytes"})
        assert doubles(api)["doubles"][0]["content_id"] == second
        api.add_file(b"Otters swim.\n", source_path="/home/anna/a.txt", tags=["x"])
        assert doubles(api)["doubles"][0]["content_id"] == first

    def test_what_is_no_double_is_not_listed(self, api):
        api.add_file(b"Otters swim.\n", source_path="/a.txt", origin="here")
        api.add_file(b"Otters swim.\n", source_path="/a.txt", origin="there")
        api.add_file(b"Otters swim.\n", source_path="/b.txt")
        api.add_note("Otters swim.", source_path="/b.txt")
        for tag in ("agent:one", "agent:two"):
            api.add_file(b"Otters swim.\n", source_path="memory/otters", tags=[tag])
            api.add_file(b"Otters swim.\n", tags=[tag])
            api.add_note("Otters swim.", source_path="/c.txt", tags=[tag])
        assert doubles(api)["doubles"] == []

    def test_an_unknown_machine_is_the_only_one_there_is(self, api, double):
        ids = double(b"Otters swim.\n", b"Herons wait.\n")
        named = api.add_file(b"Voles dig.\n", source_path="/home/anna/a.txt", origin="here")
        assert named["document_id"] == ids[0]
        assert [each["id"] for each in doubles(api)["doubles"][0]["documents"]] == ids
        other = api.add_file(b"Voles dig.\n", source_path="/home/anna/a.txt", origin="there")
        assert other["document_id"] == ids[1]
        assert doubles(api)["total"] == 0

    def test_they_come_by_path_and_page_by_page(self, api, double):
        for path in ("/c", "/a", "/b"):
            double(b"Otters swim.\n", b"Herons wait.\n", path=path)
        page = doubles(api, limit=2, offset=1)
        assert [group["source_path"] for group in page["doubles"]] == ["/b", "/c"]
        assert page["total"] == 3
        assert api.get("/doubles", params={"limit": 201}).status_code == 422


class TestJoining:
    def test_the_oldest_stays_with_the_newest_bytes_and_all_tags(self, api, double):
        first, second = double(b"Otters swim.\n", b"Herons wait.\n", tags=[["x"], ["y"]])
        before, newer = api.document(first), api.document(second)
        answer = join(api)
        assert answer.status_code == 200
        assert answer.json()["removed"] == [second]
        after = api.document(first)
        assert answer.json()["document"].items() <= after.items()
        same = ("id", "uid", "created_at", "source_path")
        assert {name: after[name] for name in same} == {name: before[name] for name in same}
        assert after["updated_at"] > newer["created_at"]
        assert after["tags"] == ["x", "y"]
        for name in ("content_hash", "size_bytes", "chunk_count", "chunks", "metadata"):
            assert after[name] == newer[name]
        assert api.get(f"/documents/{first}/file").content == b"Herons wait.\n"
        assert api.get(f"/documents/{second}").status_code == 404
        assert doubles(api)["total"] == 0

    def test_it_is_found_by_its_new_words_and_meaning_and_not_by_the_old(self, api, double):
        first, _ = double(b"Otters swim.\n", b"Herons wait.\n", tags=[["x"], ["y"]])
        api.search("herons")  # the index in memory has seen both
        join(api)
        for mode in ({"fts_only": True}, {"vec_only": True}, {"tags": ["x", "y"]}):
            assert [hit["document_id"] for hit in api.search("herons", **mode)] == [first]
        assert api.search("otters", fts_only=True) == []
        assert api.search("herons", source_path="/home/anna/a.txt")[0]["tags"] == ["x", "y"]

    def test_newest_bytes_of_the_oldest_stay_where_they_are(self, api, double):
        first, second = double(b"Otters swim.\n", b"Herons wait.\n", tags=[["x"], ["y"]])
        api.add_file(b"Voles dig.\n", source_path="/home/anna/a.txt", tags=["x"])
        before = api.document(first)
        assert join(api).json()["removed"] == [second]
        after = api.document(first)
        changed = {name for name in after if after[name] != before[name]}
        assert changed == {"tags", "updated_at"}
        assert api.get(f"/documents/{first}/file").content == b"Voles dig.\n"

    def test_many_are_joined_at_once(self, api, double):
        contents = [f"Otter number {number}.\n".encode() for number in range(5)]
        ids = double(*contents, tags=[[f"t{number}"] for number in range(5)])
        assert join(api).json()["removed"] == ids[1:]
        assert api.document(ids[0])["tags"] == [f"t{number}" for number in range(5)]
        assert api.get(f"/documents/{ids[0]}/file").content == contents[-1]

    def test_a_title_that_someone_gave_is_kept_and_metadata_is_united(self, api, double):
        first, _ = double(
            b"# Otters\n",
            b"# Herons\n",
            metadata=['{"by": "Ada", "year": 1}', '{"year": 2, "place": "river"}'],
        )
        api.patch(f"/documents/{first}", {"title": "Mine"})
        join(api)
        after = api.document(first)
        assert after["title"] == "Mine"
        assert after["metadata"] == {"by": "Ada", "year": 2, "place": "river"}
        assert [hit["document_id"] for hit in api.search("mine", fts_only=True)] == [first]
        again = api.add_file(b"# Voles\n", source_path="/home/anna/a.txt")
        assert (again["document_id"], api.document(first)["title"]) == (first, "Mine")

    def test_a_title_given_to_the_other_is_kept_too(self, api, double):
        first, second = double(b"# Otters\n", b"# Herons\n")
        api.patch(f"/documents/{second}", {"title": "Theirs"})
        api.add_file(b"# Voles\n", "a.md", source_path="/home/anna/a.txt")
        join(api)
        assert api.document(first)["title"] == "Theirs"

    def test_without_one_the_title_is_the_bytes_own(self, api, double):
        first, _ = double(b"# Otters\n", b"# Herons\n")
        join(api)
        assert api.document(first)["title"] == "Herons"

    def test_nothing_of_the_older_bytes_is_left(self, api, double):
        double(b"The zugzwang of otters.\n", b"Herons wait.\n")
        join(api)
        assert b"zugzwang" not in api.bytes_on_disk()
        assert len(api.engine.files.names()) == 1

    @pytest.mark.parametrize("newest", [0, 1])
    def test_long_ones_are_joined_as_well(self, api, double, newest):
        """Their words are taken out bit by bit, under the title that they were indexed with."""
        contents = [
            "\n\n".join(f"# {animal} {n}\n\n{animal} words. " * 20 for n in range(90)).encode()
            for animal in ("otter", "heron")
        ]
        first, second = double(*contents)
        assert min(api.document(first)["chunk_count"], api.document(second)["chunk_count"]) > 32
        api.patch(f"/documents/{second}", {"title": "Given"})
        if newest == 0:
            api.add_file(contents[0], source_path="/home/anna/a.txt")
        join(api)
        api.settle()
        kept, gone = ("otter", "heron") if newest == 0 else ("heron", "otter")
        assert {hit["document_id"] for hit in api.search(kept, fts_only=True)} == {first}
        assert {hit["document_id"] for hit in api.search("given", fts_only=True)} == {first}
        assert api.search(gone, fts_only=True) == []

    def test_where_words_stand_on_a_scan_is_that_of_the_newer_bytes(self, api):
        def scanned(word):
            draft = Draft(
                title=word,
                filename="scan.pdf",
                doc_type="pdf",
                format="pdf",
                source_path="/scan.pdf",
                tags=(),
                metadata={},
                content_hash=word,
                size_bytes=1,
                words={1: pack([PlacedWord(word, Box(0.1, 0.1, 0.2, 0.2))])},
            )
            vectors = api.engine.embedder.wait().embed([word])
            return api.engine.store.documents.add(draft, [Chunk(word, 0, page=1)], vectors).id

        first, second = scanned("otters"), scanned("herons")
        join(api)
        words = api.engine.store.documents.placed_words
        assert [word.text for word in words(first, 1)] == ["herons"]
        assert words(second, 1) == []

    def test_jobs_name_the_document_that_has_their_content_now(self, api, double):
        first, second = double(b"Otters swim.\n", b"Otters swim.\n", tags=[["x"], ["y"]])
        twin = api.add_file(b"Otters swim.\n", source_path="/b.txt")
        join(api)
        jobs = api.get("/jobs", params={"document_id": first}).json()["jobs"]
        assert [job["outcome"] for job in jobs] == ["added", "added"]
        assert {job["document_uid"] for job in jobs} == {api.document(first)["uid"]}
        assert [job["duplicate_of"] for job in jobs] == [None, None]
        assert api.job(twin["id"])["duplicate_of"] == first
        assert api.get("/jobs", params={"document_id": second}).json()["total"] == 0

    def test_listeners_are_told(self, api, double, monkeypatch):
        told = []
        monkeypatch.setattr(api.engine.events, "publish", lambda *event: told.append(event))
        first, second = double(b"Otters swim.\n", b"Herons wait.\n")
        told.clear()
        join(api)
        assert told == [
            ("document.changed", {"document_id": first}),
            ("document.deleted", {"document_id": second}),
        ]

    def test_vectors_of_both_models_are_kept_while_one_follows_the_other(self, api, double):
        _, second = double(b"Otters swim.\n", b"Herons wait.\n")
        store = api.engine.store
        store.models.want("other-hash")
        store.models.begin()
        with store.database.transaction() as query:
            for (chunk_id,) in query("SELECT id FROM chunks"):
                query(
                    "INSERT INTO other_vectors SELECT chunk_id, 'other-hash', code FROM vectors "
                    "WHERE chunk_id = :id",
                    id=chunk_id,
                )
            query("UPDATE totals SET value = 2 WHERE name = 'other_vectors'")
        [chunk] = api.document(second)["chunks"]
        join(api)
        totals = store.totals.read()
        assert (totals.chunks, totals.vectors, totals.next_vectors) == (1, 1, 1)
        with store.database.reading() as query:
            for table in ("vectors", "exact_vectors", "other_vectors"):
                assert query(f"SELECT chunk_id FROM {table}") == [(chunk["id"],)]


class TestRefusing:
    @pytest.fixture
    def group(self, api, double):
        double(b"Otters swim.\n", b"Herons wait.\n", tags=[["x"], ["y"]])
        return doubles(api)["doubles"][0]

    def refused(self, api, group):
        before = api.get("/documents").json()
        answer = join(api, group)
        assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
        assert "list the doubles again" in answer.json()["message"]
        assert api.get("/documents").json() == before

    @pytest.mark.parametrize("number", [0, 1])
    def test_what_was_changed_since_it_was_seen_is_not_joined(self, api, group, number):
        document_id = group["documents"][number]["id"]
        api.post(f"/documents/{document_id}/tags", {"tags": ["z"]})
        self.refused(api, group)
        assert join(api).status_code == 200

    def test_what_is_gone_meanwhile_is_not_joined(self, api, group):
        api.delete(f"/documents/{group['keep_id']}")
        self.refused(api, group)

    def test_a_group_is_joined_whole_or_not_at_all(self, api, double, group):
        double(b"Otters.\n", b"Herons.\n", b"Voles.\n", path="/b.txt")
        three = doubles(api)["doubles"][0]
        for chosen in (
            three["documents"][:2],
            [*group["documents"], *three["documents"]],
            [group["documents"][0], three["documents"][0]],
            [group["documents"][0]] * 2,
        ):
            self.refused(api, {**group, "documents": chosen})

    @pytest.mark.parametrize("ids", [[], [1], ["a", "b"], [0, 1], [2**63, 1], [1] * 1001, None])
    def test_what_are_no_ids_is_a_bad_request(self, api, ids):
        answer = api.post("/doubles/join", {"ids": ids})
        assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")

    def test_without_a_time_the_ids_are_enough(self, api, group):
        api.post(f"/documents/{group['keep_id']}/tags", {"tags": ["z"]})
        ids = [document["id"] for document in group["documents"]]
        assert api.post("/doubles/join", {"ids": ids[::-1]}).status_code == 200


class TestCopies:
    def test_the_same_content_under_several_paths_is_listed_for_information(self, api, double):
        first = api.add_file(b"Otters swim.\n", source_path="/a.txt")["document_id"]
        second = api.add_file(b"Otters swim.\n", source_path="/b.txt")["document_id"]
        note = api.add_note("Otters swim.\n")["document_id"]
        api.add_file(b"Herons wait.\n", source_path="/c.txt")
        double(b"Voles dig.\n", b"Voles dig.\n", path="/d.txt")
        page = api.get("/copies").json()
        assert page["total"] == 1
        [group] = page["copies"]
        assert [document["id"] for document in group["documents"]] == [first, second, note]
        assert group["content_hash"] == api.document(first)["content_hash"]
        ids = [first, second]
        assert api.post("/doubles/join", {"ids": ids}).status_code == 409
