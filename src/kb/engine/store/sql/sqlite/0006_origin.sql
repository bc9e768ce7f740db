-- The machine that a source path belongs to, by a name that its clients choose; NULL: unknown.
ALTER TABLE documents ADD COLUMN origin TEXT;
ALTER TABLE jobs ADD COLUMN origin TEXT;
-- What an `updated` job has changed, as a JSON list; NULL for any other.
ALTER TABLE jobs ADD COLUMN changed TEXT;
