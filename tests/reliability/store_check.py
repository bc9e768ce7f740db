"""A data folder in, everything that is wrong with it out.

Looks at the files themselves, past the engine, and knows what must agree with what. It works on a
copy in memory, taken by a connection that only reads, so a running engine is not disturbed.
"""

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import apsw
import numpy as np

from kb.engine.embed import HashEmbedder, OtherHashEmbedder
from kb.engine.ingest.passages.chunk import embedding_text
from kb.engine.scoring import fingerprints
from kb.engine.store.rows.chunk_rows import head_line
from kb.engine.store.rows.search_names import called
from kb.engine.store.search.chunk_index import quantise
from kb.engine.store.search.word_search import as_row
from kb.engine.text.terms import terms
from kb.engine.values import Chunk, written

_EMBEDDERS = {each.name: each() for each in (HashEmbedder, OtherHashEmbedder)}
# A campaign, beside which others work, has more. The engine closes what is idle for 75 seconds.
settle_seconds = 30.0


@dataclass(frozen=True, slots=True)
class StoredDocument:
    id: int
    text: str
    tags: frozenset[str]


@dataclass(frozen=True, slots=True)
class StoredJob:
    status: str
    outcome: str | None
    document_id: int | None
    holds: bool = False  # something to be tried again


@dataclass(slots=True)
class Found:
    """What is in a folder: documents by their path, jobs by their idempotency key.

    `unhappy` are the keys of jobs that failed or were cancelled, which somebody has to expect.
    """

    violations: list[str] = field(default_factory=list)
    documents: dict[str, list[StoredDocument]] = field(default_factory=dict)
    jobs: dict[str, StoredJob] = field(default_factory=dict)
    unhappy: set[str] = field(default_factory=set)
    originals: set[str] = field(default_factory=set)


def check_store(
    folder: Path,
    joined: bool = False,
    ends: Collection[str] = (),
    newest: str | None = None,
    at_work: bool = False,
) -> Found:
    """Every way in which the tables and files of an idle store may disagree.

    A document that was `joined` has the jobs of all that it was. `ends` are those of jobs that are
    not wrong in themselves, beside a good one. A file that nothing names may lie there if it is
    younger than the `newest` job that there was when the engine started. In a store that is still
    `at_work`, jobs and a change of the model need not have come to their end, and no engine is
    there to be waited for.
    """
    return _Check(folder, joined, ends, newest, at_work).run()


def copied(database: Path) -> apsw.Connection:
    """A database as it stands, in memory."""
    source = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY, vfs="unix")
    source.set_busy_timeout(5000)
    copy = apsw.Connection(":memory:")
    with copy.backup("main", source, "main") as backup:
        backup.step()
    source.close()
    return copy


def _settled(database: Path, patience: float) -> apsw.Connection:
    """A copy of a store that has done what it had put off, or should have."""
    deadline = time.monotonic() + patience
    while True:
        copy = copied(database)
        if not copy.execute("SELECT 1 FROM words_to_forget LIMIT 1").fetchall():
            return copy
        if time.monotonic() > deadline:
            return copy
        copy.close()
        time.sleep(0.01)


class _Check:
    def __init__(
        self, folder: Path, joined: bool, ends: Collection[str], newest: str | None, at_work: bool
    ) -> None:
        self._newest = newest
        self._at_work = at_work
        self._folder = folder
        self._joined = joined
        self._ends = ends
        self._patience = 0.0 if at_work else settle_seconds
        self._copy = _settled(folder / "store.db", self._patience)
        self._found = Found()

    def run(self) -> Found:
        self._database()
        self._documents()
        self._chunks()
        self._words()
        self._totals()
        self._jobs()
        self._files()
        self._copy.close()
        return self._found

    def _rows(self, sql: str) -> list[Any]:
        return self._copy.execute(sql).fetchall()

    def _column(self, sql: str) -> set[Any]:
        return {row[0] for row in self._rows(sql)}

    def _wrong(self, what: str) -> None:
        self._found.violations.append(what)

    def _expect(self, what: str, found: object, expected: object) -> None:
        if found != expected:
            self._wrong(f"{what}: {str(found)[:300]} instead of {str(expected)[:300]}")

    def _database(self) -> None:
        self._expect("integrity", self._rows("PRAGMA integrity_check"), [("ok",)])
        self._expect("foreign keys", self._rows("PRAGMA foreign_key_check"), [])
        try:
            self._copy.execute("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
        except apsw.Error as error:
            self._wrong(f"word index: {error}")

    def _documents(self) -> None:
        """Chunks, joined, are the text; a file's text is what its bytes say."""
        texts: dict[int, list[str]] = {}
        for document_id, text in self._rows("SELECT document_id, text FROM chunks ORDER BY seq"):
            texts.setdefault(document_id, []).append(text)
        tags: dict[int, set[str]] = {}
        for document_id, tag in self._rows(
            "SELECT document_id, name FROM document_tags JOIN tags ON tags.id = tag_id"
        ):
            tags.setdefault(document_id, set()).add(tag)
        for document_id, path, content_hash, size, stored_name, chunk_count in self._rows(
            "SELECT id, source_path, content_hash, size_bytes, stored_name, chunk_count "
            "FROM documents"
        ):
            chunks = texts.get(document_id, [])
            content = "".join(chunks).encode()
            self._expect(f"document {document_id} chunk_count", chunk_count, len(chunks))
            self._expect(f"document {document_id} size", size, len(content))
            digest = hashlib.sha256(content).hexdigest()
            self._expect(f"document {document_id} text has the hash", digest, content_hash)
            if stored_name is not None:
                self._found.originals.add(stored_name)
                self._original(document_id, stored_name, content)
            stored = StoredDocument(
                document_id, content.decode(), frozenset(tags.get(document_id, ()))
            )
            self._found.documents.setdefault(path, []).append(stored)

    def _original(self, document_id: int, name: str, content: bytes) -> None:
        path = self._folder / "store-files" / name
        if not path.exists():
            self._wrong(f"document {document_id}: its file is missing")
        elif path.read_bytes() != content:
            self._wrong(f"document {document_id}: its file and its text differ")

    def _chunks(self) -> None:
        ids = self._column("SELECT id FROM chunks")
        facts = dict(self._rows("SELECT name, value FROM facts"))
        other = "other_" if int(facts.get("vectors_place", 0)) else ""
        for table in ("chunk_terms", f"{other}vectors", f"{other}exact_vectors"):
            found = self._column(f"SELECT chunk_id FROM {table}")
            if self._at_work and table != "chunk_terms":  # some are still to be made
                self._expect(f"chunks in {table} alone", found - ids, set())
            else:
                self._expect(f"chunks in {table}", found, ids)
        self._expect(
            "documents whose chunks do not count from 0",
            self._rows(
                "SELECT document_id FROM chunks GROUP BY document_id "
                "HAVING min(seq) <> 0 OR max(seq) <> count(*) - 1"
            ),
            [],
        )
        self._expect(
            "orphan tags",
            self._rows("SELECT name FROM tags WHERE id NOT IN (SELECT tag_id FROM document_tags)"),
            [],
        )
        for chunk_id, *names, text, headings, header, body, head, code, exact in self._rows(
            "SELECT chunks.id, title, filename, source_path, text, headings, table_header, "
            "body, head, code, vector FROM chunks JOIN documents ON documents.id = document_id "
            "JOIN chunk_terms ON chunk_terms.chunk_id = chunks.id "
            f"JOIN {other}vectors AS vectors ON vectors.chunk_id = chunks.id "
            f"JOIN {other}exact_vectors AS exact_vectors ON exact_vectors.chunk_id = chunks.id"
        ):
            path = tuple(json.loads(headings))
            self._expect(f"terms of chunk {chunk_id}", body, fingerprints(terms(text)))
            heading_terms = terms(head_line(called(*names), path))
            self._expect(f"heading terms of chunk {chunk_id}", head, fingerprints(heading_terms))
            made = _vector(facts["model"], names[0], text, path, header)
            if not self._at_work and (code, exact) != made:  # a new title changes no vector
                self._wrong(f"chunk {chunk_id}: its vector is not that of its text")

    def _words(self) -> None:
        """The word index holds the words of exactly these chunks."""
        self._expect("words to forget", self._column("SELECT chunk_id FROM words_to_forget"), set())
        self._copy.execute(
            "CREATE VIRTUAL TABLE temp.inside USING fts5vocab(main, words, instance)"
        )
        indexed: dict[int, dict[str, str]] = {}
        for chunk_id, column, row in self._rows(
            "SELECT doc, col, group_concat(term, ' ' ORDER BY \"offset\") "
            "FROM temp.inside GROUP BY doc, col"
        ):
            indexed.setdefault(chunk_id, {})[column] = row
        expected: dict[int, dict[str, str]] = {}
        for chunk_id, *names, text, headings in self._rows(
            "SELECT chunks.id, title, filename, source_path, text, headings "
            "FROM chunks JOIN documents ON documents.id = document_id"
        ):
            head = terms(head_line(called(*names), json.loads(headings)))
            columns = {"body": as_row(terms(text)), "head": as_row(head)}
            expected[chunk_id] = {name: row for name, row in columns.items() if row}
        for chunk_id in indexed.keys() | expected.keys():
            if indexed.get(chunk_id) != expected.get(chunk_id):
                self._wrong(f"chunk {chunk_id}: the word index has other words than its text")

    def _totals(self) -> None:
        counted = {
            "documents": "SELECT count(*) FROM documents",
            "notes": "SELECT count(*) FROM documents WHERE doc_type = 'note'",
            "chunks": "SELECT count(*) FROM chunks",
            "terms": "SELECT COALESCE(sum(length(body) + length(head)) / 4, 0) FROM chunk_terms",
            "vectors": "SELECT count(*) FROM vectors",
            "other_vectors": "SELECT count(*) FROM other_vectors",
            "file_bytes": "SELECT COALESCE(sum(size_bytes), 0) FROM documents "
            "WHERE stored_name IS NOT NULL",
        }
        kept = dict(self._rows("SELECT name, value FROM totals WHERE name <> 'commits'"))
        self._expect("totals", kept, {name: self._rows(sql)[0][0] for name, sql in counted.items()})

    def _jobs(self) -> None:
        added: Counter[int] = Counter()
        for job_id, key, status, outcome, document_id, left in self._rows(
            "SELECT id, idempotency_key, status, outcome, document_id, "
            "COALESCE(job_texts.text, stored_name, lease) FROM jobs "
            "LEFT JOIN job_texts ON job_id = jobs.id"
        ):
            if key is not None:
                self._found.jobs[key] = StoredJob(status, outcome, document_id, left is not None)
            if self._at_work and status != "done":
                continue
            if status in self._ends and key is not None:
                self._found.unhappy.add(key)
            elif status != "done":
                self._wrong(f"job {job_id} is {status}")
            if status != "failed" and left is not None:
                self._wrong(f"job {job_id} has ended and still holds {left[:40]!r}")
            added[document_id] += outcome == "added"
        for document_id in self._column("SELECT id FROM documents"):
            if not self._joined and not self._at_work:
                self._expect(f"jobs that added document {document_id}", added[document_id], 1)

    def _written(self, name: str) -> str:
        """When a file was, as rows say it; one that is gone meanwhile never."""
        try:
            modified = (self._folder / "store-files" / name).stat().st_mtime
        except FileNotFoundError:
            return ""
        return written(datetime.fromtimestamp(modified, UTC))

    def _files(self) -> None:
        """A file goes after its row, so one may stay for a moment."""
        needed = self._column(
            "SELECT stored_name FROM documents WHERE stored_name IS NOT NULL "
            "UNION SELECT stored_name FROM jobs WHERE stored_name IS NOT NULL"
        )
        deadline = time.monotonic() + self._patience
        while True:
            there = set(os.listdir(self._folder / "store-files")) - {"store-stamp"}
            if self._newest is not None:
                there -= {name for name in there - needed if self._written(name) > self._newest}
            if there == needed or time.monotonic() > deadline:
                break
            time.sleep(0.01)
        self._expect("files that nothing names", there - needed, set())
        self._expect("files that are missing", needed - there, set())
        left = [path.name for path in (self._folder / "store-incoming").iterdir()]
        self._expect("spooled uploads", left, [])
        unknown = {path.name for path in self._folder.iterdir()} - _KNOWN_NAMES
        self._expect("unknown names in the data folder", unknown, set())


_KNOWN_NAMES = {
    "store-lost",
    "store.db",
    "store.db-wal",
    "store.db-shm",
    "store.lock",
    "store-reserve",
    "store-schema.json",
    "store-files",
    "store-incoming",
    "store-pictures",
}


@lru_cache(maxsize=20_000)
def _vector(
    model: str, title: str, text: str, headings: tuple[str, ...], header: str
) -> tuple[bytes, bytes]:
    """What a chunk's rows in `vectors` and `exact_vectors` must hold."""
    chunk = Chunk(text, 0, headings=headings, table_header=header)
    embedder = _EMBEDDERS[model]
    vector = embedder.embed_one(embedding_text(title, chunk, embedder.count_tokens))
    return quantise(vector).tobytes(), vector.astype(np.float16).tobytes()
