-- A file that a second row names is not given up with the first one, whichever two they are. After
-- damage a job may name the original of a document, or the file of another job.
CREATE INDEX jobs_by_file ON jobs (stored_name) WHERE stored_name IS NOT NULL;
DROP TRIGGER files_of_deleted_documents;
DROP TRIGGER files_of_changed_documents;
DROP TRIGGER files_of_deleted_jobs;
DROP TRIGGER files_of_ended_jobs;
CREATE TRIGGER files_of_deleted_documents AFTER DELETE ON documents
WHEN old.stored_name IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM documents WHERE stored_name = old.stored_name)
AND NOT EXISTS (SELECT 1 FROM jobs WHERE stored_name = old.stored_name)
BEGIN INSERT OR IGNORE INTO files_to_unlink VALUES (old.stored_name); END;
CREATE TRIGGER files_of_changed_documents AFTER UPDATE OF stored_name ON documents
WHEN old.stored_name IS NOT new.stored_name AND old.stored_name IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM documents WHERE stored_name = old.stored_name)
AND NOT EXISTS (SELECT 1 FROM jobs WHERE stored_name = old.stored_name)
BEGIN INSERT OR IGNORE INTO files_to_unlink VALUES (old.stored_name); END;
CREATE TRIGGER files_of_deleted_jobs AFTER DELETE ON jobs
WHEN old.stored_name IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM documents WHERE stored_name = old.stored_name)
AND NOT EXISTS (SELECT 1 FROM jobs WHERE stored_name = old.stored_name)
BEGIN INSERT OR IGNORE INTO files_to_unlink VALUES (old.stored_name); END;
CREATE TRIGGER files_of_ended_jobs AFTER UPDATE OF stored_name ON jobs
WHEN old.stored_name IS NOT new.stored_name AND old.stored_name IS NOT NULL
AND NOT EXISTS (SELECT 1 FROM documents WHERE stored_name = old.stored_name)
AND NOT EXISTS (SELECT 1 FROM jobs WHERE stored_name = old.stored_name)
BEGIN INSERT OR IGNORE INTO files_to_unlink VALUES (old.stored_name); END;
