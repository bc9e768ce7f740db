-- What an imported document is called in its source, and what the source said of it last, as a
-- digest. `import_left` is the time of its last change as the import left it: if it has another one
-- now, it was changed here.
ALTER TABLE documents ADD COLUMN import_source TEXT;
ALTER TABLE documents ADD COLUMN import_key TEXT;
ALTER TABLE documents ADD COLUMN import_digest TEXT;
ALTER TABLE documents ADD COLUMN import_left TEXT;
CREATE UNIQUE INDEX documents_by_import ON documents (import_source, import_key)
    WHERE import_source IS NOT NULL;
-- What is to stay of an imported document as it was, until its job has ended; JSON.
ALTER TABLE jobs ADD COLUMN arrival TEXT;
-- The name of this store's ids: in an export it says whose they are.
INSERT INTO facts VALUES ('numbering', lower(hex(randomblob(16))));
