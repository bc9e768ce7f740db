-- Which store this is, for the folder of originals to carry the same mark, and how many commits have
-- changed something: a folder that has seen more of them than the database is newer than that.
INSERT INTO facts VALUES ('store_id', lower(hex(randomblob(16))));
INSERT INTO totals VALUES ('commits', 0);
