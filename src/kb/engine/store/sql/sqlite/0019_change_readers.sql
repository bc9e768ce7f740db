-- How far each reader of the change log has come: what all of them have seen can go.
CREATE TABLE change_readers (
    name TEXT PRIMARY KEY,
    place INTEGER NOT NULL,         -- the last entry that it has seen
    seen_at TEXT NOT NULL           -- when it last said so
);
