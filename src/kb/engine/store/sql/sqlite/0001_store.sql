-- The store of kb v3.
-- Ids are never used twice (AUTOINCREMENT): an agent may hold one for months.

CREATE TABLE documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    title TEXT NOT NULL,
    title_given INTEGER NOT NULL DEFAULT 0,  -- by a person: new bytes do not change it
    filename TEXT,
    doc_type TEXT NOT NULL,
    format TEXT NOT NULL,
    source_path TEXT,
    content_hash TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    processing_method TEXT NOT NULL,
    stored_name TEXT,               -- the original below store-files/, NULL for notes
    chunk_count INTEGER NOT NULL,
    created_at TEXT NOT NULL,
    updated_at TEXT                 -- NULL until changed
);
CREATE INDEX documents_by_recency ON documents (COALESCE(updated_at, created_at) DESC, id DESC);
CREATE INDEX documents_by_path ON documents (source_path) WHERE source_path IS NOT NULL;
CREATE INDEX documents_by_hash ON documents (content_hash);

CREATE TABLE tags (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);
CREATE TABLE document_tags (
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    tag_id INTEGER NOT NULL REFERENCES tags (id),
    PRIMARY KEY (document_id, tag_id)
) WITHOUT ROWID;
CREATE INDEX documents_by_tag ON document_tags (tag_id, document_id);

-- Joined in order of seq, the chunks of a note are its text.
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid BLOB NOT NULL UNIQUE,
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    text TEXT NOT NULL,
    page INTEGER,
    location TEXT,
    start INTEGER NOT NULL,
    headings TEXT NOT NULL,         -- a JSON list, outermost first
    table_header TEXT NOT NULL,
    UNIQUE (document_id, seq)
);

-- What a candidate is scored by, without reading its text again: its terms, in order, as
-- 32-bit fingerprints.
CREATE TABLE chunk_terms (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    body BLOB NOT NULL,
    head BLOB NOT NULL
);

-- The word index holds terms, not text: `terms.py` makes them, and this tokenizer only splits at
-- spaces (every printable ASCII character but quotes is part of a term). It is contentless, so
-- whoever deletes a row hands in the terms it was made from.
CREATE VIRTUAL TABLE words USING fts5 (
    body, head, content = '',
    tokenize = 'ascii tokenchars ''!#$%&()*+,-./:;<=>?@[\]^_`{|}~'''
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
-- New words are gathered in memory up to this many bytes: with the usual one million, a long
-- document is written in many pieces that are merged at once, and takes four times as long.
INSERT INTO words (words, rank) VALUES ('hashsize', 16777216);

-- Chunks whose old words are still to be taken out of the index, bit by bit: they are gone, or
-- their document has another title now. What the old words were made from stands here.
CREATE TABLE words_to_forget (
    chunk_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    headings TEXT NOT NULL,
    text TEXT NOT NULL
);

-- int8 for the scan in memory apart from float16 for the exact score, so that loading the former
-- at start does not read the latter.
CREATE TABLE vectors (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    code BLOB NOT NULL
);
CREATE TABLE exact_vectors (
    chunk_id INTEGER PRIMARY KEY REFERENCES vectors (chunk_id) ON DELETE CASCADE,
    vector BLOB NOT NULL
);

-- Feeds the index in memory; emptied at start, when that is loaded whole.
CREATE TABLE change_log (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    chunk_id INTEGER NOT NULL,
    document_id INTEGER NOT NULL,
    chunk_seq INTEGER NOT NULL,
    change TEXT NOT NULL            -- 'added', 'embedded', 'renamed', 'removed'
);

CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    uid TEXT NOT NULL UNIQUE,
    status TEXT NOT NULL,
    kind TEXT NOT NULL,             -- 'note' or 'file'
    text TEXT,                      -- a note's text until it is a document
    stored_name TEXT,               -- a file's bytes below store-files/ until they are a document's
    filename TEXT,
    title TEXT,
    source_path TEXT,
    tags TEXT,                      -- a JSON list, NULL when none were sent
    metadata TEXT,
    force_ocr INTEGER NOT NULL DEFAULT 0,
    content_hash TEXT,
    size_bytes INTEGER NOT NULL DEFAULT 0,
    idempotency_key TEXT UNIQUE,
    attempts INTEGER NOT NULL DEFAULT 0,
    lease TEXT,                     -- who works on it: every write of a worker names its lease
    outcome TEXT,
    document_id INTEGER,
    document_uid TEXT,
    chunk_count INTEGER,
    duplicate_of INTEGER,
    error_code TEXT,
    error_message TEXT,
    created_at TEXT NOT NULL,
    started_at TEXT,
    finished_at TEXT
);
-- With the size, so that what waits is summed up without reading past the texts of long notes.
CREATE INDEX jobs_by_status ON jobs (status, id, size_bytes);
CREATE INDEX jobs_by_document ON jobs (document_id) WHERE document_id IS NOT NULL;

-- Running totals, changed in the transaction that changes what they count.
CREATE TABLE totals (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO totals VALUES ('documents', 0), ('notes', 0), ('chunks', 0), ('terms', 0), ('vectors', 0), ('file_bytes', 0);

-- What the data was made with, and what has been done to it.
CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) WITHOUT ROWID;
