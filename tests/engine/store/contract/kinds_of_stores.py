"""The kinds of store that the contract holds for, and what tests put into one.

Another kind is one more entry of `KINDS`.
"""

import hashlib
from dataclasses import dataclass

import pytest

from kb.engine.embed import HashEmbedder
from kb.engine.errors import JobLost
from kb.engine.store import Store
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.values import Chunk, Draft, NewJob, PicturesRead

MODEL = HashEmbedder()


def on_sqlite(folder, **settings):
    return Store(folder / "store.db", terms, TERMS_VERSION, MODEL.name, **settings)


KINDS = {"sqlite": on_sqlite}


@dataclass
class Made:
    """Documents and jobs made from a few words."""

    store: Store

    def draft(self, *texts, **fields):
        joined = "".join(texts).encode()
        values = {
            "title": "Title",
            "filename": None,
            "doc_type": "note",
            "format": "note",
            "source_path": None,
            "tags": (),
            "metadata": {},
            "content_hash": hashlib.sha256(joined).hexdigest(),
            "size_bytes": len(joined),
        }
        return Draft(**values | fields)

    def file(self, *texts, **fields):
        """The draft of a file, which has an original."""
        values = {"doc_type": "text", "format": "txt", "filename": "a.txt", "stored_name": "o" * 32}
        return self.draft(*texts, **values | fields)

    def document(self, *texts, **fields):
        """A document with one passage per text."""
        return self.add(self.draft(*texts, **fields), *texts)

    def add(self, draft, *texts):
        return self.store.documents.add(draft, chunks(texts), vectors(texts))

    def vectors_of(self, passages):
        return vectors([passage.text for passage in passages])

    def job(self, text="otters swim", is_file=False, **fields):
        """A job that was queued."""
        values = {
            "kind": "note",
            "content_hash": hashlib.sha256(text.encode()).hexdigest(),
            "size_bytes": len(text.encode()),
            "text": None if is_file else text,
        }
        new, _ = self.store.jobs.add(NewJob(**values | fields))
        return new

    def file_job(self, content, **fields):
        """The same of a file, whose bytes are stored already."""
        values = {"kind": "file", "filename": "a.txt", "stored_name": content * 4}
        return self.job(content, is_file=True, **values | fields)

    def finish(self, taken, *texts, message="", **fields):
        """End a job as a worker does, with the document that its request asks for."""
        request = taken.request
        values = {
            "title": request.title or "Title",
            "doc_type": "note" if request.kind == "note" else "text",
            "format": "note" if request.kind == "note" else "txt",
            "filename": request.filename,
            "source_path": request.source_path,
            "tags": request.tags,
            "metadata": request.metadata,
            "content_hash": request.content_hash,
            "size_bytes": request.size_bytes,
            "stored_name": request.stored_name,
            "origin": request.origin,
        }
        draft = self.draft(**values | fields)
        return self.store.jobs.finish(taken, draft, chunks(texts), vectors(texts), message)

    def nothing_of(self, taken):
        """Nothing can be done in the name of a job that is not this worker's any more."""
        jobs, none = self.store.jobs, self.vectors_of([])
        for attempt in (
            lambda: self.finish(taken, "otters"),
            lambda: jobs.finish_unread(taken),
            lambda: jobs.fail(taken, "x", "y"),
            lambda: jobs.release(taken),
            lambda: jobs.needs_pictures(taken, 3),
            lambda: jobs.add_pictures(taken, PicturesRead(0), [], none),
        ):
            with pytest.raises(JobLost):
                attempt()

    def ingest(self, *texts, **fields):
        """One job from its request to its end."""
        self.job("".join(texts), **fields)
        return self.finish(self.store.jobs.take(), *texts).job

    def by_word(self, word, filter_=None, limit=50):
        """The texts that the word finds, best first."""
        with self.store.look(filter_) as look:
            counts = look.statistics([word], []).term_counts
            return look.texts(look.by_words([word], counts, limit))

    def nearest(self, text, filter_=None, limit=1):
        with self.store.look(filter_) as look:
            return look.texts(look.by_vector(MODEL.embed_one(text), limit))


def chunks(texts):
    return [Chunk(text, seq) for seq, text in enumerate(texts)]


def vectors(texts):
    return MODEL.embed(list(texts))
