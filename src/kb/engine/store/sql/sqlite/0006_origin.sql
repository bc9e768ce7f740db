-- The machine that a source path belongs to, by a name that its clients choose; NULL: unknown.
ALTER TABLE documents ADD COLUMN origin TEXT;
ALTER TABLE jobs ADD COLUMN origin TEXT;
-- So that jobs can be told of a twin that was joined with another document.
CREATE INDEX jobs_by_twin ON jobs (duplicate_of) WHERE duplicate_of IS NOT NULL;
-- What an `updated` job has changed, as a JSON list; NULL for any other.
ALTER TABLE jobs ADD COLUMN changed TEXT;
