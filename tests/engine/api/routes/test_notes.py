"""Notes: added with a title of their own, changed in place, all or nothing."""

import json
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kb.engine.embed import HashEmbedder
from kb.engine.errors import EmbeddingFailed
from kb.engine.search.answers import Question

LONGEST = 1_000_000
LONG = "\n\n".join(
    f"Paragraph {number} tells of otters. " + "They swim. " * 60 for number in range(8)
)


@pytest.fixture
def note(api):
    return api.add_note("Otters\n\nThey swim in rivers.", tags=["animal"])["document_id"]


def rows(engine, document_id):
    """Everything that the store holds of a document, vectors and terms included."""
    with engine.store.database.reading() as query:
        return [
            query("SELECT * FROM documents WHERE id = :id", id=document_id),
            query("SELECT * FROM chunks WHERE document_id = :id ORDER BY seq", id=document_id),
            *(
                query(
                    f"SELECT * FROM {table} WHERE chunk_id IN "
                    "(SELECT id FROM chunks WHERE document_id = :id) ORDER BY chunk_id",
                    id=document_id,
                )
                for table in ("chunk_terms", "vectors", "exact_vectors")
            ),
        ]


class TestTitles:
    @pytest.mark.parametrize(
        ("text", "title"),
        [
            ("One line", "One line"),
            ("\n\n  First words \nand more", "First words"),
            ("# Heading\n\ntext", "Heading"),
            ("x" * 80, "x" * 80),
            ("x" * 100, "x" * 79 + "…"),
            ("水" * 100, "水" * 79 + "…"),
            ("word, " * 20, "word, " * 12 + "word…"),
            ("a " + "b" * 100, "a " + "b" * 77 + "…"),
            ("---\n", "---"),
            ("###\n", "Note"),
        ],
    )
    def test_a_note_without_a_title_is_called_after_its_first_line(self, api, text, title):
        assert api.document(api.add_note(text)["document_id"])["title"] == title

    def test_a_title_that_was_given_stays_when_the_text_changes(self, api):
        document_id = api.add_note("Otters swim.", title="Mine")["document_id"]
        assert api.patch(f"/notes/{document_id}", {"text": "Herons"}).json()["title"] == "Mine"

    def test_a_title_that_was_derived_follows_the_text(self, api, note):
        assert api.patch(f"/notes/{note}", {"text": "Herons\nwait"}).json()["title"] == "Herons"

    def test_a_title_that_was_cut_by_an_older_version_follows_the_text_too(self, api):
        text = "Otters swim and dive. " * 10
        document_id = api.add_note(text)["document_id"]
        api.patch(f"/documents/{document_id}", {"title": text[:80]})
        changed = api.patch(f"/notes/{document_id}", {"text": "Herons"}).json()
        assert changed["title"] == "Herons"

    def test_a_title_can_be_given_with_the_new_text(self, api, note):
        changed = api.patch(f"/notes/{note}", {"text": "Herons", "title": "Birds"}).json()
        assert changed["title"] == "Birds"
        assert api.patch(f"/notes/{note}", {"text": "Storks"}).json()["title"] == "Birds"


class TestChanging:
    def test_the_text_is_replaced_in_place(self, api, note):
        before = api.document(note)
        after = api.patch(f"/notes/{note}", {"text": "Herons\n\nThey wait."}).json()
        same = ("id", "uid", "created_at", "tags", "source_path", "metadata", "doc_type")
        assert {name: after[name] for name in same} == {name: before[name] for name in same}
        assert after["text"] == "Herons\n\nThey wait."
        assert after["updated_at"] > before["created_at"]
        assert after["content_hash"] != before["content_hash"]
        assert after["size_bytes"] == len("Herons\n\nThey wait.")
        assert api.document(note) == after

    def test_new_words_are_found_and_old_ones_are_not(self, api, note):
        api.patch(f"/notes/{note}", {"text": "Herons wait."})
        assert [hit["document_id"] for hit in api.search("herons", fts_only=True)] == [note]
        assert api.search("otters rivers", fts_only=True) == []

    def test_a_long_text_comes_back_as_it_was_sent(self, api, note):
        text = f"  \n{LONG}\r\n\tend \n\n"
        changed = api.patch(f"/notes/{note}", {"text": text}).json()
        assert changed["text"] == text
        assert changed["chunk_count"] == len(changed["chunks"]) > 3

    def test_only_notes_can_be_changed(self, api):
        job = api.add_file(b"About herons.\n")
        answer = api.patch(f"/notes/{job['document_id']}", {"text": "Otters"})
        assert (answer.status_code, answer.json()["error"]) == (409, "not_a_note")

    def test_a_note_that_is_not_there_is_not_found(self, api):
        assert api.patch("/notes/17", {"text": "x"}).json()["error"] == "document_not_found"

    @pytest.mark.parametrize(
        "body", [{}, {"text": ""}, {"text": " \n"}, {"text": "a\0b"}, {"text": "x", "tags": []}]
    )
    def test_what_cannot_be_used_changes_nothing(self, api, note, body):
        assert api.patch(f"/notes/{note}", body).status_code == 422
        assert api.document(note)["updated_at"] is None

    @pytest.mark.parametrize("path", ["/jobs", "/notes/{note}"])
    def test_half_a_character_is_refused(self, api, note, path):
        answer = api.request(
            "POST" if path == "/jobs" else "PATCH",
            path.format(note=note),
            content='{"text": "half \\ud800 a pair"}',
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == 422
        assert api.engine.worker.finish_jobs() == 0


class TestConflicts:
    def test_a_change_goes_through_when_nothing_happened_since(self, api, note):
        seen = api.document(note)["created_at"]
        answer = api.patch(f"/notes/{note}", {"text": "Herons", "if_updated_at": seen})
        assert answer.status_code == 200
        seen = answer.json()["updated_at"]
        answer = api.patch(f"/notes/{note}", {"text": "Storks", "if_updated_at": seen})
        assert answer.status_code == 200

    def test_a_change_is_refused_when_another_came_before(self, api, note):
        seen = api.document(note)["created_at"]
        changed = api.patch(f"/notes/{note}", {"text": "Herons"}).json()
        answer = api.patch(f"/notes/{note}", {"text": "Storks", "if_updated_at": seen})
        assert (answer.status_code, answer.json()["error"]) == (409, "conflict")
        assert answer.json()["updated_at"] == changed["updated_at"]
        assert api.document(note) == changed

    @pytest.mark.parametrize(
        "seen", ["yesterday", "2026-01-31", "2026-01-31T12:00:00Z", "2026-13-31T12:00:00.000000Z"]
    )
    def test_what_is_no_time_as_kb_writes_them_is_no_conflict_but_a_mistake(self, api, note, seen):
        for route, change in (("notes", {"text": "Storks"}), ("documents", {"title": "Storks"})):
            answer = api.patch(f"/{route}/{note}", change | {"if_updated_at": seen})
            assert (answer.status_code, answer.json()["error"]) == (422, "invalid_request")
            assert "if_updated_at: must be the updated_at" in answer.json()["message"]

    def test_of_many_who_saw_the_same_one_wins(self, api, note):
        seen = api.document(note)["created_at"]

        def change(number):
            body = {"text": f"Text {number}", "if_updated_at": seen}
            return api.patch(f"/notes/{note}", body).status_code

        with ThreadPoolExecutor(8) as pool:
            assert sorted(pool.map(change, range(8))) == [200] + [409] * 7


class Failing(HashEmbedder):
    """Fails at one of the texts it is given."""

    def __init__(self, at):
        self._at = at

    def embed(self, texts):
        vectors = [self.embed_one(text) for text in texts[: self._at]]
        if len(texts) > self._at:
            raise EmbeddingFailed("The model failed on a text of 3 tokens")
        return np.array(vectors)


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_a_note_is_as_it_was_when_embedding_fails_at_any_passage(api, note, monkeypatch, at):
    api.patch(f"/notes/{note}", {"text": LONG})
    before = rows(api.engine, note)
    assert len(before[1]) > 4
    monkeypatch.setattr(api.engine.embedder, "_embedder", Failing(at))
    answer = api.patch(f"/notes/{note}", {"text": LONG.replace("otters", "herons")})
    assert (answer.status_code, answer.json()["error"]) == (500, "embedding_failed")
    assert rows(api.engine, note) == before
    monkeypatch.undo()
    assert api.search("herons", fts_only=True) == []


def test_eight_writers_leave_one_text_that_one_of_them_wrote(api, note):
    """Each text names its writer in every passage, so a mixture would show."""
    names = ("alder", "birch", "cedar", "ebony", "fir", "hazel", "larch", "maple")
    texts = {name: "\n\n".join([f"{name} stands. " * 60] * 3) for name in names}
    start = threading.Barrier(8)

    def write(writer):
        start.wait()
        for number in range(50):
            api.engine.library.revise_note(note, f"round{number} {texts[writer]}", None, None)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, names))
    document = api.document(note)
    first, text = document["text"].split(" ", 1)
    assert first == "round49"
    assert text in texts.values()
    assert document["chunk_count"] > 1
    assert [chunk["seq"] for chunk in document["chunks"]] == list(range(document["chunk_count"]))
    [words, chunks] = [rows(api.engine, note)[place] for place in (2, 1)]
    assert [row[0] for row in words] == [row[0] for row in chunks]
    others = set(names) - {text.split(" ", 1)[0]}
    assert [other for other in others if api.search(other, fts_only=True)] == []
    api.engine.store.database._writer.execute(
        "INSERT INTO words (words) VALUES ('integrity-check')"
    )


def test_a_search_during_changes_always_finds_the_note_old_or_new(api, note):
    """Both texts hold the word, so whichever is current, the note answers."""
    begun, stop = threading.Event(), threading.Event()
    library, search = api.engine.library, api.engine.searcher

    def change():
        number = 0
        while not stop.is_set():
            number += 1
            library.revise_note(note, f"otters number {number}", None, None)
            begun.set()

    with ThreadPoolExecutor(4) as pool:
        changes = pool.submit(change)
        try:
            assert begun.wait(60)
            for mode in ("words", "vectors", "hybrid") * 100:
                found = search.search(Question("otters", mode=mode)).results
                assert [hit.document_id for hit in found] == [note]
        finally:
            stop.set()
        changes.result()


SCRIPTS = {"English": "word ", "Chinese": "水獺在河裡", "emoji": "🦦🐟"}


class TestTheLongestNote:
    """A million characters, whatever the script and however JSON spells them."""

    def post(self, api, method, path, text, **options):
        return api.send(method, path, json.dumps({"text": text}, **options).encode())

    @pytest.mark.parametrize("escaped", [False, True])
    @pytest.mark.parametrize("script", SCRIPTS)
    def test_is_taken(self, api, script, escaped):
        text = (SCRIPTS[script] * 500_000)[:LONGEST]
        answer = self.post(api, "POST", "/jobs", text, ensure_ascii=escaped)
        assert answer.status_code == 202
        refused = self.post(api, "POST", "/jobs", text + "x", ensure_ascii=escaped)
        assert (refused.status_code, refused.json()["error"]) == (422, "invalid_request")
        assert refused.json()["message"] == (
            "text: a note has at most 1,000,000 characters; add a longer text as a file"
        )

    def test_can_take_the_place_of_a_short_one(self, api, note):
        text = "🦦" * LONGEST
        assert self.post(api, "PATCH", f"/notes/{note}", text).status_code == 200
        assert api.document(note)["text"] == text
        refused = self.post(api, "PATCH", f"/notes/{note}", text + "x")
        assert refused.status_code == 422
        assert api.document(note)["text"] == text

    @pytest.mark.long
    @pytest.mark.parametrize("script", SCRIPTS)
    def test_is_found_in_all_its_length(self, api, script):
        text = (SCRIPTS[script] * 500_000)[: LONGEST - 12] + " needlewords"
        job = api.add_note(text)
        assert job["status"] == "done"
        [hit, *_] = api.search("needlewords")
        assert hit["document_id"] == job["document_id"]
        chunks = api.document(job["document_id"])["chunks"]
        assert max(len(chunk["text"]) for chunk in chunks) < 2000

    def test_has_no_more_metadata_than_others(self, api):
        about = {"text": "Otters", "metadata": {"a": "x" * 2**20}}
        refused = api.post("/jobs", about)
        assert (refused.status_code, refused.json()["error"]) == (422, "invalid_request")
        assert "1 MB" in refused.json()["message"]
