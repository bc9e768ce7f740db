"""What a check of everything finds, one tampered thing at a time."""

import apsw
import pytest

from kb.engine.store.search.word_index_renewal import begin_anew
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.verify.checks import integrity
from kb.engine.verify.report import Report
from kb.engine.verify.run import CHECKS, Place, run
from kb.engine.verify.subject import Subject

TEXT = "# Otters\n\n" + "Otters swim in the river and sleep on their backs. " * 60


@pytest.fixture
def note(api):
    return api.add_note(TEXT, tags=["river"])["document_id"]


@pytest.fixture
def file(api):
    return api.add_file(b"Herons stand in the reeds.\n" * 30, "heron.txt")["document_id"]


@pytest.fixture
def subject(engine):
    return Subject(engine.store.database, engine.files.folder, terms)


@pytest.fixture
def report(subject, note, file):
    """Run all checks; what they found."""

    def report(start=None):
        found = Report()
        for place, progress in run(subject, *([start] if start else [])):
            found.add(place.check, progress.done, progress.findings, progress.originals)
        return found

    return report


@pytest.fixture
def change(engine, note, file):
    """A statement past everything that keeps tables in step."""

    def change(sql, **values):
        with engine.store.database.transaction() as query:
            query(sql, **values)

    return change


def whats(report):
    return {finding.what for finding in report.findings}


def test_a_store_as_it_should_be_is_whole_and_all_of_it_was_looked_at(report):
    found = report()
    assert found.findings == []
    assert set(found.checked) >= set(CHECKS) - {"placed words", "missing texts"}
    assert found.checked["documents"] == found.checked["jobs"] == 2
    assert found.checked["originals"] == 1
    assert found.checked["words"] == found.checked["passages"] > 4


def test_originals_are_counted_as_in_a_backup_with_those_of_failed_jobs(api, engine, report):
    api.add_file(b"\x00\xff" * 40, "unread.bin")
    backed_up = engine.store.originals.names()
    assert report().checked["originals"] == len(backed_up) == 2


OTHER_PASSAGES = "Its passages are not those that were stored"
OTHER_TEXT = "Its text is not the one that was stored"
OTHER_TERMS = "The scoring data of a passage does not fit its text"
OTHER_WORDS = "The word index has other words than a passage"
GONE_WORDS = "The word index has words of passage 999, which is gone"
NOT_NUMBERED = "Its passages are not numbered one after another"
# What was changed behind the store's back, and what is found of it.
IN_THE_DATABASE = {
    "UPDATE chunks SET text = replace(text, 'k', 'x') WHERE document_id = 1": OTHER_PASSAGES,
    "UPDATE chunks SET page = 7 WHERE document_id = 2 AND seq = 0": OTHER_PASSAGES,
    "UPDATE documents SET content_hash = 'x' WHERE id = 1": OTHER_TEXT,
    "UPDATE documents SET chunk_count = 99 WHERE id = 1": "instead of 99",
    "UPDATE chunks SET seq = 77 WHERE document_id = 2 AND seq = 0": NOT_NUMBERED,
    "UPDATE documents SET metadata = '{' WHERE id = 1": "Its metadata cannot be read",
    "UPDATE jobs SET status = 'sleeping'": "which is no valid state of a job",
    "UPDATE jobs SET status = 'queued'": "holds nothing to do",
    "UPDATE jobs SET lease = 'x'": "still holds what it was to do",
    "UPDATE jobs SET has_text = 1": "has lost the text that was sent with it",
}
IN_AN_INDEX = {
    "UPDATE chunk_terms SET body = x'00000000'": OTHER_TERMS,
    "DELETE FROM chunk_terms WHERE chunk_id = 1": OTHER_TERMS,
    "UPDATE vectors SET model = 'other'": "A vector is of other instead of",
    "UPDATE vectors SET code = x'00'": "A vector has the wrong length",
    "DELETE FROM exact_vectors WHERE chunk_id = 1": "A vector has the wrong length",
    "UPDATE exact_vectors SET vector = zeroblob(768)": "The two forms of a vector differ",
    "INSERT INTO words (rowid, body, head) VALUES (2, 'more', '')": OTHER_WORDS,
    "INSERT INTO words (rowid, body, head) VALUES (999, 'more', '')": GONE_WORDS,
    "UPDATE totals SET value = 5 WHERE name = 'notes'": "The total of notes",
    "INSERT INTO tags (name) VALUES ('lonely')": "The tag lonely is on no document",
}


@pytest.mark.parametrize(
    ("kind", "sql", "what"),
    [
        *(("database", sql, what) for sql, what in IN_THE_DATABASE.items()),
        *(("index", sql, what) for sql, what in IN_AN_INDEX.items()),
    ],
)
def test_what_does_not_agree_is_found(report, change, note, file, kind, sql, what):
    assert (note, file) == (1, 2)
    change(sql)
    found = report()
    assert any(what in each for each in whats(found)), whats(found)
    assert {finding.kind for finding in found.findings if what in finding.what} == {kind}


def test_what_is_found_is_named_by_its_document(report, change, note):
    change("UPDATE chunks SET text = 'x' WHERE document_id = :id AND seq = 1", id=note)
    [finding] = report().of_kind("database")
    assert (finding.document_id, finding.title) == (note, "Otters")


class TestAnOriginal:
    @pytest.fixture
    def original(self, engine, file):
        _, name = engine.store.documents.stored_file(file)
        return engine.files.path(name)

    def test_that_is_missing_is_found(self, report, original, file):
        original.unlink()
        [finding] = report().findings
        assert (finding.kind, finding.document_id) == ("original", file)
        assert finding.what == "Its original is missing"

    def test_that_was_cut_is_found(self, report, original):
        original.write_bytes(original.read_bytes()[:-1])
        assert "instead of" in report().findings[0].what

    def test_that_has_other_bytes_is_found(self, report, original):
        original.write_bytes(original.read_bytes().replace(b"Herons", b"Egrets"))
        assert report().findings[0].what == "Its original has other bytes than were added"

    @pytest.mark.parametrize("left", [None, b"Egr"], ids=["missing", "cut"])
    def test_of_a_job_that_is_missing_or_cut_is_found(self, report, engine, api, left):
        api.submit_file(b"Egrets.\n", "egret.txt")
        [waiting] = engine.store.originals.names() - {engine.store.documents.stored_file(2)[1]}
        engine.files.path(waiting).unlink()
        if left is not None:
            engine.files.path(waiting).write_bytes(left)
        [finding] = report().findings
        assert (finding.kind, finding.job_id) == ("original", 3)


def test_what_was_put_off_is_no_finding(report, api, engine):
    """The words of a long document go bit by bit."""
    long = api.add_note("Egrets wade. " * 4000)["document_id"]
    api.delete(f"/documents/{long}")
    assert report().findings == []


def test_a_word_index_that_is_being_made_anew_is_left_alone(report, engine):
    with engine.store.database.transaction() as query:
        begin_anew(query, TERMS_VERSION)
    assert report().findings == []


def test_a_run_goes_on_from_where_it_was(report):
    found = report(Place("originals", 0))
    assert set(found.checked) == {"originals", "jobs"}


def test_sqlite_is_asked_by_connections_that_remember_nothing(subject, note, engine, monkeypatch):
    """One that was used before, asked while others write, calls a sound word index corrupt: about
    once in a hundred times."""
    opened, real = [], engine.store.database._reader

    def reader():
        opened.append(real())
        return opened[-1]

    monkeypatch.setattr(engine.store.database, "_reader", reader)
    assert [progress.findings for progress in integrity.check(subject, 0)] == [[], []]
    assert len(opened) == 2
    for connection in opened:
        with pytest.raises(apsw.ConnectionClosedError):
            connection.execute("SELECT 1")
