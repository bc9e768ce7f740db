-- Vectors of a second model, while they are made or taken away: the model in use keeps its own
-- until the other's are all there. Which tables are whose stands in `facts`; `model` in each row
-- is the proof.
CREATE TABLE other_vectors (
    chunk_id INTEGER PRIMARY KEY REFERENCES chunks (id) ON DELETE CASCADE,
    model TEXT NOT NULL,
    code BLOB NOT NULL
);
CREATE TABLE other_exact_vectors (
    chunk_id INTEGER PRIMARY KEY REFERENCES other_vectors (chunk_id) ON DELETE CASCADE,
    vector BLOB NOT NULL
);
INSERT INTO totals VALUES ('other_vectors', 0);
