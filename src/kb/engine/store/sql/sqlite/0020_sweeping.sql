-- Which engine sweeps up leftovers, and until when the others leave that to it: one row at most.
CREATE TABLE sweeping (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    holder TEXT NOT NULL,           -- the name of an engine
    until TEXT NOT NULL
);
