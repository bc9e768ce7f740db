-- A leaf of the word index is to fit a page of the database, of which 8 bytes are a checksum. FTS5's own 4,050 are
-- one byte too many: nearly every leaf had an overflow page, and lost it with the first deletion of one of its
-- words, which moved most of the index about.
INSERT INTO words (words, rank) VALUES ('pgsz', 4042);
