-- Tells whether the passages are still those that were stored (text_hash.py). NULL: not made yet.
ALTER TABLE documents ADD COLUMN text_hash TEXT;
