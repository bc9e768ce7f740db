-- Where the words stand on the pages that were recognised in pictures: from the file alone it could
-- only be had by recognising them once more. `words` is packed (placed.py).
CREATE TABLE page_words (
    id INTEGER PRIMARY KEY,
    document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    page INTEGER NOT NULL,
    words BLOB NOT NULL,
    UNIQUE (document_id, page)
);
