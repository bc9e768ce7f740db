"""A real store in a temporary folder, and a quick way to fill it."""

import hashlib
import shutil

import apsw
import pytest

from kb.engine.embed import HashEmbedder
from kb.engine.store import Store
from kb.engine.text.terms import TERMS_VERSION, terms
from kb.engine.values import Chunk, Draft

EMBEDDER = HashEmbedder()


class Shelf:
    """A store, with what tests do to it again and again."""

    def __init__(self, path):
        self.store = Store(path, terms, TERMS_VERSION, EMBEDDER.name)
        self.store.models.load_vectors()
        self.database = self.store.database

    def add(self, *texts, title="Title", doc_type="note", tags=(), **fields):
        """A document with one chunk per text; its id."""
        joined = "".join(texts)
        draft = Draft(
            title=title,
            filename=None,
            doc_type=doc_type,
            format=doc_type,
            source_path=fields.pop("source_path", None),
            tags=tuple(tags),
            metadata={},
            content_hash=hashlib.sha256(joined.encode()).hexdigest(),
            size_bytes=len(joined.encode()),
            **fields,
        )
        return self.store.documents.add(draft, chunks(texts), EMBEDDER.embed(list(texts))).id

    def replace(self, document_id, *texts, **fields):
        self.store.documents.replace_text(
            document_id,
            "".join(texts),
            "hash",
            chunks(texts),
            EMBEDDER.embed(list(texts)),
            **fields,
        )

    def sql(self, statement, **values):
        with self.database.reading() as query:
            return query(statement, **values)

    def matches(self, term):
        """How many chunks the word index finds for a term."""
        [(count,)] = self.sql("SELECT count(*) FROM words WHERE words MATCH :m", m=f'"{term}"')
        return count

    def indexed(self):
        """Everything in the word index: chunk id and column to its terms in order."""
        connection = apsw.Connection(str(self.store.path))
        connection.execute("CREATE VIRTUAL TABLE temp.v USING fts5vocab(main, words, instance)")
        found = {}
        for term, doc, column, offset in connection.execute("SELECT * FROM temp.v"):
            found.setdefault((doc, column), {})[offset] = term
        connection.close()
        return {key: [places[n] for n in sorted(places)] for key, places in found.items()}


def chunks(texts):
    return [Chunk(text, seq) for seq, text in enumerate(texts)]


@pytest.fixture(scope="session")
def make_shelf():
    """To open a store on a path of one's own; `shelf` is the one to use otherwise."""
    return Shelf


@pytest.fixture(scope="session")
def empty_store(tmp_path_factory):
    """A new store, to be copied: to make one takes longer than most tests."""
    path = tmp_path_factory.mktemp("empty") / "store.db"
    Shelf(path).store.close()
    return path


@pytest.fixture
def open_shelf(tmp_path, empty_store):
    """To open the store of this test, also a second time."""
    opened = []

    def open_(name="store.db"):
        if not (tmp_path / name).exists():
            shutil.copyfile(empty_store, tmp_path / name)
        opened.append(Shelf(tmp_path / name))
        return opened[-1]

    yield open_
    for shelf in opened:
        shelf.store.close()


@pytest.fixture
def shelf(open_shelf):
    return open_shelf()


@pytest.fixture
def store(shelf):
    return shelf.store
