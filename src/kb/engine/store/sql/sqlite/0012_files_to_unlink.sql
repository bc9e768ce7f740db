-- Originals that were given up on request: noted in the transaction that takes their name out of the
-- last row, so that the next start unlinks for sure what a kill left. Whichever way a name goes, it is
-- noted here; a name that moved on to another row is not.
CREATE TABLE files_to_unlink (
    name TEXT PRIMARY KEY
) WITHOUT ROWID;
CREATE INDEX documents_by_file ON documents (stored_name) WHERE stored_name IS NOT NULL;
CREATE TRIGGER files_of_deleted_documents AFTER DELETE ON documents
WHEN old.stored_name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM documents WHERE stored_name = old.stored_name)
BEGIN INSERT OR IGNORE INTO files_to_unlink VALUES (old.stored_name); END;
CREATE TRIGGER files_of_changed_documents AFTER UPDATE OF stored_name ON documents
WHEN old.stored_name IS NOT new.stored_name AND old.stored_name IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM documents WHERE stored_name = old.stored_name)
BEGIN INSERT OR IGNORE INTO files_to_unlink VALUES (old.stored_name); END;
CREATE TRIGGER files_of_deleted_jobs AFTER DELETE ON jobs
WHEN old.stored_name IS NOT NULL AND NOT EXISTS (SELECT 1 FROM documents WHERE stored_name = old.stored_name)
BEGIN INSERT OR IGNORE INTO files_to_unlink VALUES (old.stored_name); END;
CREATE TRIGGER files_of_ended_jobs AFTER UPDATE OF stored_name ON jobs
WHEN old.stored_name IS NOT new.stored_name AND old.stored_name IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM documents WHERE stored_name = old.stored_name)
BEGIN INSERT OR IGNORE INTO files_to_unlink VALUES (old.stored_name); END;
