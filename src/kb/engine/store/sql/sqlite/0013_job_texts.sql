-- The text of a note until it is a document, beside its job and not in its row: where the text has
-- gone out of a row, the rest of the row keeps the page, and no page would ever be free again.
CREATE TABLE job_texts (
    job_id INTEGER PRIMARY KEY REFERENCES jobs (id) ON DELETE CASCADE,
    text TEXT NOT NULL
);
INSERT INTO job_texts SELECT id, text FROM jobs WHERE text IS NOT NULL ORDER BY id;
ALTER TABLE jobs ADD COLUMN has_text INTEGER NOT NULL DEFAULT 0;
UPDATE jobs SET has_text = 1 WHERE text IS NOT NULL;
ALTER TABLE jobs DROP COLUMN text;
