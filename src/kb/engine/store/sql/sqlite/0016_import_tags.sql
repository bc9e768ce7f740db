-- Tags that whoever imported a document gave to it, beside those that its source has; JSON. A later
-- run takes away what the source has no longer, and never these.
ALTER TABLE documents ADD COLUMN import_tags TEXT;
