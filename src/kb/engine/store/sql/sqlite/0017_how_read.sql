-- How a file was read: reader, pages, share of its words, warnings; JSON. NULL for notes, and for
-- files that were read before this was noted.
ALTER TABLE documents ADD COLUMN how_read TEXT;
